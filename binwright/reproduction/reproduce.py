"""Reproduce publications: run, compare, and keep what came of it."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from binwright.agents import AGENTS
from binwright.reproduction import PUBLICATIONS, claims
from binwright.reproduction.claims import Published, Row, Value
from binwright.reproduction.experiment import Experiment, Key, Publication, Size, note_on, publication
from binwright.reproduction.measures import Runs
from binwright.reproduction.pages import FIGURES, Picture, Place, counted, page, pictures
from binwright.scenarios.batch.batch import Batch, run_batches
from binwright.scenarios.schema.load import load_to_run
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.errors import ResultsError, UserError
from binwright.simcore.extras import need, pl
from binwright.simcore.files import write_bytes, write_text

FOLDER = Path("results") / "reproduce"
HAS_WEIGHTS = "nara"
"""The publication whose authors' weights may be given."""
Finished = Callable[[dict[str, Any]], None]
NEEDS = {"binwright.agents.learned": ("safetensors", "learned"), "binwright.agents.solver": ("lark", "solver")}
"""Of agents below a package: a module that they cannot do without, and the extra that has it."""


def check_extras(scenario: Scenario) -> None:
    """Refuse agents of which this machine lacks the extra; nothing is imported."""
    for agent in scenario.agents:
        for package, (module, extra) in NEEDS.items():
            if AGENTS.home(agent.name).startswith(f"{package}."):
                need(module, extra, what=agent.name)


class Reproduced:
    """A publication: its runs, planned when it is made, and after `run` what came of them."""

    def __init__(self, whole: Publication, size: Size, folder: Path) -> None:
        self.whole, self.size = whole, size
        self.batches: dict[Place, Batch] = {}
        """What is to be run."""
        self.problems: dict[Place, UserError] = {}
        """What is in the way of a condition, or of all of an experiment, which has no name then."""
        self.runs: dict[Place, Runs] = {}
        self.values: dict[Key, Value | str] = {}
        """What was measured or counted, or why it was not counted."""
        self.rows: list[Row] = []
        self.pictures: list[Picture] = []
        self.failed, self.seconds = 0, 0.0
        """Runs that failed, and how long all took, one after the other, whenever that was."""
        for experiment in whole.experiments:
            for name, condition in experiment.conditions.items():
                overrides = [
                    *condition.overrides,
                    *(experiment.smallest if size == "smallest" else ()),
                    f"agents=[{', '.join(dict.fromkeys(condition.agents.values()))}]",
                    f"replications={condition.repetitions(size)}",
                ]
                try:
                    scenario = load_to_run(experiment.scenario, overrides)
                    check_extras(scenario)
                    beneath = name.replace(";", ",").replace(" ", "-").replace("%", "")
                    batch = Batch(scenario, folder / whole.name / experiment.name / beneath)
                    self.batches[experiment.name, name] = batch
                except UserError as error:  # a trace that is not on this machine, for one
                    self.problems[experiment.name, name] = error

    def run(self, jobs: int | None, finished: Finished) -> None:
        """Run what is missing, compare, and draw; `finished` is called with every finished run's row."""
        for experiment in self.whole.experiments:
            try:
                if experiment.count is not None:
                    began = monotonic()
                    self.values |= experiment.count(self.size)
                    self.seconds += monotonic() - began
                else:
                    self._measure(experiment, jobs, finished)
            except ResultsError:  # the disk is full, or the folder is taken
                raise
            except UserError as error:  # a library that is not installed, for one
                places = [(experiment.name, name) for name in ("", *experiment.conditions)]
                self.problems = dict.fromkeys(places, error) | self.problems
        self.rows = [self.row(each) for each in self.whole.values]
        missing = {place: ResultsError(_sentence(error), remedy="") for place, error in self.problems.items()}
        self.pictures = [*pictures(self.whole, {**missing, **self.runs})]

    def _measure(self, experiment: Experiment, jobs: int | None, finished: Finished) -> None:
        """Run the conditions of an experiment, and read the values."""
        batches = {name: batch for (of, name), batch in self.batches.items() if of == experiment.name}
        every = run_batches(list(batches.values()), jobs=jobs, finished=finished)
        for (name, batch), results in zip(batches.items(), every, strict=True):
            self.failed += len(results.failed)
            self.seconds += float(results.runs["seconds"].sum())
            condition = experiment.conditions[name]
            specs = dict.fromkeys(condition.agents.values())
            ours = dict(zip(specs, (agent.label for agent in batch.scenario.agents), strict=True))
            labels = {agent: ours[spec] for agent, spec in condition.agents.items()}
            title = claims.in_words(name, condition.stand_in)
            self.runs[experiment.name, name] = Runs(results, labels, title, name)
        for row in self.whole.values:
            if row.table in experiment.tables:
                runs = self.runs.get((experiment.name, experiment.condition_of(row)))
                if runs is not None and len(runs.of(row.agent)):
                    value = experiment.measures[row.metric](replace(runs, condition=row.condition), row.agent)
                    if value.seeds:
                        self.values[row.condition, row.agent, row.metric] = value

    def row(self, value: Published) -> Row:
        """Set a published value beside what was measured, with the verdict."""
        experiment, ours = self.whole.answering(value), self.values.get((value.condition, value.agent, value.metric))
        if experiment is None:
            return Row.of(value, why=note_on(value, self.whole.notes, "incomparable"))
        quick, stand_in, name = self.size != "full" and experiment.quicker, "", ""
        if experiment.count is None:
            name = experiment.condition_of(value)
            condition = experiment.conditions[name]
            quick, stand_in = condition.repetitions(self.size) < condition.seeds, condition.stand_in
        error = self.problems.get((experiment.name, name))
        about: dict[str, Any] = {"experiment": experiment.name, "deviates": experiment.deviates, "stand_in": stand_in}
        why = note_on(value, experiment.notes, "incomparable")
        if not isinstance(ours, Value):
            failed = f"No value came of its runs, of which {self.failed} failed."
            nothing = failed if self.failed else "Our runs give no such value."
            return Row.of(value, why=why or ours or (nothing if error is None else _sentence(error)), **about)
        if why or value.value is None:
            return Row.of(value, ours, why=why, quick=quick, **about)
        better: claims.Better = "lower" if value.metric in experiment.lower else "higher"
        own = value.agent in self.whole.own
        verdict, why = claims.judge(value.value, value.spread, ours, better, experiment.tolerance, own=own)
        remark = note_on(value, experiment.notes, "remark")
        known = (note_on(value, experiment.notes, "explained") or remark) if verdict in claims.MISSES else ""
        why = f"{why} {remark}".rstrip()
        return Row.of(value, ours, verdict=str(verdict), why=why, explained=known, quick=quick, **about)


