"""`size`: finds for every agent the smallest cluster with which a metric meets a target."""

from __future__ import annotations

import logging
from argparse import Namespace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from binwright.cli import FAILED
from binwright.commands.console import many_of, new_table, out, print_line, print_location
from binwright.commands.progress import SizingProgress
from binwright.commands.running import list_failed, warn_of, warn_of_growth, warn_of_scenario
from binwright.simcore.extras import pl
from binwright.simcore.types import QUANTUM

BAR = 14
"""Columns of the longest bar."""
BINDS = "binds: the resource that is fullest, and how full on average."
LOG = logging.getLogger("binwright")
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import rich.table

    from binwright.analysis.measure.metric import Metric
    from binwright.scenarios.schema.scenario import Scenario
    from binwright.scenarios.size.sizing import Sized


def size(args: Namespace) -> int:
    """`binwright size FILE --until "acceptance >= 99 %"`."""
    from binwright.analysis.figures.style import save
    from binwright.api import as_overrides
    from binwright.api import size as size_servers
    from binwright.scenarios.run.check import below_fitted
    from binwright.scenarios.schema.load import folder_for, load_to_run
    from binwright.scenarios.schema.size import metrics_of
    from binwright.scenarios.size.sizing import Sizes

    scenario = load_to_run(args.file, as_overrides(args.sets, args.agents, args.seeds))
    folder = folder_for(scenario, args.out, "size")
    metrics = {metric.name: metric for metric in metrics_of(scenario.cluster, scenario.metrics, scenario.currency)}
    with SizingProgress() as line:

        def on_progress(row: dict[str, Any]) -> None:
            LOG.info("%s", _said(row, metrics))
            line.looked()

        found = size_servers(
            scenario,
            until=" and ".join(args.until) if args.until else None,
            jobs=args.jobs,
            out=folder,
            on_progress=on_progress,
            finished=line,
        )
    warn_of_scenario(scenario, folder)
    warn_of(below_fitted(scenario))
    answers = found.answers if isinstance(found, Sizes) else [({}, found)]
    for point, one in answers:
        if point:
            out.rule(escape(", ".join(f"{key} {value}" for key, value in point.items())))
        out.print(_table(one))
        warn_of_growth(_at_answer(one))
        list_failed(one.results)
        if not point:
            _compare(one, folder)
    print_location(f"Answer:  {folder}/sizes.csv")
    if not isinstance(found, Sizes):
        print_location(f"Figure:  {save(found.results.figure('size'), folder / 'figures' / 'size.png')}")
    return FAILED if any(len(one.results.failed) for _, one in answers) else 0


def _compare(found: Sized, folder: Path) -> None:
    """Play the best agent and the one that needs most on as many servers as the best needs: say why, and draw both."""
    from binwright.analysis.figures.style import save
    from binwright.api import run_of
    from binwright.scenarios.batch.batch import Batch
    from binwright.scenarios.run.why import refused, why
    from binwright.scenarios.size.sizing import NOT_TOLD

    question, rows = found.question, [row for row in found.frame.iter_rows(named=True) if row["verdict"] != "failed"]
    best = next((row for row in rows if row["verdict"] == "best"), None)
    most = max(rows, key=lambda row: row["size"] or inf, default=None)
    if not best or not most or most["verdict"] in ("best", NOT_TOLD) or question.scenario.cluster.network:
        return
    agents = tuple(agent for agent in question.scenario.agents if agent.label in (best["agent"], most["agent"]))
    few = {"agents": agents, "replications": 1, "record": ("states",)}
    played = Batch(question.at((best["size"],)).model_copy(update=few), folder / "compared").run()
    if len(played.failed):
        return
    more = f"over {question.most:,} servers" if most["more"] is None else f"{many_of(most['more'], 'server')} more"
    print_line(f"{most['agent']} needs {more}. Why?")
    run, _ = run_of(played.folder, most["agent"], None, {})
    reasons = refused(run).reasons
    if ids := next((ids for ids in reasons["ids"].to_list() if ids), None):
        example = why(run, ids[0])
        amounts = zip(question.scenario.resources, example.request.demand, strict=True)
        free = ", ".join(
            f"{amount / QUANTUM:g} {name} asked, at most {largest:g} free on any"
            for name, amount in amounts
            if (largest := example.largest.get(name)) is not None and largest * QUANTUM < amount
        )
        example_of = f"With {many_of(best['size'], 'server')} it refuses, for example, request {example.id}: "
        print_line(f"{example_of}{free or example.answer.removeprefix('refused: ')} (`binwright why`).")
    shown = [best["agent"], most["agent"]]
    print_location(f"Servers: {save(played.figure('servers', agents=shown), folder / 'figures' / 'servers.png')}")


def _at_answer(found: Sized) -> pl.DataFrame:
    """Take the runs of the best agent with as many servers as it needs."""
    best = found.frame.filter(pl.col("verdict") == "best").select("size", "agent").head(1)
    return found.results.done.join(best.rename({"size": found.question.key}), on=[found.question.key, "agent"])


