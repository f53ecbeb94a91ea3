"""The answers to the commands, a function each; they take what `binwright.cli` parsed and return the exit code."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from analysis.columns import duration
from simcore.errors import UserError

if TYPE_CHECKING:
    import polars as pl

    from analysis.results import Results
    from scenarios.batch import Batch
    from workloads.describe import Description


class _Console(Console):
    """What a user's files and errors say is printed as it is; `binwright.cli` answers a reader that went away."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


out = _Console(soft_wrap=False, emoji=False)


def run(asked: Namespace) -> int:
    """`binwright run FILE`."""
    from binwright.api import as_overrides, default_folder
    from scenarios.batch import Batch
    from scenarios.load import load_scenario

    scenario = load_scenario(asked.file, as_overrides(asked.sets, asked.agents, asked.seeds))
    batch = Batch(scenario, asked.out or default_folder(scenario))
    if asked.dry_run:
        return _dry_run(batch)
    results = _run_with_progress(batch, asked.fresh)
    if len(results.done):
        out.print(results.table().rich(out.width))
    _warn(results)
    _say_where(results)
    return 1 if len(results.failed) else 0


def _dry_run(batch: Batch) -> int:
    known = batch.done()
    keys = dict.fromkeys(key for run in batch.runs for key in run.point)
    table = Table(*keys, "agent", "seeds", "done already", box=box.SIMPLE_HEAD, pad_edge=False)
    rows: dict[tuple[str, ...], list[Any]] = {}
    for run in batch.runs:
        rows.setdefault((*map(str, run.point.values()), run.agent.label), []).append(run)
    for key, runs in rows.items():
        table.add_row(
            *map(escape, key), f"{runs[0].seed}..{runs[-1].seed}", str(sum(run.name in known for run in runs))
        )
    out.print(table)
    out.print(
        f"{len(batch.runs)} runs, {len(known)} of them done already, into {batch.folder}", markup=False, soft_wrap=True
    )
    return 0


def _run_with_progress(batch: Batch, fresh: bool) -> Results:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    failed = 0
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(batch.scenario.name, total=len(batch.runs), failed="")

        def finished(row: dict[str, Any]) -> None:
            nonlocal failed
            failed += row["status"] != "done"
            progress.update(task, advance=1, failed=f"{failed} failed" if failed else "")

        return batch.run(fresh=fresh, finished=finished)


def _warn(results: Results) -> None:
    done = results.done
    impossible = int(done["impossible"].sum()) if len(done) else 0
    if impossible:
        share = impossible / int(done["offered"].sum())
        out.print(
            f"[yellow]Warning:[/] {share:.2%} of the requests are larger than any server: no agent was asked "
            "(metric `impossible`)."
        )
    failed = results.failed
    if len(failed):
        runs = "1 run" if len(failed) == 1 else f"{len(failed)} runs"
        out.print(f"[red]{runs} failed.[/] Column `error` of runs.parquet says why; here is the first of each agent:")
        for agent, seed, error in (
            failed.unique("agent", keep="first", maintain_order=True).select("agent", "seed", "error").rows()
        ):
            out.print(f"{agent}, seed {seed}: {error.strip()}", highlight=False, markup=False)


def _say_where(results: Results) -> None:
    from analysis.figures import summary

    out.print(f"Results: {results.folder}/runs.parquet", markup=False, highlight=False, soft_wrap=True)
    if results.done["agent"].n_unique() > 1 and (figure := summary(results)):
        out.print(f"Figure:  {figure}", markup=False, highlight=False, soft_wrap=True)


def validate(asked: Namespace) -> int:
    """`binwright validate FILE...`: every file is looked at, whatever is wrong with the others."""
    from scenarios.load import load_scenario
    from scenarios.plan import plan

    wrong = 0
    for file in asked.files:
        try:
            runs = len(plan(load_scenario(file)))
        except UserError as error:
            wrong += 1
            out.print(f"[red]wrong[/]  {escape(str(error))}", highlight=False, soft_wrap=True)
        else:
            out.print(f"[green]valid[/]  {escape(file)}: {runs} runs", highlight=False, soft_wrap=True)
    return 2 if wrong else 0


def schema(asked: Namespace) -> int:
    """`binwright schema`."""
    import json

    from scenarios.reference import json_schema

    print(json.dumps(json_schema(), indent=2))
    return 0


def agents(asked: Namespace) -> int:
    """`binwright agents`."""
    from inspect import signature
    from typing import get_args, get_type_hints

    from agents import AGENTS

    for name in sorted(AGENTS):
        kind = AGENTS.load(name)
        hints = get_type_hints(kind.__init__)
        options = (
            f"{option}: {' | '.join(map(str, get_args(hints.get(option)))) or parameter.default}"
            for option, parameter in signature(kind).parameters.items()
        )
        _entry(name, (kind.__doc__ or "").splitlines()[0], reference=kind.reference, options=", ".join(options))
    return 0


def workloads(asked: Namespace) -> int:
    """`binwright workloads`."""
    from itertools import groupby

    from workloads import catalogue

    for kind, entries in groupby(catalogue(), key=lambda entry: entry.kind):
        out.print(f"[bold]{kind}[/]")
        for entry in entries:
            _entry(entry.name, entry.summary, reference=entry.reference)
    return 0


