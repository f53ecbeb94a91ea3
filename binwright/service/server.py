"""The server: a socket, the application, and uvicorn."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from types import FrameType
from typing import Any

from binwright.service.limits import Limits, changed
from simcore.cores import usable_cpus
from simcore.errors import ExtraNeeded, UserError
from simcore.extras import install

ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
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

        from binwright.service.app import application
        from binwright.service.gate import read_tokens
        from binwright.service.offered import offered
        from binwright.service.protocol import guarded
    except ModuleNotFoundError as error:
        if error.name not in ("fastapi", "uvicorn", "starlette", "lark"):
            raise
        problem = f"the service needs {error.name}, which is not installed"
        raise ExtraNeeded(problem, remedy=install("serve", "solver")) from None
    tokens = {} if token_file is None else read_tokens(token_file)
    local = _loopback(host)
    if not local and not tokens:
        remedy = "Give --token-file FILE, with a token per line."
        raise UserError("other machines may not use this without a token", key="--host", value=host, remedy=remedy)
    if not isinstance(limits, Limits):
        limits = changed(limits)
    workers = usable_cpus() if workers is None else workers
    if workers < (0 if any(right.kind == "worker" for right in tokens.values()) else 1):
        remedy = "Give how many jobs run at a time: 0 only where a token is for workers on other machines."
        raise UserError("is too few", key="--workers", value=workers, remedy=remedy)
    devices = offered(device)
    if devices and not workers:
        remedy = "Let jobs run here, too: --workers N."
        raise UserError("other machines do not use this one's devices", key="--device", value=device, remedy=remedy)
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
        app = application(Path(data), limits, workers, tokens, hosts, devices)
        config = uvicorn.Config(
            app,
            http=guarded(limits),
            ws="none",
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=2,
        )

        heard = _Kept()

        class Server(uvicorn.Server):
            @contextmanager
            def capture_signals(self) -> Iterator[None]:
                with super().capture_signals():
                    heard.forward(self.handle_exit)
                    yield

        shown = f"[{host}]" if ":" in host else host
        with heard:
            ready(f"http://{shown}:{listening.getsockname()[1]}")
            Server(config).run(sockets=[listening])


class _Kept:
    """Holds signals that come before uvicorn handles them, and hands them over then.

    To block them would not do: threads that are there already would hear them. At the end, the first is raised again.
    """

    def __init__(self) -> None:
        self._heard: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._hear) for number in ENDS}

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._heard.append(number)

    def forward(self, handle: Callable[[int, None], None]) -> None:
        """Hand over what came; from now on whoever handled signals before hears those that uvicorn does not."""
        for number, handler in self._before.items():
            if signal.getsignal(number) == self._hear:
                signal.signal(number, handler)
        for number in self._heard:
            handle(number, None)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._heard:
            signal.raise_signal(self._heard[0])


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