def _said(row: dict[str, Any], metrics: dict[str, Metric]) -> str:
    """Say what an agent came to at a size."""
    swept = "".join(f"{key} {value}, " for key, value in row.get("point", {}).items())
    said = f"{swept}{row['agent']}, {many_of(row['size'], 'server')}: "
    if "failed" in row:
        return f"{said}failed"
    metric = metrics[row["metric"]]
    lost = f", {row['lost']:,} that run already get no place" if row["lost"] else ""
    short = "" if row["enough"] else ", not enough"
    return f"{said}{metric.heading} {metric.write(row['mean'], row['half'])}{lost}{short}"


def _table(found: Sized) -> rich.table.Table:
    """Lay the answer out: how many servers each agent needs, between which, and how many more than the best."""
    from binwright.analysis.compare.sheet import Cell, Sheet, widest
    from binwright.scenarios.size.sizing import NOT_TOLD

    question, metric = found.question, found.question.target.metric
    bills = _bills_of(found.frame, question.scenario)
    headings = ["agent", "servers", "95 % interval", "", f"{metric.heading} there", "binds"]
    headings += [each for each, _ in bills]
    runs, lines = found.results.runs, []
    largest, bar = max(row or question.most for row in found.frame["size"]), "█" if out.encoding[:3] == "utf" else "#"
    drawn = set(runs.filter(runs["random"].fill_null(True))["agent"])
    for row in found.frame.iter_rows(named=True):
        exact = row["agent"] not in drawn
        if row["mean"] is None:
            there = "-"
        elif exact:
            there = metric.exactly(row["mean"])
        else:
            there = metric.between(row["mean"], row["mean_low"], row["mean_high"])
        mark = {"best": " *", NOT_TOLD: " ="}.get(row["verdict"], "")
        lines.append(
            [
                found.results.heading(row["agent"]),
                "failed" if row["verdict"] == "failed" else f"{_number(row['size'], question.most)}{mark}",
                "exact" if exact else _interval(row, question.most),
                bar * round(BAR * (row["size"] or question.most) / largest),
                there,
                "-" if row["binds"] is None else f"{row['binds']} {row['full']:.0%}",
                *(write(row) for _, write in bills),
            ]
        )
    sheet = Sheet(headings, [list(map(Cell, line)) for line in lines], words=0)
    shown = sheet.fitting(out.width)
    hidden = ", ".join(heading for column, heading in enumerate(headings) if column not in shown)
    wider = f" Wider terminals show: {hidden}. To see all, set COLUMNS={widest([sheet])}." if hidden else ""
    table = new_table(
        *(f">{headings[column]}" if column and headings[column] else headings[column] for column in shown),
        title=escape(f"{question.key} until {question.until}"),
        title_justify="left",
        caption=f"{_legend(found, exact=not drawn)}{escape(wider)}",
        caption_justify="left",
    )
    for line in lines:
        table.add_row(*(escape(line[column]) for column in shown))
    return table


def _number(size: int | None, most: int) -> str:
    return f"> {most:,}" if size is None else f"{size:,}"


def _interval(row: dict[str, Any], most: int) -> str:
    """Write the ends of the interval; of one seed there is none."""
    if row["mean_low"] is None:
        return "-"
    return f"[{_number(row['low'], most)}, {_number(row['high'], most)}]"


def _legend(found: Sized, *, exact: bool) -> str:
    """Say what the columns are, and what the marks in them; `exact` says that nothing was drawn."""
    from binwright.scenarios.size.sizing import NOT_TOLD

    question, verdicts = found.question, set(found.frame["verdict"])
    seeds = many_of(question.scenario.replications, "seed")
    parts = [f"servers: with so many and more the mean over {seeds} meets it; * the fewest. {BINDS}"]
    if exact:
        parts = [
            "servers: so many and more meet it; * the fewest. Nothing was drawn: that is exact for these requests. "
            f"{BINDS}"
        ]
    if NOT_TOLD in verdicts:
        parts.append("= not significantly different from the best, with as many servers as the best one needs.")
    if None in set(found.frame["size"]):
        parts.append(f"> {question.most:,}: that many do not suffice either; the row is for that many.")
    return " ".join(parts)


def _bills_of(frame: pl.DataFrame, scenario: Scenario) -> list[tuple[str, Callable[[Mapping[str, Any]], str]]]:
    """List the columns that an answer has where its scenario says what servers cost or draw.

    Each has a heading, and what writes its cell of a row.
    """
    from binwright.scenarios.schema.size import metrics_of

    metrics = {metric.name: metric for metric in metrics_of(scenario.cluster, (), scenario.currency)}
    known = (("spent", "cost_month", "cost per month"), ("energy", "energy", "energy of a run"))
    return [(heading, _cell(name, metrics[metric])) for name, metric, heading in known if frame[name].count()]


def _cell(name: str, metric: Metric) -> Callable[[Mapping[str, Any]], str]:
    return lambda row: "-" if row[name] is None else metric.exactly(row[name])
