"""Reproduce publications: run, compare, and keep what came of it."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from binwright.agents import AGENTS
from binwright.reproduction import PUBLICATIONS, claims
from binwright.reproduction.claims import Published, Row, Value, published
from binwright.reproduction.experiment import Experiment, Key, Publication, Size, publication
from binwright.reproduction.measures import Runs
from binwright.reproduction.pages import FIGURES, Picture, counted, page, pictures
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


@dataclass
class Prepared:
    """Holds an experiment that is ready to run: its batches, or what is in the way, by condition."""

    publication: Publication
    experiment: Experiment
    folder: Path
    size: Size
    batches: dict[str, Batch] = field(default_factory=dict)
    problems: dict[str, UserError] = field(default_factory=dict)
    runs: dict[str, Runs] = field(default_factory=dict)
    """What was run, by condition."""
    values: dict[Key, Value | str] = field(default_factory=dict)
    """What was measured or counted, or why it was not counted."""
    failed: int = 0
    seconds: float = 0.0
    """How long its runs took, one after the other, whenever that was."""

    def plan(self) -> None:
        """Plan the runs of every condition; nothing runs."""
        for name, condition in self.experiment.conditions.items():
            overrides = [
                *condition.overrides,
                *(self.experiment.smallest if self.size == "smallest" else ()),
                f"agents=[{', '.join(dict.fromkeys(condition.agents.values()))}]",
                f"replications={self.experiment.seeds(name, self.size)}",
            ]
            folder = self.folder / name.replace(";", ",").replace(" ", "-").replace("%", "")
            try:
                scenario = load_to_run(self.experiment.scenario, overrides)
                check_extras(scenario)
                self.batches[name] = Batch(scenario, folder)
            except UserError as error:  # a trace that is not on this machine, for one
                self.problems[name] = error

    def run(self, jobs: int | None, finished: Finished) -> None:
        """Run what is missing, and read the values; `finished` is called with every finished run's row."""
        experiment, began = self.experiment, monotonic()
        try:
            if experiment.count is not None:
                self.values, self.seconds = dict(experiment.count(self.size)), monotonic() - began
                return
            batches = run_batches(list(self.batches.values()), jobs=jobs, finished=finished)
        except ResultsError:  # the disk is full, or the folder is taken
            raise
        except UserError as error:  # a library that is not installed, for one
            self.problems = dict.fromkeys(["", *experiment.conditions], error) | self.problems
            return
        for (name, batch), results in zip(self.batches.items(), batches, strict=True):
            self.failed += len(results.failed)
            self.seconds += float(results.runs["seconds"].sum())
            condition = experiment.conditions[name]
            specs = dict.fromkeys(condition.agents.values())
            ours = dict(zip(specs, (agent.label for agent in batch.scenario.agents), strict=True))
            labels = {agent: ours[spec] for agent, spec in condition.agents.items()}
            self.runs[name] = Runs(results, labels, claims.in_words(name, condition.stand_in), name)
        printed = (one for one in published(self.publication.name) if one.table in experiment.tables)
        for one in (*printed, *experiment.derived):
            runs = self.runs.get(experiment.condition_of(one))
            if runs is not None and len(runs.of(one.agent)):
                value = experiment.measures[one.metric](replace(runs, condition=one.condition), one.agent)
                if value.seeds:
                    self.values[one.condition, one.agent, one.metric] = value

    def row(self, one: Published) -> Row:
        """Set a published value beside what was measured."""
        experiment, ours = self.experiment, self.values.get((one.condition, one.agent, one.metric))
        quick, stand_in, name = self.size != "full" and experiment.quicker, "", ""
        if experiment.count is None:
            name = experiment.condition_of(one)
            quick = experiment.seeds(name, self.size) < experiment.seeds(name, "full")
            stand_in = experiment.conditions[name].stand_in
        error = self.problems.get(name)
        about: dict[str, Any] = {"experiment": experiment.name, "deviates": experiment.deviates, "stand_in": stand_in}
        why = experiment.note_on("incomparable", one)
        if not isinstance(ours, Value):
            failed = f"No value came of its runs, of which {self.failed} failed."
            nothing = failed if self.failed else "Our runs give no such value."
            return Row.of(one, why=why or ours or (nothing if error is None else _sentence(error)), **about)
        if why or one.value is None:
            return Row.of(one, ours, why=why, quick=quick, **about)
        own = self.publication.own(one.agent)
        verdict, why = claims.judge(one.value, one.spread, ours, experiment.better(one), experiment.tolerance, own=own)
        remark = experiment.note_on("remark", one)
        known = (experiment.note_on("explained", one) or remark) if verdict in claims.MISSES else ""
        why = f"{why} {remark}".rstrip()
        return Row.of(one, ours, verdict=str(verdict), why=why, explained=known, quick=quick, **about)


