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
    """Answer `binwright run FILE...`."""
    from binwright.analysis.compare.table import site_table
    from binwright.scenarios.batch.backends import checked_jobs
    from binwright.scenarios.batch.batch import run_batches
    from binwright.simcore.cores import usable_cpus

    checked_jobs(args.jobs)
    batches = _batches(args)
    if args.dry_run:
        return _dry_run(batches, args.jobs or usable_cpus(), args.fresh)
    for batch in batches:
        if count := batch.damaged():
            many = ("line", "is damaged: its run is") if count == 1 else ("lines", "are damaged: their runs are")
            note(f"{count} {many[0]} of {batch.folder / 'journal.jsonl'} {many[1]} repeated.")
    done = 0 if args.fresh else sum(len(batch.done()) for batch in batches)
    with Live(sum(len(batch.runs) for batch in batches), done, args.jobs or usable_cpus()) as live:
        how = {"fresh": args.fresh, "jobs": args.jobs, "on": args.on}
        found = run_batches(batches, **how, finished=live, on_progress=live.on_progress, anew=live.anew)
    for batch, results in zip(batches, found, strict=True):
        if len(batches) > 1:
            out.rule(escape(batch.scenario.name))
        if len(results.done):
            out.print(results.table().rich(out.width))
            if sites := site_table(results):
                out.print(sites.terminal(out.width))
        _note_others(batch)
        _warn(results)
        warn_of_scenario(batch.scenario)
        list_failed(results)
        print_location(f"Results: {results.folder}/runs.parquet")
        if results.done["agent"].n_unique() > 1:
            from binwright.analysis.figures.kind import summary  # matplotlib takes a third of a second

            if figure := summary(results):
                print_location(f"Figure:  {figure}")
    return FAILED if any(len(results.failed) for results in found) else 0


def _note_others(batch: Batch) -> None:
    """Say what finished in this folder and is in no table any more, and where to find what agents printed."""
    _, outdated = batch.others()
    if outdated:
        note(
            f"Hidden: {many_of(outdated, 'run')} of an earlier version of the scenario, an agent or Binwright, kept in "
            f"{batch.folder / 'journal.jsonl'}. --out gives this version its own folder."
        )
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
        if batches.setdefault(batch.folder.absolute(), batch) is not batch:
            raise UserError(
                "two scenarios have the same name, and would share one folder of results",
                file=file,
                key="name",
                value=scenario.name,
                remedy="Give one of them another `name:`, or run them one after the other with --out.",
            )
    return list(batches.values())


def _dry_run(batches: list[Batch], jobs: int, fresh: bool) -> int:
    from binwright.scenarios.batch.estimate import estimate
    from binwright.scenarios.run.check import check_scenario

    seconds, probes, more = 0.0, 0, False
    for batch in batches:
        known = {} if fresh else batch.done()
        check_scenario(batch.scenario)
        _plan(batch, known)
        _say_doubts(batch.scenario)
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
        seeds = f"{runs[0].seed}..{runs[-1].seed}"
        table.add_row(*map(escape, key), seeds, str(sum(run.name in known for run in runs)))
    out.print(table)
    print_line(f"{many_of(len(batch.runs), 'run')}, {len(known)} of them done already, into {batch.folder}")


def _say_doubts(scenario: Scenario) -> None:
    """Say what is odd about a scenario that can be run."""
    from binwright.scenarios.run.check import below_fitted, impossible_of, running_at_start

    if running := running_at_start(scenario):
        print_line(running)
    warn_of(impossible_of(scenario))
    warn_of_scenario(scenario)
    warn_of(below_fitted(scenario))


def warn_of_scenario(scenario: Scenario) -> None:
    """Warn of keys without effect, of names that no request has, and of what is not modelled."""
    from binwright.scenarios.run.check import doubts_of, unknown_names, without_requested

    warn_of(*doubts_of(scenario), without_requested(scenario))
    names: Sequence[str] = unknown_names(scenario)
    warn_of(*names[:SHOWN], f"{len(names) - SHOWN} more of the kind." if len(names) > SHOWN else "")


def warn_of(*doubts: object) -> None:
    """Print each doubt that there is."""
    for doubt in filter(None, doubts):
        out.print(f"[yellow]Warning:[/] {escape(str(doubt))}", highlight=False)


