"""Reproduce publications: run, compare, and keep what came of it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from binwright.agents import AGENTS
from binwright.reproduction import PUBLICATIONS, claims
from binwright.reproduction.claims import Published, Row, Value
from binwright.reproduction.experiment import Experiment, Key, Publication, note_on, publication
from binwright.reproduction.measures import Runs
from binwright.reproduction.pages import FIGURES, Picture, Place, counted, page, pictures
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import load_to_run
from binwright.simcore.errors import ResultsError, UserError
from binwright.simcore.extras import need, pl
from binwright.simcore.files import write_bytes, write_text

FOLDER = Path("results") / "reproduce"
Finished = Callable[[dict[str, Any]], None]


class Reproduced:
    """A publication: its runs, planned when it is made, and after `run` what came of them."""

    def __init__(self, whole: Publication, folder: Path, quick: bool) -> None:
        self.whole, self.quick = whole, quick
        self.batches: dict[Place, Batch] = {}
        """What is to be run."""
        self.problems: dict[Place, UserError] = {}
        """What is in the way of a condition, or of all of an experiment, which has no name then."""
        self.runs: dict[Place, Runs] = {}
        self.values: dict[Key, Value] = {}
        """What was measured or counted."""
        self.rows: list[Row] = []
        self.pictures: list[Picture] = []
        self.failed = 0  # runs
        for experiment in whole.experiments:
            for name, condition in experiment.conditions.items():
                agents = f"agents=[{', '.join(dict.fromkeys(condition.agents.values()))}]"
                seeds = f"replications={min(condition.seeds, condition.quick) if quick else condition.seeds}"
                try:
                    scenario = load_to_run(experiment.scenario, [*condition.overrides, agents, seeds])
                    for agent in scenario.agents:
                        for extra, module in (("learned", "safetensors"), ("solver", "lark")):
                            if f".agents.{extra}." in AGENTS.home(agent.name):
                                need(module, extra, what=agent.name)
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
                    self.values |= experiment.count(self.quick)
                else:
                    self._measure(experiment, jobs, finished)
            except ResultsError:  # the disk is full, or the folder is taken
                raise
            except UserError as error:  # a library that is not installed, for one
                self.problems[experiment.name, ""] = error
        self.rows = [self.row(each) for each in self.whole.values]
        self.pictures = [*pictures(self.whole, self.runs)]

    def _measure(self, experiment: Experiment, jobs: int | None, finished: Finished) -> None:
        """Run the conditions of an experiment, and read the values."""
        batches = {name: batch for (of, name), batch in self.batches.items() if of == experiment.name}
        for name, batch in batches.items():
            results = batch.run(jobs=jobs, finished=finished)
            self.failed += len(results.failed)
            condition = experiment.conditions[name]
            specs = dict.fromkeys(condition.agents.values())
            ours = dict(zip(specs, (agent.label for agent in batch.scenario.agents), strict=True))
            labels = {agent: ours[spec] for agent, spec in condition.agents.items()}
            self.runs[experiment.name, name] = Runs(results, labels, claims.in_words(name), name)
        for row in self.whole.values:
            runs = self.runs.get((experiment.name, experiment.condition_of(row)))
            measure = experiment.measures.get(row.metric) if row.table in experiment.tables else None
            if measure is not None and runs is not None and len(runs.of(row.agent)):
                value = measure(replace(runs, condition=row.condition), row.agent)
                if value.seeds:
                    self.values[row.condition, row.agent, row.metric] = value

    def row(self, value: Published) -> Row:
        """Set a published value beside what was measured, with the verdict."""
        ours = self.values.get((value.condition, value.agent, value.metric))
        experiment = next((each for each in self.whole.experiments if value.table in each.tables), None)
        if experiment is None:
            return Row(**vars(value), why=note_on(value, self.whole.notes, "incomparable"))
        name = experiment.condition_of(value)
        about: dict[str, Any] = {**vars(value), "deviates": experiment.deviates}
        why = note_on(value, experiment.notes, "incomparable")
        if ours is None:
            error = self.problems.get((experiment.name, name)) or self.problems.get((experiment.name, ""))
            failed = f", of which {self.failed} failed" if self.failed else ""
            nothing = f"No such value came of its runs{failed}."
            return Row(**about, why=why or (nothing if error is None else _sentence(error)))
        about |= {"ours": ours.mean, "low": ours.low, "high": ours.high, "seeds": ours.seeds}
        if name and not why and ours.low is None and ours.seeds < (seeds := experiment.conditions[name].seeds):
            why = f"It takes all {seeds} seeds, and these are {ours.seeds}."
        if why or value.value is None:
            return Row(**about, why=why)
        better: claims.Better = "lower" if value.metric in experiment.lower else "higher"
        own = value.agent in self.whole.own
        verdict, why = claims.judge(value.value, value.spread, ours, better, experiment.tolerance, own=own)
        remark = note_on(value, experiment.notes, "remark")
        known = (note_on(value, experiment.notes, "explained") or remark) if verdict in claims.MISSES else ""
        return Row(**about, verdict=str(verdict), why=f"{why} {remark}".rstrip(), explained=known)


def _sentence(error: UserError) -> str:
    """Write a mistake with its remedy as sentences of a table, without the folders of this machine."""
    about = "" if error.value is None else f" (got {error.value!r})"
    return " ".join(f"It cannot be run here: {error.problem.partition(':')[0]}{about}. {error.remedy}".split())


class Reproduction:
    """Publications, planned when it is made, and after `run` what came of them."""

    def __init__(
        self, names: Sequence[str], quick: bool = False, out: str | Path | None = None, tables: Collection[str] = ()
    ) -> None:
        names = [*dict.fromkeys(each for name in names for each in (PUBLICATIONS if name == "all" else (name,)))]
        self.folder = Path(out or FOLDER)
        every = ["all"] if set(names) == set(PUBLICATIONS) else names
        self.command = shlex.join([*every, *(f"--table={table}" for table in tables), *["--quick"] * quick])
        self.publications = [Reproduced(publication(name).part(tables), self.folder, quick) for name in names]

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
        is_quick = any(each.quick for each in self.publications)
        few = "Values may be of fewer seeds, or of less time, than the whole experiment. " * is_quick
        made = f"Written by `binwright reproduce {self.command}` on {datetime.now(UTC):%Y-%m-%d}. {few}"
        made += "Intervals are 95 % over the seeds."
        for each in self.publications:
            files[folder / f"reproduction-{each.whole.name}.csv"] = claims.frame_of(each.rows).write_csv()
            files[folder / f"reproduction-{each.whole.name}.md"] = page(each.whole, each.rows, each.pictures, made)
            for picture in each.pictures:
                if picture.file:
                    write_bytes(folder / FIGURES / picture.file, picture.content)
        for file, content in files.items():
            write_text(file, content)
        return list(files)


def reproduce(
    name: str,
    *others: str,
    tables: Collection[str] = (),
    quick: bool = False,
    out: str | Path | None = None,
    jobs: int | None = None,
    finished: Finished = lambda row: None,
) -> Reproduction:
    """Run what publications ran, and compare every value: one or more of `binwright.reproduction.PUBLICATIONS`, or all.

    Of `tables`, as they are numbered, only what these need is run, and no figure is drawn. What `out` (default
    `results/reproduce`) has already is not run again. `quick` takes fewer seeds and less time. `jobs` runs at a time
    (default: one per CPU); `finished` is called with every finished run's row.
    """
    return Reproduction((name, *others), quick, out, tables).run(jobs, finished)
