"""`why`: what a run refused and for which reason, and what every server lacked for one request."""

from __future__ import annotations

from argparse import Namespace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from binwright.analysis.measure.metric import duration
from binwright.commands.console import new_table, out, pair, print_line
from binwright.simcore.errors import RunError, UserError
from binwright.simcore.extras import pl
from binwright.simcore.files import write_text
from binwright.simcore.units import many_of, say

if TYPE_CHECKING:
    from binwright.scenarios.run.why import RefusedRequests, Why

SHOWN = 12
"""Servers, or kinds of requests, of a table."""
SHARE = ">offered", ">refused", ">%"
"""Headings of what `_share` writes."""


def why(args: Namespace) -> int:
    """Answer `binwright why RESULTS [--request ID]`."""
    from binwright.api import run_of
    from binwright.scenarios.run.why import refused
    from binwright.scenarios.run.why import why as look

    folder = Path(args.results)
    point = dict(pair("--point", text) for text in args.points)
    run, as_recorded = run_of(folder, args.agent, args.seed, point)
    which = f"{run.agent.label}, seed {run.seed}{''.join(f', {key} {value}' for key, value in run.point.items())}"
    if not as_recorded:
        note = f"{which} has not run with this code and these files: it is played as it would be now."
        out.print(note, style="yellow", markup=False, highlight=False)
    try:
        if args.request is None:
            counted = refused(run)
            rows = counted.kinds
            _print_refused(which, counted)
        else:
            result = look(run, args.request)
            rows = result.servers
            _print(which, result)
    except RunError as error:
        remedy = "Mend what failed and run it again; --agent and --seed choose another run."
        raise UserError(f"this run failed, and so it does now: {error}", key=which, remedy=remedy) from None
    if args.out:
        write_text(args.out, rows.write_csv())
    return 0


def _print_refused(which: str, counted: RefusedRequests) -> None:
    reasons, kinds = counted.reasons, counted.kinds
    offered, refused = int(kinds["offered"].sum()), int(kinds["refused"].sum())
    share = f" ({100 * refused / offered:.2f} %)" if offered else ""
    print_line(f"{which}: {refused:,} of {many_of(offered, 'request')} refused{share}")
    if not refused:
        _print_waits(counted.waits)
        return
    table = new_table("reason", ">requests", ">first", ">last", "for example")
    for row in reasons.iter_rows(named=True):
        times = duration(row["first"]), duration(row["last"])
        table.add_row(row["reason"], f"{row['requests']:,}", *times, ", ".join(row["ids"]))
    out.print(table)
    names = [name for name in kinds.columns if name not in ("offered", "refused")]  # resources, and maybe the group
    table = new_table(*names, *SHARE)
    for row in kinds.head(SHOWN).iter_rows(named=True):
        table.add_row(*(row[name] if name == "group" else f"{row[name]:.6g}" for name in names), *_share(row))
    out.print(table)
    if len(kinds) > SHOWN:
        print_line(f"{len(kinds) - SHOWN:,} more kinds of requests; --out FILE writes all.")
    for (label,), rows in counted.labels.group_by("label", maintain_order=True):  # who is refused more than others
        table = new_table(str(label), *SHARE, ">all who ask for the same %")
        for row in rows.head(SHOWN).iter_rows(named=True):
            table.add_row(escape(row["value"] or "-"), *_share(row), f"{100 * row['expected'] / row['offered']:.1f}")
        out.print(table)
        if len(rows) > SHOWN:
            print_line(f"{len(rows) - SHOWN:,} more of {label}.")
    if example := next((ids[0] for ids in reasons["ids"].to_list() if ids), None):
        print_line(f"What did every server lack? --request {example}")


def _print_waits(waits: pl.DataFrame) -> None:
    if not len(waits):
        return
    print_line(f"{many_of(len(waits), 'request')} waited. The longest waits:")
    names = waits.columns[1:-2]  # resources, and maybe the group
    table = new_table("request", *names, ">arrival", ">wait")
    for row in waits.head(SHOWN).iter_rows(named=True):
        amounts = (row[name] if name == "group" else f"{row[name]:.6g}" for name in names)
        table.add_row(row["id"], *amounts, duration(row["arrival"]), duration(row["wait"]))
    out.print(table)
    print_line(f"What did every server lack? --request {waits['id'][0]}")


def _share(row: dict[str, Any]) -> tuple[str, str, str]:
    """Write how many were offered, how many of them refused, and the share of these."""
    share = 100 * row["refused"] / row["offered"] if row["offered"] else 0.0
    return f"{row['offered']:,}", f"{row['refused']:,}", f"{share:.1f}"


def _print(which: str, result: Why) -> None:
    request, resources = result.request, result.resources
    where = "an even part of every node of one server" if request.spread else "one node"
    if result.networked:
        where = f"servers with {say((request.bandwidth,), ('bandwidth',))} between them"
    lasts = "for ever" if request.duration == inf else f"for {duration(request.duration)}"
    when = f"{duration(request.arrival)} after the first one"
    print_line(f"{which}: request {result.id} (row {request.index}), {result.answer}")
    print_line(f"It asked for {say(request.demand, resources)} on {where}, {lasts}, {when}.")
    if result.time > request.arrival:
        print_line(f"The agent was first asked about it {duration(result.time - request.arrival)} later.")
    for count, word in result.servers["why"].value_counts(sort=True).select("count", "why").iter_rows():
        alone = "each alone " * (result.networked and word.startswith("lacks "))
        print_line(f"  {many_of(count, 'server')}: {alone}{word}")
    lacking = [
        pl.col(f"lacks_{name}") * 1e6 / amount for name, amount in zip(resources, request.demand, strict=True) if amount
    ]
    near = result.servers.with_columns(pl.max_horizontal(lacking).alias("_by")).sort("_by", maintain_order=True)
    table = new_table(">server", *[">node"] * (not request.spread), *(f">free {name}" for name in resources), "why")
    for row in near.head(SHOWN).iter_rows(named=True):
        free = [f"{row[f'free_{name}']:.6g}" for name in resources]
        lacks = ", ".join(f"{row[f'lacks_{name}']:.6g} {name}" for name in resources if row[f"lacks_{name}"])
        word = f"{'alone ' * result.networked}lacks {lacks}" if row["why"].startswith("lacks ") else row["why"]
        table.add_row(str(row["server"]), *[str(row["node"])] * (not request.spread), *free, word)
    out.print(table)
    if len(near) > SHOWN:
        print_line(f"The {SHOWN} that lack least, of {len(near):,}; --out FILE writes all.")
