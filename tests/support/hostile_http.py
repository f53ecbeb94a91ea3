"""Requests to the service that somebody or something has damaged, without sockets, and what they must come to."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from binwright.agents.solver import examples
from binwright.service import worker
from binwright.service.access_control import Gate
from binwright.service.app import application
from binwright.service.jobs import Jobs
from binwright.service.limits import Limits
from tests.support.hostile import IN_SPECIFICATIONS, mangled

LIMITS = Limits(submissions=1e9, burst=10**9, requests=1e9, check=5, dims=100_000, store=2**22)
MEANT = {200, 202, 400, 403, 404, 405, 413, 421, 422, 429, 507}
"""Statuses that an answer may have."""
TEXT = "PARAM n = 2 TABLE D = [1, 2] BALLS len(D) BINS n RESOURCES C[b in BINS] => 10\n"
TEXT += "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += D[BALL] end"
IN_BODIES = (
    *(b"{", b"}", b"[", b"]", b'"', b",", b":", b"null", b"NaN", b"1e999", b"\0", b"\xff", b"\\ud800", b"\xef\xbb\xbf"),
    *(b"9" * 400, b"9" * 5000, b"[" * 3000, b'{"a":', b'"tables": {"D": [[1], 2]}', b'"time": -1', b'"seed": 1.5'),
    *(b'"params": {"n": 1e300}', b'"text": 3', b"-0.0", b"true", b'"\xc3\xa9": 1'),
)
IN_HEADS = (b"\0", b"\xff", b"%00", b"%ff", b"%", b"/", b"//", b"..", b"?", b"&", b"=", b"nan", b"1e999", b"9" * 5000)
METHODS = ("POST", "POST", "POST", "POST", "GET", "DELETE", "PUT", "HEAD", "OPTIONS", "\xff")
PATHS = (
    b"/v1/problems",
    b"/v1/check",
    b"/v1/problems/a",
    b"/v1/problems/a/events",
    b"/v1/health",
    b"/",
    b"/v1/examples",
)


RUNNING: list[asyncio.Task[None]] = []
"""Tasks that nothing else holds."""


class Still:
    """Stands for `binwright.service.pool`: checks at once, in this process, and says of every job that it is done."""

    AGAIN = 1e6

    def prepare(self) -> None:
        """Start nothing."""

    def Checkers(self, limits: Limits, count: int, seconds: float) -> Any:
        """Make what checks."""

        def check(do: str, request: str) -> dict[str, Any]:
            return worker._answered(None, "check", json.loads(request), b"", limits)  # type: ignore[arg-type]

        return SimpleNamespace(ask=check, stop=lambda: None)

    def Pool(self, jobs: Jobs, limits: Limits, workers: int, hire: Any) -> Any:
        """Make what does jobs."""

        def wake() -> None:
            while row := jobs.next():
                jobs.begin(row.id)
                jobs.finish(row.id, "done", "{}")
                jobs.leave(row.id)

        nothing = SimpleNamespace(wake=wake, start=lambda: None, stop=lambda: None, alive=lambda: workers, size=workers)
        nothing.progress, nothing.workers, nothing.cancelled = {}, {}, set()
        return nothing


@cache
def service(folder: Path) -> tuple[asyncio.AbstractEventLoop, Gate]:
    """Start a service in a folder, once."""
    loop = asyncio.new_event_loop()
    gate = application(folder, LIMITS, 1, {}, frozenset({"localhost"}), lambda *_: None)
    heard: asyncio.Queue[Any] = asyncio.Queue()
    said: asyncio.Queue[Any] = asyncio.Queue()

    async def start() -> None:
        heard.put_nowait({"type": "lifespan.startup"})
        RUNNING.append(asyncio.create_task(gate({"type": "lifespan", "app": None}, heard.get, said.put)))
        assert (await said.get())["type"] == "lifespan.startup.complete"

    with patch("binwright.service.app.pool", Still()):
        loop.run_until_complete(start())
    return loop, gate


def drawn_request(drawn: Random) -> tuple[dict[str, Any], bytes]:
    """Draw a request: what stands in its head, and its body."""
    texts = [TEXT, *examples().values()]
    text = drawn.choice(texts)
    if drawn.random() < 0.3:
        text = mangled(text, IN_SPECIFICATIONS, drawn)
    body = text.encode("utf-8", "surrogatepass")
    kind = drawn.choice((b"application/json", b"application/json", b"application/json", b"text/plain", b"", b"\xff"))
    path, query = drawn.choice(PATHS[:2] if drawn.random() < 0.8 else PATHS), b""
    if kind == b"application/json":
        options = {"tables": {"D": [1, 2.5]}, "params": {"n": 3}, "seed": 1, "time": 0.5, "attempts": 7}
        chosen = {name: options[name] for name in sorted(options) if drawn.random() < 0.4}
        body = json.dumps({"text": text, **chosen}).encode()
    elif drawn.random() < 0.5:
        query = mangled(b"seed=1&time=0.5&attempts=7&search=ours", IN_HEADS, drawn)
    if drawn.random() < 0.8:
        body = mangled(body, IN_BODIES, drawn)
    if drawn.random() < 0.1:
        path = b"/" + mangled(path, IN_HEADS, drawn)
    headers = [(b"host", b"localhost"), (b"content-type", kind)]
    if drawn.random() < 0.1:
        more = (b"content-length", b"origin", b"authorization", b"host", b"content-type", b"transfer-encoding", b"x")
        headers.append((drawn.choice(more), mangled(b"localhost 12", IN_HEADS, drawn)))
    method = "POST" if drawn.random() < 0.85 else drawn.choice(METHODS)
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path.decode("latin-1"),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
    }
    return scope, body


def hostile_request(folder: Path, drawn: Random) -> None:
    """Send a damaged request: it is answered, and a refusal says why."""
    loop, gate = service(folder / "service")
    scope, body = drawn_request(drawn)
    cut = drawn.randint(0, len(body))
    parts = [
        {"type": "http.request", "body": body[:cut], "more_body": True},
        {"type": "http.request", "body": body[cut:], "more_body": False},
    ]
    if drawn.random() < 0.03:
        parts[1] = {"type": "http.disconnect"}
    said: list[Any] = []

    async def receive() -> Any:
        return parts.pop(0) if parts else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        said.append(message)

    loop.run_until_complete(gate(scope, receive, send))
    assert said[0]["type"] == "http.response.start"
    status, answer = said[0]["status"], b"".join(message.get("body", b"") for message in said[1:])
    assert status in MEANT, (status, answer)
    assert b"our mistake" not in answer, answer
    assert b"Traceback" not in answer, answer
    if status >= 400 and scope["method"] != "HEAD":
        assert len(answer) < 2000
        assert json.loads(answer)["error"]["message"]
