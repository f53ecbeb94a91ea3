"""What stands before the application: who may ask, and how much."""

from __future__ import annotations

import asyncio
import base64
import hmac
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.responses import JSONResponse, Response

from binwright.service.limits import Limits
from binwright.service.models import Mistake, Refusal
from binwright.simcore.errors import UserError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
SHORTEST = 16
"""Letters of a token."""
BODIES = 64
"""Bodies of the largest size that may be on their way at once."""
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}


def refusal(status: int, message: str, remedy: str = "", headers: dict[str, str] | None = None) -> Response:
    """Make an answer that says what is wrong."""
    return JSONResponse(Refusal(error=Mistake(message=message, remedy=remedy)).model_dump(), status, headers)


def too_many(message: str, seconds: int) -> Response:
    """429, and when to come again."""
    return refusal(429, message, f"Try again in {seconds} s.", {"retry-after": str(seconds)})


Tokens = Collection[bytes]
"""Their digests."""


def read_tokens(file: str | Path) -> frozenset[bytes]:
    """Read a file's tokens, one in a line."""
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot be read: {error}", file=file, remedy="Give a file with a token per line.") from None
    rows = [(number, words) for number, line in enumerate(lines, 1) if (words := line.split())]
    if not rows or min(len(words[0]) for _, words in rows) < SHORTEST:
        remedy = f"Make one of {SHORTEST} letters or more: openssl rand -hex 32."
        raise UserError("has no token, or one that is too short", file=file, remedy=remedy)
    for number, (_, *more) in rows:
        if more:  # the token itself stays out of the message
            remedy = "Give each token a line of its own, with nothing behind it."
            raise UserError("stands behind a token", file=file, line=number, value=" ".join(more), remedy=remedy)
    return frozenset(_digest(token) for _, (token,) in rows)


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()


class Gate:
    """ASGI: refuses, or passes on with the whole body read.

    The state has `owner` (whose jobs): the token's digest, or "" where no tokens are used.
    """

    def __init__(self, app: Any, limits: Limits, tokens: Tokens, hosts: frozenset[str]) -> None:
        self._app = app
        self._limits = limits
        self._tokens = tokens
        self._hosts = hosts
        self._held = 0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            await send(message)

        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        scope.setdefault("state", {})["owner"] = ""
        refused = self._stranger(scope, headers) if self._tokens else None
        refused = refused or self._refused(scope, headers)
        if refused is None and scope["method"] == "POST":
            body = await self._body(receive, headers, self._limits.body)
            if isinstance(body, bytes):
                receive = _again(body, receive)
            else:
                refused = body
        if refused is not None:
            await refused(scope, receive, sealed)
            return
        await self._app(scope, receive, sealed)

    def _stranger(self, scope: Message, headers: dict[str, str]) -> Response | None:
        """Find the reason to refuse somebody without a token; whoever has one is put into the request's state."""
        digest = _digest(_token(headers.get("authorization", "")))
        matches = [hmac.compare_digest(digest, known) for known in self._tokens]  # all of them, always
        if not any(matches):
            ask = {"www-authenticate": 'Basic realm="Binwright: any name, the token as password", charset="UTF-8"'}
            return refusal(401, "no request without a token", "Send Authorization: Bearer TOKEN.", ask)
        scope["state"]["owner"] = digest.hex()
        return None

    def _refused(self, scope: Message, headers: dict[str, str]) -> Response | None:
        """Find the reason not to look at the request any further."""
        host = headers.get("host", "")
        if self._hosts and _name(host) not in self._hosts:  # a name that others point to this machine
            return refusal(HTTPStatus.MISDIRECTED_REQUEST, "not the name of this service")
        if _foreign(scope, headers, host):
            return refusal(403, "another site's page may not ask")
        return None

    async def _body(self, receive: Receive, headers: dict[str, str], most: int) -> bytes | Response:
        """All of it, in time and within bounds."""
        large = refusal(413, "the request is too large", f"There can be {most:,} bytes.")
        length = headers.get("content-length", "0")
        if length.isascii() and length.isdigit() and int(length[:20]) > most:
            return large
        if self._held > BODIES * self._limits.body:
            return too_many("too many requests at once", 1)
        body = bytearray()
        try:
            async with asyncio.timeout(self._limits.patience):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return refusal(400, "the request ended early")
                    part = message.get("body", b"")
                    if len(body) + len(part) > most:
                        return large
                    body += part
                    self._held += len(part)
                    if not message.get("more_body"):
                        return bytes(body)
        except TimeoutError:
            return refusal(408, "the request takes too long to arrive", headers={"connection": "close"})
        except asyncio.CancelledError:  # the service ends, and does not wait for the rest
            return refusal(503, "the service stops", "Try again.", {"connection": "close", "retry-after": "1"})
        finally:
            self._held -= len(body)


def _foreign(scope: Message, headers: dict[str, str], host: str) -> bool:
    """Tell whether another site's page asks. Its links may lead to ours, which shows nothing of it to that site.

    No page can send `X-Forwarded-Proto` without asking us first, so it is of the proxy that speaks TLS for us.
    """
    scheme = "https" if headers.get("x-forwarded-proto") == "https" else "http"
    own = f"{scheme}://{host}"
    if headers.get("origin", own) != own:
        return True
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return False
    how = headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")
    return not (scope["method"] == "GET" and scope["path"] == "/" and how == ("navigate", "document"))


def _again(body: bytes, receive: Receive) -> Receive:
    """Receive a body that was read already."""
    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return parts.pop() if parts else await receive()

    return replay


def _token(authorization: str) -> str:
    """Of `Bearer TOKEN`, and of `Basic`, which browsers ask for: there it is the password."""
    kind, _, value = authorization.partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    if kind.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except ValueError:
            return ""
    return ""


def _name(host: str) -> str:
    """Without the port; "" for nonsense."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
