"""`watch`: how far a batch is, seen from another terminal."""

from __future__ import annotations

from argparse import Namespace
from time import sleep
from typing import TYPE_CHECKING

from binwright.cli import FAILED
from binwright.commands.console import many_of, show
from binwright.commands.progress import Live, duration
from simcore.errors import UserError

if TYPE_CHECKING:
    from scenarios.batch.watching import BatchProgress

EVERY = 1.0
"""Seconds between two looks."""


def watch(asked: Namespace) -> int:
    """`binwright watch RESULTS`: a line that lives until the batch is over, then what came of it."""
    from scenarios.batch.watching import WatchedFolder

    if asked.port is not None:
        raise UserError("is of the page that --serve opens", key="--port", value=asked.port, remedy="Add --serve.")
    watched = WatchedFolder(asked.results)
    found = watched.look()
    if not asked.once and found.running:
        with Live(found.total, len(found.rows), 0) as live:
            for row in found.rows.values():
                live(row)
            while found.running:
                sleep(EVERY)
                before, found = found.rows, watched.look()
                for name, row in found.rows.items():
                    if before.get(name) != row:
                        live(row)
    show(said(found))
    return FAILED if not found.running and found.done < found.total else 0


def said(found: BatchProgress) -> str:
    """Say how far a batch is, and whether somebody goes on with it."""
    failed = f", {found.failed} failed" if found.failed else ""
    text = f"{found.name}: {found.done} of {many_of(found.total, 'run')} done{failed}. "
    if found.under_way:
        shares = (row["requests"] / max(1, row["of"]) for row in found.under_way.values())
        kept = "Under way, as of when they were kept" if found.running else "Kept of runs that were under way"
        text += f"{kept}: {', '.join(f'{share:.1%}' for share in shares)}. "
    if found.running:
        text += "It goes on"
        text += f"; what is left is {duration(found.seconds)} of work for one process." if found.seconds else "."
    elif found.done < found.total:
        text += "It stands still: the same command goes on with it."
    else:
        text += "It is over."
    if found.others and not found.rows:
        others = many_of(found.others, "run")
        text += f" Its journal has {others} of another version of the scenario, an agent or Binwright."
    return text
