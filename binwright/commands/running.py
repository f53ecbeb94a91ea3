"""`run` and `validate`: what concerns scenarios."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from binwright.analysis.results.folder import as_written, short_key
from binwright.cli import FAILED, MISTAKE
from binwright.commands.console import many_of, new_table, note, out, print_line, print_location
from binwright.commands.progress import Live, duration, remaining
from binwright.simcore.errors import UserError, without_numbers
from binwright.simcore.extras import pl
from binwright.simcore.files import write_text

if TYPE_CHECKING:
    from binwright.analysis.results_api import Results
    from binwright.scenarios.batch.batch import Batch
    from binwright.scenarios.schema.scenario import Scenario

SHOWN = 20
"""Reasons of failed runs that are listed at the end."""
_REQUEST = re.compile(r" for (request \d+ \(|\d+ requests from request ).*")
"""The end of an agent's error, which differs from seed to seed."""

NOT_LOOKED_AT = "Fix these first; other checks follow."


def run(args: Namespace) -> int:
    """`binwright run FILE...`."""
    from binwright.analysis.compare.table import site_table
    from binwright.scenarios.batch.backends import checked_jobs
    from binwright.scenarios.batch.batch import run_batches
    from binwright.simcore.cores import usable_cpus

    checked_jobs(args.jobs)
    batches = _batches(args)
    if args.dry_run:
        return _dry_run(batches, args.jobs, args.fresh)
    total = sum(len(batch.runs) for batch in batches)
    done = 0 if args.fresh else sum(len(batch.done()) for batch in batches)
    for batch in batches:
        _say_damaged(batch)
    with Live(total, done, args.jobs or usable_cpus()) as live:
        how = {"fresh": args.fresh, "jobs": args.jobs, "on": args.on}
        found = run_batches(batches, **how, finished=live, on_progress=live.on_progress, anew=live.anew)
    for batch, results in zip(batches, found, strict=True):
        if len(batches) > 1:
            out.rule(escape(batch.scenario.name))
        if len(results.done):
            out.print(results.table().rich(out.width))
            if sites := site_table(results):
                out.print(sites.terminal(out.width))
        _say_outdated(batch)
        _say_printed(batch)
        _warn(results)
        warn_of_scenario(batch.scenario, batch.folder)
        list_failed(results)
        _say_where(results)
    return FAILED if any(len(results.failed) for results in found) else 0


def _say_outdated(batch: Batch) -> None:
    """Say what finished in this folder and is in no table any more."""
    _, outdated = batch.others()
    if outdated:
        runs, journal = many_of(outdated, "run"), batch.folder / "journal.jsonl"
        note(
            f"Hidden: {runs} of an earlier version of the scenario, an agent or Binwright, kept in {journal}. "
            "--out gives this version its own folder."
        )


def _say_damaged(batch: Batch) -> None:
    """Say how much of the journal counts for nothing."""
    if count := batch.damaged():
        journal = batch.folder / "journal.jsonl"
        lines, whose = ("line", "is damaged: its run is") if count == 1 else ("lines", "are damaged: their runs are")
        note(f"{count} {lines} of {journal} {whose} repeated.")


def _say_printed(batch: Batch) -> None:
    """Say where to find what agents printed."""
    files = [batch.folder / "details" / f"{run.name}.printed.txt" for run in batch.runs]
    if printed := [file for file in files if file.exists() and file.stat().st_size]:  # a killed run leaves it empty
        note(f"Agents printed something in {many_of(len(printed), 'run')}: {printed[0]}")


def _batches(args: Namespace) -> list[Batch]:
    """Prepare the batches of all files, each with a folder of its own."""
    from binwright.api import as_overrides
    from binwright.scenarios.batch.batch import Batch
    from binwright.scenarios.schema.load import default_folder, load_to_run

    if args.out == "":
        raise UserError("is empty", key="--out", remedy="Name a folder, or leave it out: then it is results/NAME.")
    overrides = as_overrides(args.sets, args.agents, args.seeds)
    batches: dict[Path, Batch] = {}
    for file in args.files:
        scenario = load_to_run(file, overrides)
        folder = Path(args.out or ".") / scenario.name if len(args.files) > 1 and args.out else args.out
        batch = Batch(scenario, folder or default_folder(scenario))
        other = batches.setdefault(batch.folder.absolute(), batch)
        if other is not batch:
            raise UserError(
                "two scenarios have the same name, and would share one folder of results",
                file=file,
                key="name",
                value=scenario.name,
                remedy="Give one of them another `name:`, or run them one after the other with --out.",
            )
    return list(batches.values())


