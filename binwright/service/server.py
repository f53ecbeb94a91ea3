"""The server: a socket, the application, and uvicorn."""

import socket
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from binwright.simcore.cores import usable_cpus
from binwright.simcore.errors import UserError
from binwright.simcore.extras import need

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def serve(
    host: str = "127.0.0.1",
    port: int = 8000,
    data: str | Path = "service",
    workers: int | None = None,
    token_file: str | Path | None = None,
    limits: Iterable[str] = (),
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve until interrupted. `workers` jobs at a time (default: one per CPU); `ready` is told the address."""
    for package in ("fastapi", "uvicorn", "lark"):
        need(package, "serve", "solver", what="the service")
    import uvicorn

    from binwright.service.access import read_tokens
    from binwright.service.app import application
    from binwright.service.limits import changed

    if workers is not None and workers < 1:
        raise UserError("is too few", key="--workers", value=workers, remedy="Give how many jobs run at a time.")
    tokens = frozenset() if token_file is None else read_tokens(token_file)
    if not tokens and host.lower() not in LOOPBACK:
        remedy = "Give --token-file FILE, with a token per line."
        raise UserError("other machines may not use this without a token", key="--host", value=host, remedy=remedy)
    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        remedy = "Choose another: --host HOST --port PORT."
        raise UserError(f"cannot listen on {host}, port {port}: {error}", remedy=remedy) from None
    hosts = frozenset() if tokens else frozenset({*LOOPBACK, host.lower()})
    with listening:
        app = application(Path(data), changed(limits), workers or usable_cpus(), tokens, hosts)
        how = dict[str, Any](log_level="warning", access_log=False, proxy_headers=False, server_header=False)
        server = uvicorn.Server(uvicorn.Config(app, ws="none", timeout_graceful_shutdown=2, **how))
        with server.capture_signals():  # they may come as soon as it says that it serves
            ready(f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}")
            server.run(sockets=[listening])
