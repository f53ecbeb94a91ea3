"""A client of the service that `binwright serve` runs.

from binwright.client import Client

client = Client("http://127.0.0.1:8000")
client.solve(open("vms.alloc").read(), time=5)["alloc"]
"""

from __future__ import annotations

import json
import time as clock
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from binwright.simcore.errors import UserError

Json = dict[str, Any]
FIRST_LOOK, LAST_LOOK = 0.02, 0.5
"""Seconds between two looks at a job: they grow."""
LATER = (429, 503, 507)
"""Too much for now, of us or of all on its disk, or it stops: `Retry-After` says when to come again."""
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
        is_here = parts.hostname in ("localhost", "127.0.0.1", "::1")
        self._open = build_opener(*[ProxyHandler({})] * is_here).open

    def submit(self, text: str, **options: Any) -> Json:
        """Hand in a job; options are those of `POST /v1/problems`: `tables`, `params`, `time`, `seed`, `now`, ..."""
        job: Json = self.ask("POST", PROBLEMS, text=text, **_lists(options))
        return job

    def jobs(self) -> list[Json]:
        """List your newest jobs; results are not among what each has."""
        listed: list[Json] = self.ask("GET", PROBLEMS)
        return listed

    def look(self, name: str) -> Json:
        """Look at the job with this id."""
        job: Json = self.ask("GET", f"{PROBLEMS}/{quote(name, safe='')}")
        return job

    def cancel(self, name: str) -> Json:
        """End a job; soon it is cancelled, with the best so far as its result if there is one."""
        job: Json = self.ask("DELETE", f"{PROBLEMS}/{quote(name, safe='')}")
        return job

    def wait(self, name: str, progress: Callable[[Json], None] | None = None) -> Json:
        """Wait until a job is over, and return it; `progress` is called with the best so far."""
        pause = FIRST_LOOK
        while (job := self.look(name))["state"] in ("queued", "running"):
            if progress is not None and job["progress"]:
                progress(job["progress"])
            clock.sleep(pause)
            pause = min(LAST_LOOK, 1.5 * pause)
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

    def ask(self, method: str, path: str, **content: Any) -> Any:
        """Send a request with the content as JSON until there is an answer.

        All that we ask may be asked twice: the service knows its submissions.
        """
        body, headers = None, {}
        if content:
            body, headers = json.dumps(content).encode(), {"Content-Type": "application/json"}
        end, pause = clock.monotonic() + self._patience, 0.1
        while True:
            request = Request(self._url + path, body, headers, method=method)
            if self._token is not None:
                request.add_unredirected_header("Authorization", f"Bearer {self._token}")
            try:
                with self._open(request, timeout=self._patience) as answer:
                    return json.load(answer)
            except HTTPError as error:
                with error:
                    if error.code in LATER:
                        pause = float(error.headers.get("Retry-After", "1"))
                    if error.code not in LATER or clock.monotonic() + pause > end:
                        raise self._rejected(error) from None
            except (URLError, OSError, HTTPException, ValueError) as error:
                if clock.monotonic() + pause > end:
                    reason = str(getattr(error, "reason", error)) or type(error).__name__
                    remedy = "Start it with binwright serve, or give its address."
                    raise UserError(f"no answer: {reason}", key="server", value=self._url, remedy=remedy) from None
            clock.sleep(pause)
            pause = min(2.0, 2 * pause)

    def _rejected(self, error: HTTPError) -> UserError:
        try:
            what = json.load(error)["error"]
            message, remedy = str(what["message"]), str(what["remedy"])
        except (ValueError, KeyError, TypeError):
            message, remedy = f"answered {error.code}", "Is this the address of binwright serve?"
        return UserError(message, key="server", value=self._url, remedy=remedy)


def _lists(value: Any) -> Any:
    """Turn numpy arrays, also in lists and by name, into lists."""
    if isinstance(value, Mapping):
        return {name: _lists(each) for name, each in value.items()}
    if hasattr(value, "tolist"):
        return value.tolist()
    return [_lists(row) for row in value] if isinstance(value, list | tuple) else value
