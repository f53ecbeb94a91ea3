"""`serve`: the solver as a web service."""

from __future__ import annotations

from argparse import Namespace
from contextlib import suppress

from binwright.commands.console import print_line


def serve(args: Namespace) -> int:
    """`binwright serve`."""
    from binwright.service.server import serve

    def ready(url: str) -> None:
        print_line(f"Binwright serves {url} (jobs in {args.data}); Ctrl-C ends it.")

    with suppress(KeyboardInterrupt):  # so, or by SIGTERM, a service ends as it should
        where = args.host, args.port, args.data
        serve(*where, args.workers, args.token_file, args.limits, ready)
    return 0
