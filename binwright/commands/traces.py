"""`init`: a first scenario; `traces describe`: what is in a file, or a generator like it."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from rich.markup import escape

from binwright.analysis.compare.sheet import Cell, Sheet
from binwright.analysis.measure.metric import duration
from binwright.commands.console import new_table, out, print_line, print_location, read_yaml
from binwright.simcore.errors import UserError
from binwright.simcore.extras import pl

if TYPE_CHECKING:
    from binwright.workloads.column_guesses import Proposal


def init(args: Namespace) -> int:
    """Answer `binwright init`."""
    from binwright.scenarios.draft import begin, write_new

    if args.servers is not None and args.servers < 1:
        raise UserError("is too few", key="--servers", value=args.servers, remedy="Write a whole number from 1.")
    own = {"servers": args.servers} if args.servers else {}
    if args.node is not None:
        own["node"] = read_yaml("--node", "{" + args.node.strip("{} ") + "}", "cpu: 40, mem: 90 GB")
    write_new(args.out, begin(args.requests, own, Path(args.out).parent))
    _say_written(args.out)
    return 0


def describe(args: Namespace) -> int:
    """Answer `binwright traces describe FILE`."""
    from binwright.scenarios.draft import requests_of, write_new
    from binwright.workloads.describe import describe as described

    requests = requests_of(args.file)
    if args.fit:
        if args.out:
            write_new(args.out, requests.fitted())
            _say_written(args.out)
        else:
            print(requests.fitted(), end="")
        return 0
    if args.out:
        write_new(args.out, requests.text(Path(args.out).parent))
    if requests.proposal:
        _print_proposal(requests.proposal, requests.path)
    frame = requests.frame
    (resources, flavours, lifetimes), arrival = described(frame), frame["arrival"]
    print_line(
        f"{requests.path}: {requests.name}, {len(frame):,} requests over {duration(arrival[-1] - arrival[0])}, "
        f"{lifetimes['never_ending'][0]:,} of them never ending"
    )
    _print(resources, "Resources", words=2)
    shown = flavours.head(20)
    _print(shown, f"Flavours ({len(shown)} of {len(flavours)}) and their lifetimes")
    _print(lifetimes, "All lifetimes")
    doubts = requests.proposal.doubts if requests.proposal else []
    for line in [""] * bool(doubts) + [f"? {doubt}" for doubt in doubts]:
        print_line(line)
    if args.out:
        _say_written(args.out)
    elif requests.proposal:
        print_location(f"\nA scenario that reads it so: binwright traces describe {quote(args.file)} --out FILE.yaml")
    return 0


def _say_written(file: str) -> None:
    """Say what to do with a scenario that was written."""
    print_location(f"\nWritten: {file}. Look at it, then: binwright run {quote(file)}")


def _print_proposal(proposal: Proposal, path: Path) -> None:
    title = escape(f"What the columns of {path.name} probably are")
    table = new_table("column", "is", "unit", "why", title=title, title_justify="left")
    for guess in proposal.guesses:
        table.add_row(*map(escape, (guess.column, guess.name, guess.unit, guess.why)))
    if proposal.others:
        table.add_row(escape(", ".join(proposal.others)), "not read", "", "")
    out.print(table)


def _print(frame: pl.DataFrame, title: str, words: int = 0) -> None:
    """Print as many columns as the terminal has room for, whole: the first are `words`, or else all of lifetimes."""

    def shown(name: str, cell: object) -> str:
        if not words and name in ("p10", "p50", "p90", "p99", "mean"):
            return duration(cell)  # type: ignore[arg-type]  # seconds, or none
        if not isinstance(cell, float):
            return str(cell)
        return f"{100 * cell:.2f} %" if name == "share" else f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.4g}"

    names = {name: name.replace("_", " ") for name in frame.columns}
    if "never_ending" in names and frame["never_ending"].sum():
        names["mean"] = "mean if it ends"
    rows = [[Cell(shown(*cell)) for cell in row.items()] for row in frame.rows(named=True)]
    out.print(Sheet([*names.values()], rows, words, title).terminal(out.width))
