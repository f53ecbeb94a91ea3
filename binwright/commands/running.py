"""`run`, `validate` and `schema`: what concerns scenarios."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from binwright.commands.console import out
from simcore.errors import UserError

if TYPE_CHECKING:
    from analysis.results import Results
    from scenarios.batch import Batch


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