def _sentence(error: UserError) -> str:
    """Write a mistake with its remedy as sentences of a table, without the folders of this machine."""
    about = "" if error.value is None else f" (got {error.value!r})"
    return " ".join(f"It cannot be run here: {error.problem.partition(':')[0]}{about}. {error.remedy}".split())


class Reproduction:
    """Publications, planned when it is made, and after `run` what came of them."""

    def __init__(
        self,
        names: Sequence[str],
        size: Size = "full",
        out: str | Path | None = None,
        weights: str | Path | None = None,
    ) -> None:
        known = [PUBLICATIONS if name == "all" else (publication(name).name,) for name in names]
        self.names = tuple(dict.fromkeys(name for those in known for name in those))
        if weights is not None and self.names != (HAS_WEIGHTS,):
            remedy = f"{HAS_WEIGHTS} has: name it alone, or leave the option out."
            raise UserError("is for a publication with published weights", key="--weights", remedy=remedy)
        self.folder = Path(out or FOLDER)
        called = "all" if set(self.names) == set(PUBLICATIONS) else " ".join(self.names)
        self.command = called + " --weights FOLDER" * (weights is not None) + " --quick" * (size == "quick")
        wholes = [publication(name, None if weights is None else Path(weights)) for name in self.names]
        self.publications = [Reproduced(whole, size, self.folder) for whole in wholes]

    def run(self, jobs: int | None = None, finished: Finished = lambda row: None) -> Reproduction:
        """Run what is missing, compare, and draw; returns itself."""
        for each in self.publications:
            each.run(jobs, finished)
        return self

    @property
    def rows(self) -> pl.DataFrame:
        """Make a table with a row for every published value, misses first."""
        return claims.frame_of([row for each in self.publications for row in each.rows])

    def text(self) -> str:
        """Count for each publication what was reproduced."""
        return "\n".join(f"{each.whole.title}: {counted(each.rows)}" for each in self.publications)

    def write(self, folder: str | Path) -> list[Path]:
        """Write every value of a publication into `reproduction-NAME.csv`, and its tables into `reproduction-NAME.md`.

        Returns the paths in `folder`; figures go into a folder `figures` beside them.
        """
        folder, files = Path(folder), dict[Path, str]()
        for each in self.publications:
            made = (
                f"Written by `binwright reproduce {self.command}` on {datetime.now(UTC):%Y-%m-%d}; {platform.system()} "
                f"{platform.machine()}, {os.cpu_count()} cores; its runs took {each.seconds / 60:.1f} minutes one "
                "after the other. Intervals are 95 % over the seeds."
            )
            files[folder / f"reproduction-{each.whole.name}.csv"] = claims.frame_of(each.rows).write_csv()
            files[folder / f"reproduction-{each.whole.name}.md"] = page(each.whole, each.rows, each.pictures, made)
            for picture in each.pictures:
                if picture.file:
                    write_bytes(folder / FIGURES / picture.file, picture.content)
        for file, content in files.items():
            write_text(file, content)
        return list(files)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text()})"


def reproduce(
    name: str,
    *others: str,
    quick: bool = False,
    out: str | Path | None = None,
    jobs: int | None = None,
    finished: Finished = lambda row: None,
    weights: str | Path | None = None,
) -> Reproduction:
    """Run what publications ran, and compare every value: one or more of `binwright.reproduction.PUBLICATIONS`, or all.

    What `out` (default `results/reproduce`) has already is not run again. `quick` takes fewer seeds and less time.
    `weights` is a folder of the weights that Nara's authors published, which then have rows of their own. `jobs` runs
    at a time (default: one per CPU); `finished` is called with every finished run's row.
    """
    return Reproduction((name, *others), "quick" if quick else "full", out, weights).run(jobs, finished)
