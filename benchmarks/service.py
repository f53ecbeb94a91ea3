"""How many requests and checks per second, how long many submissions at once take, and what starting a worker costs.

python -m benchmarks.service
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from statistics import median
from time import perf_counter
from typing import Any

from agents.solver import examples

REQUESTS, ROUNDS, CHECKS, CLIENTS, SUBMISSIONS = 100, 5, 1000, 8, 200


def ask(connection: HTTPConnection, path: str, body: dict[str, Any] | None = None) -> Any:
    """One request on a connection that stays open."""
    method = "GET" if body is None else "POST"
    connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    said = json.loads(answer.read())
    assert answer.status in (200, 202), said
    return said


def many_requests(port: int) -> None:
    """One client after another, by turns on a connection that stays open and on a fresh one for each request."""

    def took(fresh: bool) -> float:
        began = perf_counter()
        connection = HTTPConnection("127.0.0.1", port)
        for _ in range(REQUESTS):
            ask(connection, "/v1/examples")
            if fresh:
                connection.close()
        connection.close()
        return perf_counter() - began

    kept, fresh = (median(times) for times in zip(*((took(False), took(True)) for _ in range(ROUNDS)), strict=True))
    print(f"requests: {REQUESTS / kept:,.0f}/s on a kept connection, {REQUESTS / fresh:,.0f}/s on fresh ones", end="")
    print(f" ({fresh / kept:.2f} times as many)")


def many_checks(port: int) -> None:
    """Different texts, from some clients at once."""
    texts = list(examples().values())

    def client(number: int) -> list[float]:
        connection = HTTPConnection("127.0.0.1", port)
        took = []
        for i in range(number, CHECKS, CLIENTS):
            began = perf_counter()
            assert ask(connection, "/v1/check", {"text": f"# {i}\n{texts[i % len(texts)]}"})["ok"]
            took.append(perf_counter() - began)
        connection.close()
        return took

    client(CHECKS - CLIENTS)  # the processes are there
    began = perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        took = sorted(seconds for one in pool.map(client, range(CLIENTS)) for seconds in one)
    rate = CHECKS / (perf_counter() - began)
    print(f"checks: {rate:,.0f}/s, median {1e3 * median(took):.0f} ms, 99 % {1e3 * took[len(took) * 99 // 100]:.0f} ms")


def many_submissions(port: int) -> None:
    """All at once, each of its own client, then until all are solved."""
    text = examples()["vm-placement"]

    def client(seed: int) -> tuple[str, float]:
        began = perf_counter()
        connection = HTTPConnection("127.0.0.1", port)
        name: str = ask(connection, "/v1/problems", {"text": text, "seed": seed})["id"]
        connection.close()
        return name, perf_counter() - began

    began = perf_counter()
    with ThreadPoolExecutor(SUBMISSIONS) as pool:
        accepted = list(pool.map(client, range(SUBMISSIONS)))
    taken = perf_counter() - began
    slowest = max(seconds for _, seconds in accepted)
    connection = HTTPConnection("127.0.0.1", port)
    alone = []
    for name, _ in accepted:
        while (job := ask(connection, f"/v1/problems/{name}"))["state"] != "done":
            assert job["state"] in ("queued", "running"), job
    solved = perf_counter() - began
    for seed in range(20):
        start = perf_counter()
        name = ask(connection, "/v1/problems", {"text": text, "seed": SUBMISSIONS + seed})["id"]
        while ask(connection, f"/v1/problems/{name}")["state"] != "done":
            pass
        alone.append(perf_counter() - start)
    connection.close()
    print(f"{SUBMISSIONS} submissions at once: accepted in {taken:.2f} s (slowest {slowest:.2f} s), ", end="")
    print(f"solved in {solved:.1f} s")
    print(f"one small job, from submission to answer: {1e3 * median(alone):.0f} ms, its process included")


def main() -> None:
    """Against a server of our own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "binwright", "serve", "--port", "0", "--data", folder]
        began = perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout
            port = int(server.stdout.readline().split()[2].rpartition(":")[2])
            connection = HTTPConnection("127.0.0.1", port)
            ask(connection, "/v1/check", {"text": examples()["vm-placement"]})
            connection.close()
            print(f"start to the first answer: {perf_counter() - began:.1f} s")
            many_requests(port)
            many_checks(port)
            many_submissions(port)
            server.terminate()


if __name__ == "__main__":
    main()