def topology(asked: Namespace) -> int:
    """`binwright topology NAME`."""
    from fabric.presets import topology as build
    from fabric.topology import tier_rows

    if Path(asked.name).is_file():
        network = build("file", path=asked.name)
    else:
        network = build(asked.name, **dict(map(_option, asked.sets)))
    racks = f"{network.racks} racks, {network.switches} switches, {network.links} links"
    out.print(f"{network.name}: {network.servers} servers, {racks}", markup=False, highlight=False)
    table = Table("tier", "switches above", "links", "capacity each", "total", "oversubscription", box=box.SIMPLE_HEAD)
    for tier in tier_rows(network):
        each = f"{tier.smallest:g}" if tier.smallest == tier.largest else f"{tier.smallest:g} to {tier.largest:g}"
        over = "-" if tier.oversubscription is None else f"{tier.oversubscription:.3g} : 1"
        table.add_row(tier.tier, str(tier.switches), str(tier.links), each, f"{tier.total:g}", over)
    out.print(table)
    if asked.parts:
        for number, (low, high) in enumerate(network.link_ends.tolist()):
            out.print(f"link {number}: {network.names[low]} - {network.names[high]}", markup=False, highlight=False)
        for number in range(network.switches):
            out.print(f"switch {number}: {network.names[number]}", markup=False, highlight=False)
    if asked.draw:
        from analysis.draw_topology import draw

        draw(network, Path(asked.draw))
        out.print(f"Drawing: {asked.draw}", markup=False, highlight=False, soft_wrap=True)
    return 0


def _option(text: str) -> tuple[str, Any]:
    """`k=4` as an option; the value is YAML."""
    import yaml

    name, equals, value = text.partition("=")
    if not equals:
        raise UserError("is no option", key=f"--set {text}", remedy="Write --set option=value.")
    try:
        return name, yaml.safe_load(value)
    except yaml.YAMLError:
        raise UserError("is no YAML value", key=f"--set {text}", remedy="Write --set option=value.") from None


def traces_list(asked: Namespace) -> int:
    """`binwright traces list`."""
    from workloads import TRACES
    from workloads.traces.library import find

    for name in TRACES:
        kind = TRACES.load(name)
        try:
            here = str(find(name))
        except UserError:
            here = "no"
        _entry(name, kind.summary, here=here, source=kind.source, licence=kind.licence)
    return 0


def _entry(name: str, summary: str, **more: str) -> None:
    """One thing of a list: a line for what it is, and one each for what else is known."""
    out.print(f"[bold cyan]{name}[/]  {escape(summary)}", highlight=False, soft_wrap=True)
    for key, text in more.items():
        if text:
            out.print(f"    {key}: {text}", style="dim", highlight=False, soft_wrap=True, markup=False)


def traces_describe(asked: Namespace) -> int:
    """`binwright traces describe FILE`."""
    from workloads.describe import describe

    found = describe(_trace_file(asked.file))
    days = (found.last - found.first) / 86400
    out.print(
        f"{found.path}: {found.format}, {found.requests:,} requests over {days:.1f} days, "
        f"{found.never_ending:,} of them never ending",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    out.print(_frame(found.resources, "Resources"))
    shown = found.flavours.head(20)
    times = ("p10", "p50", "p90", "p99", "mean")
    out.print(_frame(shown, f"Flavours ({len(shown)} of {len(found.flavours)}) and their lifetimes", times))
    out.print(_frame(found.lifetimes, "All lifetimes", times))
    _print_load(found)
    return 0


def traces_convert(asked: Namespace) -> int:
    """`binwright traces convert FILE`."""
    from workloads.describe import convert

    file = _trace_file(asked.file)
    target = Path(asked.out) if asked.out else Path(file.name.removesuffix(".gz")).with_suffix(".parquet")
    out.print(f"{convert(file, target):,} requests: {target}", markup=False, highlight=False, soft_wrap=True)
    return 0


def _trace_file(text: str) -> Path:
    from workloads import TRACES
    from workloads.traces.library import find

    return find(text) if text in TRACES and not Path(text).is_file() else Path(text)


def _frame(frame: pl.DataFrame, title: str, times: Container[str] = ()) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name, kind in zip(frame.columns, frame.dtypes, strict=True):
        table.add_column(name.replace("_", " "), justify="right" if kind.is_numeric() else "left")
    for row in frame.rows(named=True):
        table.add_row(*(duration(cell) if name in times else _short(name, cell) for name, cell in row.items()))
    return table


def _short(name: str, cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:.2%}" if name == "share" else f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.4g}"
    return str(cell)


def _print_load(found: Description) -> None:
    """A bar per point in time, of the first resource."""
    name = found.load.columns[2]
    out.print(f"\nLoad over time: {name} running (peak {found.peak[name]:,.4g})", highlight=False)
    top = max(found.peak[name], 1e-12)
    for time, amount in found.load.select("time", name).rows():
        out.print(f"{time / 86400:7.2f} d {amount:12,.0f} {'█' * round(40 * amount / top)}", highlight=False)