def _dry_run(batches: list[Batch], jobs: int | None, fresh: bool) -> int:
    from binwright.scenarios.batch.estimate import estimate
    from binwright.scenarios.run.check import check_scenario
    from binwright.simcore.cores import usable_cpus

    jobs = jobs or usable_cpus()
    seconds, probes, more = 0.0, 0, False
    for batch in batches:
        known = {} if fresh else batch.done()
        check_scenario(batch.scenario, batch.folder)
        _plan(batch, known)
        _say_doubts(batch.scenario, batch.folder)
        if len(known) < len(batch.runs):
            found = estimate([batch], [known], jobs)
            seconds, probes, more = seconds + found.seconds, probes + found.probes, more or found.more
    if probes or more:
        left = sum(len(batch.runs) for batch in batches)
        time = f"at least {duration(seconds / jobs)}" if more else remaining(seconds / jobs, probes / max(1, left))
        print_line(f"Time: {time} with --jobs {jobs}, judged by {many_of(probes, 'run')}.")
    return 0


def _plan(batch: Batch, known: Mapping[str, Any]) -> None:
    keys = list(dict.fromkeys(key for run in batch.runs for key in run.point))
    table = new_table(*(short_key(key, keys) for key in keys), "agent", "seeds", ">done already")
    rows: dict[tuple[str, ...], list[Any]] = {}
    for run in batch.runs:
        rows.setdefault((*map(str, run.point.values()), run.agent.label), []).append(run)
    for key, runs in rows.items():
        table.add_row(
            *map(escape, key), f"{runs[0].seed}..{runs[-1].seed}", str(sum(run.name in known for run in runs))
        )
    out.print(table)
    print_line(f"{many_of(len(batch.runs), 'run')}, {len(known)} of them done already, into {batch.folder}")


def _say_doubts(scenario: Scenario, folder: Path) -> None:
    """Say what is odd about a scenario that can be run."""
    from binwright.scenarios.run.check import below_fitted, impossible_of, overlap_of, running_at_start

    warn_of(overlap_of(scenario))
    if running := running_at_start(scenario, folder):
        print_line(running)
    warn_of(impossible_of(scenario, folder))
    warn_of_scenario(scenario, folder)
    warn_of(below_fitted(scenario))


def warn_of_scenario(scenario: Scenario, folder: Path) -> None:
    """Warn of keys without effect, of names that no request has, and of what is not modelled."""
    from binwright.scenarios.run.check import doubts_of, unknown_names, without_requested

    for doubt in doubts_of(scenario):
        warn_of(doubt)
    warn_of(without_requested(scenario, folder))
    _warn_each(unknown_names(scenario, folder))


def _warn_each(doubts: Sequence[str]) -> None:
    """Warn of the first SHOWN of them."""
    for doubt in doubts[:SHOWN]:
        warn_of(doubt)
    if more := len(doubts) - SHOWN:
        warn_of(f"{more} more of the kind." if more > 0 else "")


def warn_of(what: object) -> None:
    """Print a doubt, if there is one."""
    if what:
        out.print(f"[yellow]Warning:[/] {escape(str(what))}", highlight=False)


def _warn(results: Results) -> None:
    from binwright.analysis.measure.condition import outside_of
    from binwright.analysis.measure.overlap import overlap_of

    warn_of(overlap_of(results.runs, results.swept))
    warn_of(outside_of(results.runs, results.swept))
    done = results.done
    if "running_lost" in done.columns and (lost := int(done["running_lost"].sum() or 0)):
        share = lost / int(done["running"].sum())
        warn_of(
            f"the cluster cannot hold what runs already at the start: {share:.2%} of these requests got no place "
            "there, or only later (metric `running_lost`), and later ones may wait behind them. Give it more servers, "
            "or leave them out: `workload: {running: drop}`."
        )
    if "missing_groups" in done.columns:
        said = done["missing_groups"].drop_nulls()
        runs = f"{len(said)} of {len(done)} runs"
        warn_of(f"rules of placement name groups that no request has, in {runs}: {'; '.join(said.unique().sort())}")
    warn_of_growth(done)
    if "unscored" in done.columns:
        first = done.filter(pl.col("unscored").is_not_null()).row(0, named=True)
        warn_of(f"{first['agent']}, seed {first['seed']}: {first['unscored']}, which was refused for that.")
    if "too_late" in done.columns:
        said = done["too_late"].drop_nulls()
        late = list(dict.fromkeys(what for each in said.unique().sort() for what in each.split(", ")))
        warn_of(
            f"in {len(said)} of {len(done)} runs nothing came of {', '.join(late)}: the last request had its answer "
            "before. Times count from the first request on."
        )
    impossible = int(done["impossible"].sum()) if len(done) else 0
    if impossible:
        share = impossible / int(done["offered"].sum())
        why = "are larger than any server"
        if "missing_models" in done.columns:
            models = sorted({name for names in done["missing_models"].drop_nulls() for name in names.split(", ")})
            why += f", or ask for models of devices that no server has ({', '.join(models)})"
        warn_of(f"{share:.2%} of the requests {why}: no agent was asked (metric `impossible`).")


