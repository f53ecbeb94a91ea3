"""`size`: finds for every agent the smallest cluster with which a metric meets a target."""

from __future__ import annotations

from argparse import Namespace
from math import inf
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from binwright.cli import FAILED
from binwright.commands.console import out, print_line, print_location
from binwright.commands.progress import Live
from binwright.commands.running import list_failed, warn_of_scenario
from binwright.simcore.extras import pl
from binwright.simcore.types import QUANTUM
from binwright.simcore.units import many_of

if TYPE_CHECKING:
    import rich.table

    from binwright.scenarios.size.sizing import Sized

BAR = 14
"""Columns of the longest bar, at most."""
BINDS = "binds: the resource that is fullest, and how full on average."


def size(args: Namespace) -> int:
    """Answer `binwright size FILE --until "acceptance >= 99 %"`."""
    from binwright.analysis.figures.style import save
    from binwright.api import as_overrides
    from binwright.scenarios.schema.load import folder_for, load_to_run
    from binwright.scenarios.schema.scenario import Size, place_of
    from binwright.scenarios.size.sizing import size as size_servers

    scenario = load_to_run(args.file, as_overrides(args.sets, args.agents, args.seeds))
    folder, key = folder_for(scenario, args.out, "size"), place_of(scenario.cluster, (scenario.size or Size()).kind)[0]
    until = " and ".join(args.until) if args.until else None
    with Live() as line:

        def finished(row: dict[str, Any]) -> None:  # how many runs there will be, nobody knows: sizes draw nearer
            line.detail = f"last {row['agent']} with {many_of(row[key], 'server')}"
            line(row)

        how = {"jobs": args.jobs, "out": folder, "finished": finished}
        result = size_servers(scenario, until=until, **how)
    warn_of_scenario(scenario)
    out.print(_table(result))
    list_failed(result.results)
    _compare(result, folder)
    print_location(f"Answer:  {folder}/sizes.csv")
    print_location(f"Figure:  {save(result.results.figure('size'), folder / 'figures' / 'size.png')}")
    return FAILED if len(result.results.failed) else 0


def _compare(result: Sized, folder: Path) -> None:
    """Play the best agent and the one that needs most on as many servers as the best needs: say why, and draw both."""
    from binwright.analysis.figures.style import save
    from binwright.api import run_of
    from binwright.scenarios.batch.batch import Batch
    from binwright.scenarios.run.why import refused, why
    from binwright.scenarios.size.sizing import NOT_SIGNIFICANT

    question, rows = result.question, [row for row in result.frame.iter_rows(named=True) if row["verdict"] != "failed"]
    best = next((row for row in rows if row["verdict"] == "best"), None)
    most = max(rows, key=lambda row: row["size"] or inf, default=None)
    if not best or not most or most["verdict"] in ("best", NOT_SIGNIFICANT) or question.scenario.cluster.network:
        return
    shown = [best["agent"], most["agent"]]
    agents = tuple(agent for agent in question.scenario.agents if agent.label in shown)
    few = {"agents": agents, "replications": 1, "record": ("states",)}
    played = Batch(question.at((best["size"],)).model_copy(update=few), folder / "compared").run()
    if len(played.failed):
        return
    more = f"over {question.most:,} servers" if most["more"] is None else f"{many_of(most['more'], 'server')} more"
    print_line(f"{most['agent']} needs {more}. Why?")
    run, _ = run_of(played.folder, most["agent"], None, {})
    if ids := next((ids for ids in refused(run).reasons["ids"].to_list() if ids), None):
        example = why(run, ids[0])
        free = ", ".join(
            f"{amount / QUANTUM:g} {name} asked, at most {max(only):g} free on any"
            for name, amount in zip(question.scenario.resources, example.request.demand, strict=True)
            if len(only := example.servers.filter(pl.col("why") == f"lacks {name}")[f"free_{name}"])
        )
        example_of = f"With {many_of(best['size'], 'server')} it refuses, for example, request {example.id}: "
        print_line(f"{example_of}{free or example.answer.removeprefix('refused: ')}.")
        print_location(f"More: binwright why {played.folder} --agent {quote(most['agent'])} --request {example.id}")
    print_location(f"Servers: {save(played.figure('servers', agents=shown), folder / 'figures' / 'servers.png')}")


def _table(result: Sized) -> rich.table.Table:
    """Lay the answer out: how many servers each agent needs, between which, and how many more than the best."""
    from binwright.analysis.compare.sheet import Cell, Sheet, hidden
    from binwright.scenarios.size.sizing import NOT_SIGNIFICANT

    question, frame, runs = result.question, result.frame, result.results.runs
    metric, most = question.target.metric, question.most
    headings = ["agent", "servers", "95 % interval", "", f"{metric.heading} there", "binds"]
    counts = [size or most * (verdict != "failed") for size, verdict in frame["size", "verdict"].iter_rows()]
    bar = "█" if out.encoding[:3] == "utf" else "#"
    drawn = set(runs.filter(runs["random"].fill_null(True))["agent"])
    rows = []
    for row in frame.iter_rows(named=True):
        exact = row["agent"] not in drawn
        low, high, size = (_number(row[end], most) for end in ("low", "high", "size"))
        mean, ends = row["mean"], (row["mean_low"], row["mean_high"])
        accepted = "-" if mean is None else metric.write(mean, exact=True) if exact else metric.between(mean, *ends)
        mark = {"best": " *", NOT_SIGNIFICANT: " ="}.get(row["verdict"], "")
        texts = [
            result.results.heading(row["agent"]),
            "failed" if row["verdict"] == "failed" else f"{size}{mark}",
            "exact" if exact else "-" if row["mean_low"] is None else f"[{low}, {high}]",
            "",
            accepted,
            "-" if row["binds"] is None else f"{row['binds']} {100 * row['full']:.0f} %",
        ]
        rows.append([*map(Cell, texts)])
    sheet = Sheet(headings, rows, words=1, title=f"{question.key} until {question.until}")
    room = out.width - sum(sheet.widths[:5])  # beside what was accepted
    longest = room if 0 <= room < BAR else BAR
    for cells, count in zip(rows, counts, strict=True):
        cells[3] = Cell(bar * round(longest * count / max(counts)))
    caption = f"{_legend(result, exact=not drawn)} {hidden([sheet], out.width)}"
    return sheet.terminal(out.width, caption=caption)


def _number(size: int | None, most: int) -> str:
    return f"> {most:,}" if size is None else f"{size:,}"


def _legend(result: Sized, *, exact: bool) -> str:
    """Say what the columns are, and what the marks in them; `exact` says that nothing was drawn."""
    from binwright.scenarios.size.sizing import NOT_SIGNIFICANT

    question = result.question
    seeds = many_of(question.scenario.replications, "seed")
    parts = [f"servers: with so many and more the mean over {seeds} meets it; * the fewest. {BINDS}"]
    if exact:
        nothing = "Nothing was drawn: that is exact for these requests."
        parts = [f"servers: so many and more meet it; * the fewest. {nothing} {BINDS}"]
    if NOT_SIGNIFICANT in set(result.frame["verdict"]):
        parts.append("= not significantly different from the best, with as many servers as the best one needs.")
    if None in set(result.frame["size"]):
        parts.append(f"> {question.most:,}: that many do not suffice either; the row is for that many.")
    return " ".join(parts)
