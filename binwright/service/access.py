"""Who may ask the service: tokens, names of the host, and pages of other sites."""

import base64
from collections.abc import Collection
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

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


def digest(token: str) -> str:
    """Name the owner of a token; comparing digests tells nobody who measures times anything of tokens."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def read_tokens(file: str | Path) -> frozenset[str]:
    """Read a file's tokens, one in a line; returns their digests."""
    tokens = Path(file).read_text(encoding="utf-8", errors="replace").split()
    if min(map(len, tokens), default=0) < SHORTEST:
        remedy = f"Give each line a token of {SHORTEST} letters or more: openssl rand -hex 32."
        raise UserError("has no token, or one that is too short", file=file, remedy=remedy)
    return frozenset(map(digest, tokens))


def refused(request: Request, tokens: Collection[str], hosts: Collection[str]) -> Response | None:
    """Refuse a request, or let its state have `owner`: the token's digest, or "" where no tokens are used."""
    host = request.headers.get("host", "")
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "basic":  # browsers ask for a name and a password: the token
        with suppress(ValueError):
            token = base64.b64decode(token, validate=True).decode().partition(":")[2]
    request.state.owner = digest(token.strip()) if tokens else ""
    if tokens and request.state.owner not in tokens:
        return JSONResponse({"detail": "no request without a token: send Authorization: Bearer TOKEN"}, 401, LOGIN)
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    if hosts and name.strip("[]").lower() not in hosts:  # a name that others point to this machine
        return JSONResponse({"detail": "not the name of this service"}, 421)
    if request.method != "GET" and urlsplit(request.headers.get("origin", f"//{host}")).netloc != host:
        return JSONResponse({"detail": "another site's page may not ask"}, 403)
    return None
