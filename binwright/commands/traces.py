"""`traces describe`: what is in a file, or with `--fit` a generator like it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from binwright.analysis.compare.sheet import Cell, Sheet
from binwright.analysis.measure.metric import duration, unit_of_time
from binwright.commands.console import new_table, note, out, print_line, print_location
from binwright.simcore.errors import UserError
from binwright.simcore.extras import pl

POINTS = 41
"""Quantiles of the lifetimes of each demand that `--fit` writes."""

if TYPE_CHECKING:
    from rich.table import Table

    from binwright.workloads.column_guesses import Proposal
    from binwright.workloads.describe import Description


def describe(args: Namespace) -> int:
    """Answer `binwright traces describe FILE`."""
    if args.fit:
        return _fit(args)
    if args.start is not None:
        raise UserError("needs --fit", key="--start", remedy="In a scenario write `workload: {start: ...}`.")
    from binwright.scenarios.draft.request_source import asked_of
    from binwright.scenarios.draft.text import write_new
    from binwright.simcore.units import measure_of
    from binwright.workloads.describe import describe_frame

    requests = asked_of(args.file, args.drop_faulty)
    if args.out:
        write_new(args.out, requests.text(Path(args.out).parent))
    if requests.proposal:
        _print_proposal(requests.proposal, requests.path)
    units = {name: measure_of(name).base for name in requests.resources}
    found = describe_frame(requests.name, requests.path, requests.frame, units)
    print_line(
        f"{found.path}: {found.format}, {found.requests:,} requests over {duration(found.last - found.first)}, "
        f"{found.never_ending:,} of them never ending"
    )
    if requests.running:
        print_line(f"{requests.running:,} of them run already at the start")
    out.print(_frame(found.resources, "Resources"))
    shown = found.flavours.head(20)
    times = ("p10", "p50", "p90", "p99", "mean")
    out.print(_flavours(shown, f"Flavours ({len(shown)} of {len(found.flavours)}) and their lifetimes", times))
    out.print(_flavours(found.lifetimes, "All lifetimes", times))
    _print_load(found)
    doubts = [*(requests.proposal.doubts if requests.proposal else ()), *requests.doubts]
    for line in [""] * bool(doubts) + [f"? {doubt}" for doubt in doubts]:
        print_line(line)
    if args.out:
        say_written(args.out)
    elif requests.proposal:
        print_location(f"\nA scenario that reads it so: binwright traces describe {args.file} --out FILE.yaml")
    return 0


def _fit(args: Namespace) -> int:
    """Write a generated workload that is like a trace."""
    import yaml

    from binwright.scenarios.draft.request_source import MOST, asked_of
    from binwright.scenarios.draft.text import write_new
    from binwright.scenarios.run.check import below_fitted, beside_fitted
    from binwright.scenarios.schema.load import scenario_from

    if args.flavours < 1:
        raise UserError("is too few", key="--flavours", value=args.flavours, remedy="Give 1 or more.")
    requests = asked_of(args.file, args.drop_faulty)
    if args.start is not None:
        requests = requests.since(args.start)
    text = requests.fitted(args.flavours, POINTS, None)
    for doubt in [*(requests.proposal.doubts if requests.proposal else ()), *requests.doubts]:
        note(f"? {doubt}")
    if (share := requests.share_of(args.flavours)) < MOST:
        kept = "only the most frequent demand" if args.flavours == 1 else f"the {args.flavours} most frequent demands"
        note(f"? The workload keeps {kept}: {share:.1%} of the requests. --flavours N keeps more.")
    drawn = scenario_from(yaml.safe_load(text))
    for name, what, there, draws in beside_fitted(drawn):
        note(f"{name}, {what}: {there:,.4g} in the trace, {draws:,.4g} drawn ({draws / there - 1:+.1%})")
    if doubt := below_fitted(drawn):
        note(f"? {doubt[0].upper()}{doubt[1:]}")
    if args.out:
        write_new(args.out, text)
        say_written(args.out)
    else:
        print(text, end="")
    return 0


def say_written(file: str) -> None:
    """Say what to do with a scenario that was written."""
    print_location(f"\nWritten: {file}. Look at it, then: binwright run {file}")


def _print_proposal(proposal: Proposal, path: Path) -> None:
    title = escape(f"What the columns of {path.name} probably are")
    table = new_table("column", "is", "unit", "why", title=title, title_justify="left")
    for guess in proposal.guesses:
        table.add_row(*map(escape, (guess.column, guess.name, guess.unit, guess.why)))
    for label, column in proposal.labels.items():
        table.add_row(*map(escape, (column, f"label {label}", "", "its name")))
    if proposal.others:
        table.add_row(escape(", ".join(proposal.others)), "not read", "", "")
    out.print(table)


def _frame(frame: pl.DataFrame, title: str) -> Table:
    kinds = zip(frame.columns, frame.dtypes, strict=True)
    headings = (f">{name}" if kind.is_numeric() else name for name, kind in kinds)
    table = new_table(*headings, title=title, title_justify="left")
    for line in _lines(frame, ()):
        table.add_row(*line)
    return table


def _flavours(frame: pl.DataFrame, title: str, times: Container[str]) -> Table:
    """Lay out as many columns as the terminal has room for, whole; the others are named below."""
    rows = [list(map(Cell, line)) for line in _lines(frame, times)]
    return Sheet([_heading(name, frame) for name in frame.columns], rows, 0, title).terminal(out.width)


def _heading(name: str, frame: pl.DataFrame) -> str:
    """Name a column; a mean is over those lifetimes that end, where some do not."""
    some = "never_ending" in frame.columns and frame["never_ending"].sum() > 0
    return "mean if it ends" if some and name == "mean" else name.replace("_", " ")


def _lines(frame: pl.DataFrame, times: Container[str]) -> list[list[str]]:
    return [
        [duration(cell) if name in times else _short(name, cell) for name, cell in row.items()]
        for row in frame.rows(named=True)
    ]


def _short(name: str, cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:.2%}" if name == "share" else f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.4g}"
    return str(cell)


def _print_load(found: Description) -> None:
    """Print a bar for every other point in time, of the first resource, so that what stands above is still there."""
    name = found.load.columns[2]
    print_line(f"\nLoad over time: {name} running (peak {found.peak[name]:,.4g})")
    bar = "█" if out.encoding.startswith("utf") else "#"
    top = max(found.peak[name], 1e-12)
    rows = found.load.select("time", name).rows()[::-2][::-1]
    span = max((time for time, _ in rows), default=found.first) - found.first
    scale, unit = unit_of_time(span)
    for time, amount in rows:
        print_line(f"{(time - found.first) * scale:7.2f}{unit} {amount:12,.0f} {bar * round(40 * amount / top)}")
