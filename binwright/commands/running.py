"""`run` and `validate`: what concerns scenarios."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from binwright.cli import FAILED, MISTAKE
from binwright.commands.console import note, out, print_line, print_location, wrapped
from binwright.commands.progress import Live
from binwright.simcore.errors import UserError
from binwright.simcore.extras import pl
from binwright.simcore.files import write_text
from binwright.simcore.units import many_of

if TYPE_CHECKING:
    from binwright.analysis.results_api import Results
    from binwright.scenarios.batch.batch import Batch
    from binwright.scenarios.schema.scenario import Scenario

SHOWN = 20
"""Reasons of failed runs that are listed at the end."""


def run(args: Namespace) -> int:
    """Answer `binwright run FILE...`."""
    from binwright.api import as_overrides
    from binwright.scenarios.batch.batch import Batch
    from binwright.scenarios.run.check import check_scenario
    from binwright.scenarios.schema.load import folder_for, load_to_run

    overrides = as_overrides(args.sets, args.agents, args.seeds)
    batches: dict[Path, Batch] = {}
    for file in args.files:
        scenario = load_to_run(file, overrides)
        folder = Path(args.out) / scenario.name if len(args.files) > 1 and args.out else args.out
        batch = Batch(scenario, folder_for(scenario, folder))
        if batches.setdefault(batch.folder.absolute(), batch) is not batch:
            remedy = "Give one of them another `name:`, or run them one after the other with --out."
            raise UserError("two scenarios have this name", file=file, key="name", value=scenario.name, remedy=remedy)
    for batch in batches.values() if len(batches) > 1 and not args.dry_run else ():
        check_scenario(batch.scenario)  # a mistake in the last is found before the first runs
    codes = []
    for batch in batches.values():
        if len(batches) > 1:
            out.rule(escape(batch.scenario.name))
        codes.append(_dry_run(batch, args.fresh) if args.dry_run else _run(batch, args))
    return max(codes)


def _run(batch: Batch, args: Namespace) -> int:
    """Run a batch, and print its table and what there is to know of it."""
    if count := batch.journal()[1]:
        note(f"{batch.folder / 'journal.jsonl'}: {many_of(count, 'damaged line')}; these runs are repeated.")
    done = {} if args.fresh else batch.done()
    with Live(len(batch.runs), len(done)) as live:
        results = batch.run(done=done, jobs=args.jobs, on=args.on, finished=live)
    if len(results.done):
        out.print(results.table().rich(out.width))
    _warn(results)
    warn_of_scenario(batch.scenario)
    list_failed(results)
    print_location(f"Results: {results.folder}/runs.parquet")
    if results.done["agent"].n_unique() > 1:
        from binwright.analysis.figures.kind import summary  # matplotlib takes a third of a second

        if figure := summary(results):
            print_location(f"Figure:  {figure}")
    return FAILED if len(results.failed) else 0


def _dry_run(batch: Batch, fresh: bool) -> int:
    from binwright.scenarios.run.check import check_scenario

    known, doubts = {} if fresh else batch.done(), list[str]()
    check_scenario(batch.scenario, doubts=doubts)
    done = f"{len(known)} of them done already, into {batch.folder}"
    print_line(f"{batch.scenario.name}: {many_of(len(batch.runs), 'run')}, {done}")
    warn_of_scenario(batch.scenario, *doubts)
    return 0


def warn_of_scenario(scenario: Scenario, *doubts: str) -> None:
    """Warn of agents without effect, of names that no request has, and of these `doubts`."""
    from binwright.scenarios.run.check import unknown_names, unordered

    warn_of(unordered(scenario), *unknown_names(scenario), *doubts)


def warn_of(*doubts: object) -> None:
    """Print each doubt that there is."""
    for doubt in filter(None, doubts):
        out.print(f"[yellow]Warning:[/] {escape(str(doubt))}", highlight=False)


def _warn(results: Results) -> None:
    """Warn of what makes results mean something else than it seems."""
    from binwright.analysis.compare.statistics import overlap_of

    done = results.done
    warn_of(overlap_of(results.runs, results.swept))
    if "running_lost" in done.columns and (lost := int(done["running_lost"].sum() or 0)):
        warn_of(
            "the cluster cannot hold what runs already at the start: "
            f"{lost:,} of these requests got no place there, or only later, in {len(done):,} runs (metric "
            "`running_lost`). Give it more servers, or leave them out: `workload: {running: drop}`."
        )
    if "unscored" in done.columns:
        warned = done.filter(pl.col("unscored").is_not_null())
        last = warned.row(-1, named=True)
        why = f"{last['unscored']} ({last['agent']}, seed {last['seed']})"
        warn_of(f"requests were refused for a score that is no number, in {len(warned)} of {len(done)} runs: {why}.")
    if impossible := int(done["impossible"].sum()) if len(done) else 0:
        models = sorted(done["missing_models"].drop_nulls().unique()) if "missing_models" in done.columns else []
        why = "are larger than any server" + f", or ask for models that it lacks ({', '.join(models)})" * bool(models)
        share = impossible / int(done["offered"].sum())
        warn_of(f"{100 * share:.2f} % of the requests {why}: no agent was asked (metric `impossible`).")


def list_failed(results: Results) -> None:
    """Say why runs failed, every reason once with how many runs had it, up to SHOWN; errors.txt has each in full."""
    file = results.folder / "errors.txt"
    if not len(results.failed):
        file.unlink(missing_ok=True)
        return
    out.print(f"[red]{many_of(len(results.failed), 'run')} failed:[/]")
    failures = results.failures
    for runs in failures[:SHOWN]:
        name, error = runs[0]
        more = f", and {many_of(len(runs) - 1, 'run')} more" if len(runs) > 1 else ""
        print_line(f"{name}{more}: {error}")
    if others := sum(map(len, failures[SHOWN:])):
        print_line(f"... and {many_of(others, 'run')} more, for other reasons.")
    write_text(file, "\n".join(f"{name}\n{error}\n" for runs in failures for name, error in runs))
    print_line(f"{file} says why in full; the same command tries them again.")


def validate(args: Namespace) -> int:
    """Answer `binwright validate FILE...`: every file is looked at, whatever is wrong with the others."""
    from binwright.scenarios.learn.training import check_training
    from binwright.scenarios.run.check import check_scenario
    from binwright.scenarios.schema.load import load_to_run

    def say(style: str, kind: str, what: str) -> None:
        lines = wrapped(f"{kind}  {what}", sys.stdout).removeprefix(kind)
        out.print(f"[{style}]{kind}[/]{escape(lines)}", highlight=False, soft_wrap=True)

    wrong = False
    for file in args.files:
        mistakes: list[UserError] = []
        missing: list[UserError] = []
        doubts: list[str] = []
        scenario = None
        try:
            scenario = load_to_run(file, args.sets)
            runs = check_scenario(scenario, missing, doubts)
            check_training(scenario)
        except UserError as error:
            mistakes = error.each()
        for mistake in mistakes:
            say("red", "wrong", mistake.in_words())
        for mistake in missing:
            say("red", "cannot run: trace missing", mistake.in_words())
        if not scenario:
            print_line("Fix these first; other checks follow.")
        elif not mistakes and not missing:
            say("green", "valid", f"{file}: {many_of(runs, 'run')}")
            warn_of_scenario(scenario, *doubts)
        wrong = wrong or bool(mistakes or missing)
    return MISTAKE if wrong else 0