def warn_of_growth(done: pl.DataFrame) -> None:
    """Warn of runs whose load grows: what comes before its end hides what is then."""
    from binwright.workloads.describe import EVEN

    if "growing" in done.columns:
        said = done.filter(pl.col("growing").is_not_null())
        first = said.row(-1, named=True)
        warn_of(
            f"the load grows over the run, in {len(said)} of {len(done)} runs: {first['growing']} "
            f"({first['agent']}, seed {first['seed']}). {EVEN}"
        )


def list_failed(results: Results) -> None:
    """Say why runs failed, every reason once with how many runs had it, up to SHOWN; errors.txt has each in full."""
    failed, file = results.failed, results.folder / "errors.txt"
    if not len(failed):
        file.unlink(missing_ok=True)
        return
    out.print(f"[red]{many_of(len(failed), 'run')} failed:[/]")
    alike: dict[str, list[dict[str, Any]]] = {}
    full = ""
    for row in failed.iter_rows(named=True):
        point = "".join(f", {key} {as_written(row[key])}" for key in results.swept)
        full += f"{row['agent']}, seed {row['seed']}{point}\n{row['error'].strip()}\n\n"
        said = _REQUEST.sub("", row["error"].strip().splitlines()[-1])
        alike.setdefault(without_numbers(said), []).append(row)
    for rows in list(alike.values())[:SHOWN]:
        first = rows[0]
        point = "".join(f", {key} {as_written(first[key])}" for key in results.swept)
        more = f", and {many_of(len(rows) - 1, 'run')} more" if len(rows) > 1 else ""
        said = f"{first['agent']}, seed {first['seed']}{point}{more}: {first['error'].strip()}"
        print_line(said)
    if others := sum(map(len, list(alike.values())[SHOWN:])):
        print_line(f"... and {many_of(others, 'run')} more, for other reasons.")
    write_text(file, full)
    print_line(f"{file} says why in full; the same command tries them again.")


def _say_where(results: Results) -> None:
    print_location(f"Results: {results.folder}/runs.parquet")
    if results.done["agent"].n_unique() > 1:
        from binwright.analysis.figures.draw import summary  # matplotlib takes a third of a second

        if figure := summary(results):
            print_location(f"Figure:  {figure}")


def validate(args: Namespace) -> int:
    """`binwright validate FILE...`: every file is looked at, whatever is wrong with the others."""
    from binwright.scenarios.learn.sweeping import check_sweep
    from binwright.scenarios.run.check import check_scenario, missing_files
    from binwright.scenarios.schema.load import default_folder, load_to_run

    wrong = False
    for file in args.files:
        mistakes: list[UserError] = []
        missing: list[UserError] = []
        runs, unseen = 0, False
        try:
            scenario = load_to_run(file, args.sets)
        except UserError as error:
            mistakes += error.each()
            unseen = True
        else:
            try:
                runs = check_scenario(scenario, default_folder(scenario))
                missing = missing_files(scenario)
            except UserError as error:
                mistakes += error.each()
            try:
                check_sweep(scenario)
            except UserError as error:
                mistakes += error.each()
        wrong = wrong or bool(mistakes or missing)
        for mistake in mistakes:
            out.print(f"[red]wrong[/]  {escape(mistake.said())}", highlight=False, soft_wrap=True)
        if unseen:
            print_line(NOT_LOOKED_AT)
        for mistake in missing:
            out.print(f"[red]cannot run: trace missing[/]  {escape(mistake.said())}", highlight=False, soft_wrap=True)
        if not mistakes and not missing:
            out.print(f"[green]valid[/]  {escape(file)}: {many_of(runs, 'run')}", highlight=False, soft_wrap=True)
            _say_doubts(scenario, default_folder(scenario))
    return MISTAKE if wrong else 0
