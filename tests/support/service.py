"""A real `binwright serve` in a process of its own, and plain HTTP to it."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from binwright.agents.solver import examples

SMALL = examples()["vm-placement"]
GRAPH = [(i, (i + 1) % 5) for i in range(5)]
for size in (5, 11):  # Mycielski: each step needs one colour more, and makes no triangle
    GRAPH += [(size + u, v) for edge in GRAPH for u, v in (edge, edge[::-1])] + [
        (2 * size, size + u) for u in range(size)
    ]
ENDLESS = f"TABLE E = {[[*edge] for edge in GRAPH]} BALLS 23 BINS 4"
ENDLESS += """ RESOURCES S[b in BINS] => 23
procedure UTILFN(BALL, BIN, ALLOC)
    UTIL.S[BIN] += 1
    for i in len(E)
        if E[i, 0] == BALL and ALLOC[E[i, 1]] == BIN REJECT end
        if E[i, 1] == BALL and ALLOC[E[i, 0]] == BIN REJECT end
    end
end"""
"""A graph of 23 vertices that has no triangle and needs five colours: nothing proves that four bins are too few."""


@dataclass
class Answered:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


class Server:
    """One server, which may be killed and started again."""

    def __init__(self, data: Path, *options: str) -> None:
        self.data = data
        self.options = options
        self.log = data.parent / f"{data.name}.log"
        self.start()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        command = [sys.executable, "-m", "binwright", "serve", "--port", "0", "--data", str(self.data), *self.options]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout
        output = self.process.stdout.readline()
        assert output, self.log.read_text()
        self.url = output.split()[2]
        self.port = int(self.url.rpartition(":")[2])

    def warm(self) -> None:
        """Wait until workers start quickly: after a change of the solver its kernels are compiled first."""
        assert self.wait(self.submit(SMALL))["state"] == "done"

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answered:
        """A request; bytes and text are sent as they are, all else as JSON."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=120)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None and not isinstance(body, str | bytes):
            body, sent = json.dumps(body), {"Content-Type": "application/json"} | sent
        try:
            connection.request(method, path, body.encode() if isinstance(body, str) else body, sent)
            got = connection.getresponse()
            return Answered(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read())
        finally:
            connection.close()

    def submit(self, text: str, **options: object) -> str:
        """A job's id."""
        got = self.ask("POST", "/v1/problems", {"text": text, **options})
        assert got.status in (200, 202), got
        name: str = got.json["id"]
        return name

    def wait(self, name: str, *states: str, seconds: float = 40, headers: Mapping[str, str] | None = None) -> Any:
        """The job once it is in one of these states: over, if none is given."""
        until = monotonic() + seconds
        while True:
            job = self.ask("GET", f"/v1/problems/{name}", **(headers or {})).json
            if job["state"] in (states or ("done", "refused", "failed", "cancelled")):
                return job
            assert monotonic() < until, job
            sleep(0.02)

    def raw(self) -> socket.socket:
        """A connection to write nonsense to."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def family(self) -> list[int]:
        """The server's process and all that it started."""
        result, todo = [], [self.process.pid]
        while todo:
            pid = todo.pop()
            result.append(pid)
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended meanwhile
                    todo += map(int, task.read_text().split())
        return result

    def kill(self) -> None:
        """As kill -9."""
        self.process.kill()
        self._reaped()

    def stop(self, by: signal.Signals = signal.SIGTERM) -> None:
        """As `systemctl stop`, or, by SIGHUP, as its terminal goes."""
        self.process.send_signal(by)
        self._reaped()
        assert self.process.returncode == 0

    def _reaped(self) -> None:
        self.process.wait(20)
        assert self.process.stdout
        self.process.stdout.close()


@contextmanager
def serving(data: Path, *options: str) -> Iterator[Server]:
    """A server; what it leaves behind is an error."""
    server = Server(data, *options)
    try:
        yield server
        family = server.family()
    finally:
        if server.process.poll() is None:
            server.stop()
    gone(family)
    assert "Traceback" not in server.log.read_text(), server.log.read_text()


def gone(pids: list[int]) -> None:
    """None of the processes lives for long."""
    until = monotonic() + 10
    while alive := [pid for pid in pids if _alive(pid)]:
        assert monotonic() < until, [Path(f"/proc/{pid}/cmdline").read_text() for pid in alive]
        sleep(0.02)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
