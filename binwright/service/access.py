"""Who may ask the service: tokens, names of the host, and pages of other sites."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Collection, Mapping
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from binwright.service.models import Mistake, Refusal
from binwright.simcore.errors import UserError

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


def refusal(status: int, message: str, remedy: str = "", headers: Mapping[str, str] | None = None) -> Response:
    """Make an answer that says what is wrong."""
    return JSONResponse(Refusal(error=Mistake(message=message, remedy=remedy)).model_dump(), status, headers)


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


def refused(request: Request, tokens: Collection[bytes], hosts: Collection[str]) -> Response | None:
    """Refuse a request, or let its state have `owner`: the token's digest, or "" where no tokens are used."""
    owner, host = "", request.headers.get("host", "")
    if tokens:
        digest = _digest(_token(request.headers.get("authorization", "")))
        matches = [hmac.compare_digest(digest, known) for known in tokens]  # all of them, always
        if not any(matches):
            return refusal(401, "no request without a token", "Send Authorization: Bearer TOKEN.", LOGIN)
        owner = digest.hex()
    request.state.owner = owner
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    if hosts and name.strip("[]").lower() not in hosts:  # a name that others point to this machine
        return refusal(421, "not the name of this service")
    if request.method != "GET" and urlsplit(request.headers.get("origin", f"//{host}")).netloc != host:
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