def _warn(results: Results) -> None:
    """Warn of what makes results mean something else than it seems."""
    from binwright.analysis.measure.overlap import overlap_of

    done = results.done
    known = {name: done[name].drop_nulls() for name in ("missing_groups", "too_late") if name in done.columns}
    warn_of(overlap_of(results.runs, results.swept))
    if "running_lost" in done.columns and (lost := int(done["running_lost"].sum() or 0)):
        warn_of(
            "the cluster cannot hold what runs already at the start: "
            f"{lost:,} of these requests got no place there, or only later, in {len(done):,} runs (metric "
            "`running_lost`), and later ones may wait behind them. Give it more servers, or leave them out: "
            "`workload: {running: drop}`."
        )
    if "missing_groups" in known:
        said = known["missing_groups"]
        runs = f"{len(said)} of {len(done)} runs"
        warn_of(f"rules of placement name groups that no request has, in {runs}: {'; '.join(said.unique().sort())}")
    warn_of_growth(done)
    if "unscored" in done.columns:
        first = done.filter(pl.col("unscored").is_not_null()).row(0, named=True)
        warn_of(f"{first['agent']}, seed {first['seed']}: {first['unscored']}, which was refused for that.")
    if "too_late" in known:
        said = known["too_late"]
        late = list(dict.fromkeys(what for each in said.unique().sort() for what in each.split(", ")))
        warn_of(
            f"in {len(said)} of {len(done)} runs nothing came of {', '.join(late)}: the last request had its answer "
            "before. Times count from the first request on."
        )
    if impossible := int(done["impossible"].sum()) if len(done) else 0:
        why = "are larger than any server"
        if "missing_models" in done.columns:
            models = sorted({name for names in done["missing_models"].drop_nulls() for name in names.split(", ")})
            why += f", or ask for models of devices that no server has ({', '.join(models)})"
        share = impossible / int(done["offered"].sum())
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
    alike: dict[str, list[str]] = {}
    full = ""
    for row in failed.iter_rows(named=True):
        error = row["error"].strip()
        which = f"{row['agent']}, seed {row['seed']}"
        which += "".join(f", {key} {as_written(row[key])}" for key in results.swept)
        full += f"{which}\n{error}\n\n"
        alike.setdefault(without_numbers(_REQUEST.sub("", error.splitlines()[-1])), []).append(f"{which}\n{error}")
    for runs in list(alike.values())[:SHOWN]:
        which, _, error = runs[0].partition("\n")
        more = f", and {many_of(len(runs) - 1, 'run')} more" if len(runs) > 1 else ""
        print_line(f"{which}{more}: {error}")
    if others := sum(map(len, list(alike.values())[SHOWN:])):
        print_line(f"... and {many_of(others, 'run')} more, for other reasons.")
    write_text(file, full)
    print_line(f"{file} says why in full; the same command tries them again.")


def validate(args: Namespace) -> int:
    """Answer `binwright validate FILE...`: every file is looked at, whatever is wrong with the others."""
    from binwright.scenarios.learn.sweeping import check_sweep
    from binwright.scenarios.run.check import check_scenario, missing_files
    from binwright.scenarios.schema.load import load_to_run

    def say(style: str, kind: str, what: str) -> None:
        out.print(f"[{style}]{kind}[/]  {escape(what)}", highlight=False, soft_wrap=True)

    wrong = False
    for file in args.files:
        mistakes: list[UserError] = []
        missing: list[UserError] = []
        runs, scenario = 0, None
        try:
            scenario = load_to_run(file, args.sets)
            runs = check_scenario(scenario)
            missing = missing_files(scenario)
        except UserError as error:
            mistakes += error.each()
        if scenario:
            try:
                check_sweep(scenario)
            except UserError as error:
                mistakes += error.each()
        wrong = wrong or bool(mistakes or missing)
        for mistake in mistakes:
            say("red", "wrong", mistake.said())
        if not scenario:
            print_line(NOT_LOOKED_AT)
        for mistake in missing:
            say("red", "cannot run: trace missing", mistake.said())
        if scenario and not mistakes and not missing:
            say("green", "valid", f"{file}: {many_of(runs, 'run')}")
            _say_doubts(scenario)
    return MISTAKE if wrong else 0
