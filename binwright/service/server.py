"""The server: a socket, the application, and uvicorn."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING

from binwright.simcore.cores import usable_cpus
from binwright.simcore.errors import ExtraNeeded, UserError
from binwright.simcore.extras import install

if TYPE_CHECKING:
    from binwright.service.limits import Limits

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def serve(
    host: str = "127.0.0.1",
    port: int = 8000,
    data: str | Path = "service",
    workers: int | None = None,
    token_file: str | Path | None = None,
    limits: Limits | Iterable[str] = (),
    device: str | None = None,
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve until interrupted. `workers` jobs at a time (default: one per CPU); `ready` is told the address.

    `device` names OpenCL devices that jobs may ask for: `opencl`, `opencl:1`, `opencl:0,2-3`.
    """
    try:
        import uvicorn

        from binwright.service.access_control import read_tokens
        from binwright.service.app import application
        from binwright.service.limits import Limits, changed
        from binwright.service.offered_devices import offered
    except ModuleNotFoundError as error:
        if error.name not in ("fastapi", "uvicorn", "starlette", "lark"):
            raise
        problem = f"the service needs {error.name}, which is not installed"
        raise ExtraNeeded(problem, remedy=install("serve", "solver")) from None
    tokens = frozenset() if token_file is None else read_tokens(token_file)
    local = _loopback(host)
    if not local and not tokens:
        remedy = "Give --token-file FILE, with a token per line."
        raise UserError("other machines may not use this without a token", key="--host", value=host, remedy=remedy)
    if not isinstance(limits, Limits):
        limits = changed(limits)
    if workers is not None and workers < 1:
        raise UserError("is too few", key="--workers", value=workers, remedy="Give how many jobs run at a time.")
    devices = offered(device)
    try:
        if not 0 <= port < 2**16:  # the socket module would leave a socket open
            raise OSError("ports go from 0 to 65535")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=1024)
        # asyncio sets it for sockets that were made with a protocol's number only, and accepted ones inherit it
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        remedy = "Choose another: --host HOST --port PORT."
        raise UserError(f"cannot listen on {host}, port {port}: {error}", remedy=remedy) from None
    hosts = frozenset() if tokens else frozenset({*LOOPBACK, host.lower()})
    with listening:
        app = application(Path(data), limits, workers or usable_cpus(), tokens, hosts, devices)
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=2,
        )

        server = uvicorn.Server(config)
        shown = f"[{host}]" if ":" in host else host
        with (
            server.capture_signals(),
            _at_hangup(server.handle_exit),
        ):  # they may come as soon as it says that it serves
            ready(f"http://{shown}:{listening.getsockname()[1]}")
            server.run(sockets=[listening])


@contextmanager
def _at_hangup(end: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """End the service when its terminal goes, as uvicorn does at SIGTERM, unless that is ignored (`nohup`)."""
    if current_thread() is not main_thread() or (before := signal.getsignal(signal.SIGHUP)) is signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGHUP, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
