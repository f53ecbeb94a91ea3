"""A client of the service that `binwright serve` runs.

from binwright.client import Client

client = Client("http://127.0.0.1:8000")
client.solve(open("vms.alloc").read(), time=5)["alloc"]
"""

import json
import time as clock
from collections.abc import Callable
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from binwright.simcore.errors import UserError

Json = dict[str, Any]
LOOK = 0.2
"""Seconds between two looks at a job."""
LATER = (429, 503, 507)
"""Too much for now, of us or of all on its disk, or it stops."""
REMEDY = "Its /v1/openapi.json says what can be asked."
REMEDIES = {
    401: "Give a token of the service: Client(url, token).",
    413: "Make the problem smaller.",
    429: "Try again when jobs are done.",
    507: "Try again when its disk has room.",
}
PROBLEMS = "/v1/problems"


class Client:
    """Asks one service; jobs and results are what its OpenAPI document describes, as dictionaries.

    `patience` is how many seconds a service may be away, or too busy for us.
    """

    def __init__(self, url: str, token: str | None = None, patience: float = 60.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError("is not an address", key="server", value=url, remedy="Write http://HOST:PORT.")
        self._url, self._token, self._patience = url.rstrip("/"), token, patience
        is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
        self._open = build_opener(*[ProxyHandler({})] * is_local).open

    def submit(self, text: str, **options: Any) -> Json:
        """Hand in a job; options are those of `POST /v1/problems`: `tables`, `params`, `time`, `seed`, `now`, ..."""
        return self.ask("POST", PROBLEMS, text=text, **options)

    def look(self, name: str) -> Json:
        """Look at the job with this id."""
        return self.ask("GET", f"{PROBLEMS}/{quote(name, safe='')}")

    def cancel(self, name: str) -> Json:
        """End a job; soon it is cancelled, with the best so far as its result if there is one."""
        return self.ask("DELETE", f"{PROBLEMS}/{quote(name, safe='')}")

    def wait(self, name: str, progress: Callable[[Json], None] | None = None) -> Json:
        """Wait until a job is over, and return it; `progress` is called with the best so far."""
        while (job := self.look(name))["state"] in ("queued", "running"):
            if progress is not None and job["progress"]:
                progress(job["progress"])
            clock.sleep(LOOK)
        return job

    def solve(self, text: str, *, progress: Callable[[Json], None] | None = None, **options: Any) -> Json:
        """Submit, wait, and give the result. Ctrl-C cancels the job and gives the best so far."""
        job = self.submit(text, **options)
        try:
            job = self.wait(job["id"], progress)
        except KeyboardInterrupt:
            self.cancel(job["id"])
            job = self.wait(job["id"])
        if job["result"]:
            result: Json = job["result"]
            return result
        error = job["error"] or {"message": "was cancelled", "remedy": "", "line": None}
        failed = "" if job["state"] == "refused" else "the job failed: "
        raise UserError(f"{failed}{error['message']}", line=error["line"], remedy=error["remedy"])

    def ask(self, method: str, path: str, **content: Any) -> Json:
        """Send a request with the content as JSON until there is an answer.

        All that we ask may be asked twice: the service knows its submissions.
        """
        body = json.dumps(content, default=lambda array: array.tolist()).encode() if content else None
        request = Request(self._url + path, body, {"Content-Type": "application/json"}, method=method)
        if self._token is not None:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        end = clock.monotonic() + self._patience
        while True:
            try:
                with self._open(request, timeout=self._patience) as answer:
                    result: Json = json.load(answer)
                    return result
            except HTTPError as error:
                with error:
                    text = error.read()
                problem, remedy = f"answered {error.code}", "Is this the address of binwright serve?"
                if text.startswith(b'{"detail":'):
                    problem, remedy = json.loads(text)["detail"], REMEDIES.get(error.code, REMEDY)
                again = error.code in LATER
            except (OSError, HTTPException, ValueError) as error:
                problem, remedy = f"no answer: {error}", "Start it with binwright serve, or give its address."
                again = True
            if not again or clock.monotonic() + 1 > end:
                raise UserError(problem, key="server", value=self._url, remedy=remedy)
            clock.sleep(1)
