"""`traces`: what is in the files."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from binwright.analysis.compare.terminal import fitted
from binwright.analysis.measure.metric import duration, unit_of_time
from binwright.commands.console import entry, new_table, out, show, where
from binwright.simcore.errors import UserError
from binwright.simcore.extras import pl

if TYPE_CHECKING:
    from rich.table import Table

    from binwright.workloads.column_guesses import Proposal
    from binwright.workloads.describe import Description


def list_known(asked: Namespace) -> int:
    """`binwright traces list`."""
    from binwright.workloads import TRACES
    from binwright.workloads.traces.library import find

    for name in TRACES:
        kind = TRACES.load(name)
        try:
            here = str(find(name))
        except UserError:
            here = "no"
        entry(name, kind.summary, here=here, source=kind.source, licence=kind.licence)
    return 0


def describe_file(asked: Namespace) -> int:
    """`binwright traces describe FILE`."""
    from binwright.scenarios.draft.request_source import asked_of
    from binwright.scenarios.draft.text import write_new
    from binwright.simcore.units import measure_of
    from binwright.workloads.describe import describe_frame

    requests = asked_of(asked.file, asked.drop_faulty)
    if asked.out:
        write_new(asked.out, requests.text(Path(asked.out).parent))
    if requests.proposal:
        _print_proposal(requests.proposal, requests.path)
    units = {name: measure_of(name).base for name in requests.resources}
    found = describe_frame(requests.name, requests.path, requests.frame, units)
    show(
        f"{found.path}: {found.format}, {found.requests:,} requests over {duration(found.last - found.first)}, "
        f"{found.never_ending:,} of them never ending"
    )
    if requests.running:
        show(f"{requests.running:,} of them run already at the start")
    out.print(_frame(found.resources, "Resources"))
    shown = found.flavours.head(20)
    times = ("p10", "p50", "p90", "p99", "mean")
    out.print(_flavours(shown, f"Flavours ({len(shown)} of {len(found.flavours)}) and their lifetimes", times))
    out.print(_flavours(found.lifetimes, "All lifetimes", times))
    _print_load(found)
    doubts = [*(requests.proposal.doubts if requests.proposal else ()), *requests.doubts]
    for line in [""] * bool(doubts) + [f"? {doubt}" for doubt in doubts]:
        show(line)
    if asked.out:
        say_written(asked.out)
    elif requests.proposal:
        where(f"\nA scenario that reads it so: binwright traces describe {asked.file} --out FILE.yaml")
    return 0


def say_written(file: str) -> None:
    """Say what to do with a scenario that was written."""
    where(f"\nWritten: {file}. Look at it, then: binwright run {file}")


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


def convert_file(asked: Namespace) -> int:
    """`binwright traces convert FILE`."""
    from binwright.workloads.describe import convert

    file = _trace_file(asked.file)
    target = Path(asked.out) if asked.out else Path(file.name.removesuffix(".gz")).with_suffix(".parquet")
    show(f"{convert(file, target):,} requests: {target}")
    return 0


def _trace_file(text: str) -> Path:
    from binwright.workloads import TRACES
    from binwright.workloads.traces.library import find

    return find(text) if text in TRACES and not Path(text).is_file() else Path(text)


def _frame(frame: pl.DataFrame, title: str) -> Table:
    kinds = zip(frame.columns, frame.dtypes, strict=True)
    headings = (f">{name}" if kind.is_numeric() else name for name, kind in kinds)
    table = new_table(*headings, title=title, title_justify="left")
    for line in _lines(frame, ()):
        table.add_row(*line)
    return table


def _flavours(frame: pl.DataFrame, title: str, times: Container[str]) -> Table:
    """Lay out as many columns as the terminal has room for, whole; the others are named below."""
    lines = _lines(frame, times)
    headings = [_heading(name, frame) for name in frame.columns]
    styles = [[""] * len(headings)] * len(lines)
    return fitted(headings, lines, out.width, first=0, groups=[0] * len(lines), styles=styles, title=title)


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
    show(f"\nLoad over time: {name} running (peak {found.peak[name]:,.4g})")
    bar = "█" if out.encoding.startswith("utf") else "#"
    top = max(found.peak[name], 1e-12)
    rows = found.load.select("time", name).rows()[::-2][::-1]
    span = max((time for time, _ in rows), default=found.first) - found.first
    scale, unit = unit_of_time(span)
    for time, amount in rows:
        show(f"{(time - found.first) * scale:7.2f}{unit} {amount:12,.0f} {bar * round(40 * amount / top)}")
