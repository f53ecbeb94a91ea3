"""Reproduce publications: run, compare, and keep what came of it."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import blake2b
from inspect import getfile
from pathlib import Path
from time import monotonic
from typing import Any

from binwright.agents import AGENTS
from binwright.reproduction import PUBLICATIONS
from binwright.reproduction.claims import MISSES, Published, Row, Value, Verdict, frame_of, in_words, judge, published
from binwright.reproduction.experiment import Condition, Experiment, Key, Publication, Size, publication
from binwright.reproduction.figures import Material, Picture, pictures
from binwright.reproduction.measures import Runs
from binwright.reproduction.pages import FIGURES, counted, listed, page, tables, text
from binwright.scenarios.batch.batch import Batch, run_batches
from binwright.scenarios.build.code import ours
from binwright.scenarios.schema.load import load_to_run
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.errors import ResultsError, UserError
from binwright.simcore.extras import need, pl
from binwright.simcore.files import write_bytes, write_text

HAS_WEIGHTS = "nara"
"""The publication whose authors' weights may be given."""


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

    def labels(self, condition: str) -> dict[str, str]:
        """Map the published agents of a condition to the labels of ours."""
        asked, scenario = self.experiment.conditions[condition], self.batches[condition].scenario
        labels = dict(zip(specs(asked), (agent.label for agent in scenario.agents), strict=True))
        return {agent: labels[spec] for agent, spec in asked.agents.items()}


def prepare(names: Sequence[str], size: Size, out: str | Path, weights: str | Path | None = None) -> list[Prepared]:
    """Plan every experiment of some publications; nothing runs, and nothing is written.

    `weights` is a folder of published weights, which the one publication that is named then has rows of, too.
    """
    if weights is not None and list(names) != [HAS_WEIGHTS]:
        remedy = f"{HAS_WEIGHTS} has: name it alone, or leave the option out."
        raise UserError("is for a publication with published weights", key="--weights", remedy=remedy)
    found = []
    for name in names:
        whole = publication(name, None if weights is None else Path(weights))
        for experiment in whole.experiments:
            one = Prepared(whole, experiment, Path(out) / name / experiment.name, size)
            for condition in experiment.conditions:
                try:
                    one.batches[condition] = _planned(one, condition)
                except UserError as error:  # a trace that is not on this machine, for one
                    one.problems[condition] = error
            found.append(one)
    return found


def specs(asked: Condition) -> list[str]:
    """List our agents of a condition, each once."""
    return list(dict.fromkeys(asked.agents.values()))


def run(
    prepared: Prepared, jobs: int | None = None, finished: Callable[[dict[str, Any]], None] = lambda row: None
) -> None:
    """Run what is missing of an experiment, and read its values; `finished` is called with every finished run's row."""
    experiment = prepared.experiment
    if experiment.count is not None:
        prepared.values = _counted(prepared)
        return
    try:
        batches = run_batches(list(prepared.batches.values()), jobs=jobs, finished=finished)
    except ResultsError:  # the disk is full, or the folder is taken
        raise
    except UserError as error:  # a library that is not installed, for one
        prepared.problems = dict.fromkeys(experiment.conditions, error) | prepared.problems
        return
    for condition, results in zip(prepared.batches, batches, strict=True):
        prepared.failed += len(results.failed)
        prepared.seconds += float(results.runs["seconds"].sum())
        title = in_words(condition, experiment.conditions[condition].stand_in)
        prepared.runs[condition] = Runs(results, prepared.labels(condition), title, condition)
    for one in _asked(prepared):
        runs = prepared.runs.get(experiment.condition_of(one))
        if runs is not None and len(runs.of(one.agent)):
            value = experiment.measures[one.metric](replace(runs, condition=one.condition), one.agent)
            if value.seeds:
                prepared.values[one.condition, one.agent, one.metric] = value


def compared(whole: Publication, prepared: Sequence[Prepared]) -> list[Row]:
    """Set every published value of a publication beside ours, and give the verdicts."""
    answering = {table: each for each in prepared for table in each.experiment.tables}
    derived = [one for each in prepared for one in each.experiment.derived]
    found = []
    for one in (*published(whole.name), *derived):
        if each := answering.get(one.table):
            found.append(_beside(one, each, whole.own(one.agent)))
        else:
            found.append(row(one, None, why=whole.unanswered(one)))
    return found


