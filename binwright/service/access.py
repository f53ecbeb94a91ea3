"""Who may ask the service: tokens, names of the host, pages of other sites, and how much a request may have."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import HTTPException
from starlette.responses import JSONResponse, Response

from binwright.simcore.errors import UserError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
SHORTEST = 16
"""Letters of a token."""
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}
LOGIN = {"www-authenticate": 'Basic realm="Binwright: any name, the token as password", charset="UTF-8"'}


def refusal(status: int, message: str, remedy: str = "", headers: dict[str, str] | None = None) -> Response:
    """Make an answer that says what is wrong."""
    error = {"message": message, "remedy": remedy, "line": None, "column": None}
    return JSONResponse({"error": error}, status, headers)


def read_tokens(file: str | Path) -> frozenset[bytes]:
    """Read a file's tokens, one in a line; returns their digests."""
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot be read: {error}", file=file, remedy="Give a file with a token per line.") from None
    tokens = [line.strip() for line in lines if line.strip()]
    if not tokens or any(len(token) < SHORTEST or " " in token for token in tokens):
        remedy = f"Give each line a token of {SHORTEST} letters or more: openssl rand -hex 32."
        raise UserError("has no token, or one that is too short or has blanks", file=file, remedy=remedy)
    return frozenset(map(_digest, tokens))


class AccessMiddleware:
    """ASGI: refuses, or passes on; the state has `owner`, the token's digest, or "" where no tokens are used."""

    def __init__(self, app: Any, tokens: Collection[bytes], hosts: Collection[str], body: int) -> None:
        self._app, self._tokens, self._hosts, self._body = app, tokens, hosts, body

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        size = 0

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *more]
            await send(message)

        async def bounded() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._body:
                raise HTTPException(413, f"the request is too large: there can be {self._body:,} bytes")
            return message

        refused = self._refused(scope)
        await (refused(scope, receive, sealed) if refused else self._app(scope, bounded, sealed))

    def _refused(self, scope: Message) -> Response | None:
        """Find the reason not to look at the request any further."""
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        owner = ""
        if self._tokens:
            digest = _digest(_token(headers.get("authorization", "")))
            matches = [hmac.compare_digest(digest, known) for known in self._tokens]  # all of them, always
            if not any(matches):
                return refusal(401, "no request without a token", "Send Authorization: Bearer TOKEN.", LOGIN)
            owner = digest.hex()
        scope.setdefault("state", {})["owner"] = owner
        host = headers.get("host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        if self._hosts and name.strip("[]").lower() not in self._hosts:  # a name that others point to this machine
            return refusal(421, "not the name of this service")
        if scope["method"] != "GET" and urlsplit(headers.get("origin", f"//{host}")).netloc != host:
            return refusal(403, "another site's page may not ask")
        return None


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()


def _token(authorization: str) -> str:
    """Take it from `Bearer TOKEN`, or from `Basic`, which browsers ask for: there it is the password."""
    kind, _, value = authorization.partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    try:
        return base64.b64decode(value, validate=True).decode().partition(":")[2] if kind.lower() == "basic" else ""
    except ValueError:
        return ""