def _sentence(error: UserError) -> str:
    """Write a mistake with its remedy as sentences of a table, without the folders of this machine."""
    about = "" if error.value is None else f" (got {error.value!r})"
    return " ".join(f"It cannot be run here: {error.problem.partition(':')[0]}{about}. {error.remedy}".split())


class Reproduction:
    """Publications: their experiments, planned when it is made, and after `run` what came of them."""

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
        self.size, self.folder, self._weights = size, Path(out or FOLDER), weights
        self.publications = [publication(name, None if weights is None else Path(weights)) for name in self.names]
        self.prepared = [
            Prepared(whole, experiment, self.folder / whole.name / experiment.name, size)
            for whole in self.publications
            for experiment in whole.experiments
        ]
        for one in self.prepared:
            one.plan()
        self.listed: list[Row] = []
        self.pictures: dict[str, list[Picture]] = {}
        """The figures by publication."""

    def run(self, jobs: int | None = None, finished: Finished = lambda row: None) -> Reproduction:
        """Run what is missing, compare, and draw; returns itself."""
        for one in self.prepared:
            one.run(jobs, finished)
        self.listed = []
        for whole in self.publications:
            rows, material = self.compared(whole), dict[tuple[str, str], Runs | UserError]()
            for one in self._of(whole):
                problems = {name: ResultsError(_sentence(error), remedy="") for name, error in one.problems.items()}
                material |= {(one.experiment.name, name): each for name, each in (problems | one.runs).items()}
            self.listed += rows
            self.pictures[whole.name] = [*pictures(whole, rows, material)]
        return self

    def _of(self, whole: Publication) -> list[Prepared]:
        return [one for one in self.prepared if one.publication is whole]

    def compared(self, whole: Publication) -> list[Row]:
        """Set every published value of a publication beside ours, and give the verdicts."""
        answering = {table: one for one in self._of(whole) for table in one.experiment.tables}
        derived = [one for each in self._of(whole) for one in each.experiment.derived]
        return [
            answering[one.table].row(one) if one.table in answering else Row.of(one, why=whole.unanswered(one))
            for one in (*published(whole.name), *derived)
        ]

    @property
    def rows(self) -> pl.DataFrame:
        """Make a table with a row for every published value, misses first."""
        return claims.frame_of(self.listed)

    def _outcome(self, whole: Publication) -> tuple[list[Row], list[Picture]]:
        """Select the rows and the figures of one publication."""
        return [one for one in self.listed if one.publication == whole.name], self.pictures.get(whole.name, [])

    def text(self) -> str:
        """Count for each publication what was reproduced."""
        return "\n".join(f"{one.title}: {counted(self._outcome(one)[0])}" for one in self.publications)

    def _made(self, whole: Publication) -> str:
        """Say how the values of a publication were made, in sentences."""
        called = "all" if set(self.names) == set(PUBLICATIONS) else " ".join(self.names)
        called += " --weights FOLDER" * (self._weights is not None) + " --quick" * (self.size == "quick")
        minutes = sum(one.seconds for one in self._of(whole)) / 60
        return (
            f"Written by `binwright reproduce {called}` on {datetime.now(UTC):%Y-%m-%d}; "
            f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores; its runs took {minutes:.1f} minutes "
            "one after the other. Intervals are 95 % over the seeds."
        )

    def write(self, folder: str | Path) -> list[Path]:
        """Write every value of a publication into `reproduction-NAME.csv`, and its tables into `reproduction-NAME.md`.

        Returns the paths in `folder`; figures go into a folder `figures` beside them.
        """
        folder, files = Path(folder), dict[Path, str]()
        for whole in self.publications:
            rows, drawn = self._outcome(whole)
            files[folder / f"reproduction-{whole.name}.csv"] = claims.frame_of(rows).write_csv()
            files[folder / f"reproduction-{whole.name}.md"] = page(whole, rows, drawn, self._made(whole))
            for picture in drawn:
                if picture.file:
                    write_bytes(folder / FIGURES / picture.file, picture.content)
        for file, content in files.items():
            write_text(file, content)
        return list(files)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({counted(self.listed)})"


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