def row(
    one: Published,
    ours: Value | None,
    *,
    why: str = "",
    experiment: Experiment | None = None,
    quick: bool = False,
    stand_in: str = "",
    own: bool = True,
) -> Row:
    """Make the row of a published value. Where `why` says that it cannot be compared, there is no other verdict.

    `own` says whether its agent is of our own making.
    """
    verdict, value, about, known = Verdict.INCOMPARABLE, one.value, ("", ""), ""
    if experiment is not None:
        about = experiment.name, experiment.deviates
        if not why and ours is not None and value is not None:
            verdict, why = judge(value, one.spread, ours, experiment.better(one), experiment.tolerance, own=own)
            remark = experiment.note_on("remark", one)
            why = f"{why} {remark}".rstrip()
            known = (experiment.note_on("explained", one) or remark) if verdict in MISSES else ""
    mean, low, high, seeds = ours or (None, None, None, 0)
    where = (one.publication, one.table, one.condition, one.agent, one.metric, value, one.spread)
    quick = quick and ours is not None
    return Row(*where, mean, low, high, seeds, str(verdict), why, quick, one.printed, *about, stand_in, known)


def material(prepared: Sequence[Prepared]) -> Material:
    """Gather what the figures of a publication are drawn from."""
    runs: dict[tuple[str, str], Runs | str] = {}
    for one in prepared:
        runs |= {(one.experiment.name, condition): _sentence(error) for condition, error in one.problems.items()}
        runs |= {(one.experiment.name, condition): found for condition, found in one.runs.items()}
    return runs


def _planned(prepared: Prepared, condition: str) -> Batch:
    """Plan the runs of one condition."""
    experiment, size = prepared.experiment, prepared.size
    asked = experiment.conditions[condition]
    overrides = [
        *asked.overrides,
        *(experiment.smallest if size == "smallest" else ()),
        f"agents=[{', '.join(specs(asked))}]",
        f"replications={experiment.seeds(condition, size)}",
    ]
    scenario = load_to_run(experiment.scenario, overrides)
    check_extras(scenario)
    folder = prepared.folder / condition.replace(";", ",").replace(" ", "-").replace("%", "")
    return Batch(scenario, folder, alone=True)


def _asked(prepared: Prepared) -> list[Published]:
    """List the published values, and the derived ones, that an experiment answers."""
    experiment = prepared.experiment
    printed = [one for one in published(prepared.publication.name) if one.table in experiment.tables]
    return [*printed, *experiment.derived]


def _beside(one: Published, answering: Prepared, own: bool) -> Row:
    """Set a published value beside what an experiment has measured."""
    experiment, size = answering.experiment, answering.size
    ours = answering.values.get((one.condition, one.agent, one.metric))
    quick, stand_in, error = size != "full" and experiment.quicker, "", None
    if experiment.count is None:
        name = experiment.condition_of(one)
        quick = experiment.seeds(name, size) < experiment.seeds(name, "full")
        stand_in, error = experiment.conditions[name].stand_in, answering.problems.get(name)
    if isinstance(ours, Value):
        why = experiment.note_on("incomparable", one)
        return row(one, ours, why=why, experiment=experiment, quick=quick, stand_in=stand_in, own=own)
    failed = answering.failed
    nothing = f"No value came of its runs, of which {failed} failed." if failed else "Our runs give no such value."
    why = ours or (nothing if error is None else _sentence(error))
    return row(one, None, why=why, experiment=experiment, stand_in=stand_in)


def _counted(prepared: Prepared) -> dict[Key, Value | str]:
    """Count, unless the folder has what the same code counted before."""
    count, file = prepared.experiment.count, prepared.folder / "values.json"
    assert count is not None
    counting = Path(getfile(count)).read_bytes()  # it lies where code that shows results does
    made = {"code": ours(), "counting": blake2b(counting).hexdigest(), "size": prepared.size}
    try:
        kept = json.loads(file.read_text("utf-8"))
        if {key: kept[key] for key in made} == made:
            prepared.seconds = kept["seconds"]
            return {(*one,): value if isinstance(value, str) else Value(*value) for one, value in kept["values"]}
    except (OSError, ValueError, KeyError):
        pass
    started = monotonic()
    found = dict(count(prepared.size))
    prepared.seconds = monotonic() - started
    values = [[key, value] for key, value in found.items()]  # tuples become lists
    write_text(file, json.dumps({**made, "seconds": prepared.seconds, "values": values}))
    return found


def _sentence(error: UserError) -> str:
    """Write a mistake with its remedy as sentences of a table, without the folders of this machine."""
    about = "" if error.value is None else f" (got {error.value!r})"
    return " ".join(f"It cannot be run here: {error.problem.partition(':')[0]}{about}. {error.remedy}".split())


NEEDS = {"binwright.agents.learned": ("safetensors", "learned"), "binwright.agents.solver": ("lark", "solver")}
"""Of agents below a package: a module that they cannot do without, and the extra that has it."""


def check_extras(scenario: Scenario) -> None:
    """Refuse agents of which this machine lacks the extra; nothing is imported."""
    for agent in scenario.agents:
        for package, (module, extra) in NEEDS.items():
            if AGENTS.home(agent.name).startswith(f"{package}."):
                need(module, extra, what=agent.name)


FOLDER = Path("results") / "reproduce"


@dataclass(frozen=True)
class Reproduction:
    """Holds what publications print beside what came of our runs."""

    publications: tuple[Publication, ...]
    listed: tuple[Row, ...]
    made: Mapping[str, str]
    """How the values of each publication were made, in sentences."""
    pictures: tuple[Picture, ...] = ()

    @property
    def rows(self) -> pl.DataFrame:
        """Make a table with a row for every published value, misses first."""
        return frame_of(self.listed)

    def of(self, publication: Publication) -> tuple[list[Row], list[Picture]]:
        """Select the rows and the figures of one publication."""
        rows = [one for one in self.listed if one.publication == publication.name]
        return rows, [one for one in self.pictures if one.publication == publication.name]

    def text(self) -> str:
        """Write for a terminal what was not reproduced."""
        return "\n".join(text(one, *self.of(one)) for one in self.publications)

    def write(self, folder: str | Path, pages: str | Path | None = None) -> list[Path]:
        """Write every value into `folder`, a CSV for each publication, and its tables into `pages`; returns the paths.

        The CSV is called `reproduction-NAME.csv`. Tables go into the page in `pages` (default: `folder`) that has a
        line `<!-- binwright reproduce NAME -->`, or into `reproduction-NAME.md`; figures go into a folder `figures`
        beside it, and into that of `folder`.
        """
        folder, beside = Path(folder), Path(pages or folder)
        files: dict[Path, str] = {}
        for one in self.publications:
            rows, drawn = self.of(one)
            file, content = page(one, rows, drawn, self.made[one.name], beside)
            files |= {folder / listed(one): frame_of(rows).write_csv(), file: content}
        for file, content in files.items():
            write_text(file, content)
        for place in dict.fromkeys((folder / FIGURES, beside / FIGURES)):
            for picture in self.pictures:
                for kind in ("svg", "png"):  # also what was large, or could be drawn, when it was written before
                    if kind == picture.kind:
                        write_bytes(place / picture.file(kind), picture.content)
                    else:
                        (place / picture.file(kind)).unlink(missing_ok=True)
        return list(files)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({counted(self.listed)})"


def names_of(*names: str) -> tuple[str, ...]:
    """Take publications by their names, each once, or `all`; a name that is neither is a `UserError`."""
    found = [PUBLICATIONS if name == "all" else (publication(name).name,) for name in names]
    return tuple(dict.fromkeys(name for those in found for name in those))


def reproduce(
    name: str,
    *others: str,
    quick: bool = False,
    out: str | Path | None = None,
    jobs: int | None = None,
    finished: Callable[[dict[str, Any]], None] = lambda row: None,
    weights: str | Path | None = None,
) -> Reproduction:
    """Run what publications ran, and compare every value: one or more of `binwright.reproduction.PUBLICATIONS`, or all.

    What `out` (default `results/reproduce`) has already is not run again. `quick` takes fewer seeds and less time.
    `weights` is a folder of the weights that Nara's authors published, which then have rows of their own. `jobs` runs
    at a time (default: one per CPU); `finished` is called with every finished run's row.
    """
    names, size = names_of(name, *others), size_of(quick)
    return completed(names, prepare(names, size, out or FOLDER, weights), size, jobs, finished)


def size_of(quick: bool) -> Size:
    """Choose how much is run."""
    return "quick" if quick else "full"


def completed(
    names: Sequence[str],
    prepared: Sequence[Prepared],
    size: Size,
    jobs: int | None,
    finished: Callable[[dict[str, Any]], None],
) -> Reproduction:
    """Run what was prepared, and compare."""
    for one in prepared:
        run(one, jobs, finished)
    planned = {one.publication.name: one.publication for one in prepared}
    whole = tuple(planned.get(name) or publication(name) for name in names)
    called = "all" if set(names) == set(PUBLICATIONS) else " ".join(names)
    called += " --weights FOLDER" if any(one.has_published_weights for one in whole) else ""
    command = f"binwright reproduce {called}{' --quick' if size == 'quick' else ''}"
    rows: list[Row] = []
    drawn: list[Picture] = []
    made = {}
    for asked in whole:
        own = [each for each in prepared if each.publication.name == asked.name]
        found = compared(asked, own)
        rows += found
        drawn += pictures(asked.name, (*tables(asked, found), *asked.figures), material(own))
        made[asked.name] = (
            f"Written by `{command}` on {datetime.now(UTC):%Y-%m-%d}; {platform.system()} {platform.machine()}, "
            f"{os.cpu_count()} cores; its runs took {sum(one.seconds for one in own) / 60:.1f} minutes one after the "
            "other. Intervals are 95 % over the seeds."
        )
    return Reproduction(whole, tuple(rows), made, tuple(drawn))
