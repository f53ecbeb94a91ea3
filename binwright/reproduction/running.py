"""Run what publications describe, and set our values beside theirs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from inspect import getfile
from pathlib import Path
from time import monotonic
from typing import Any

from agents import AGENTS
from binwright.reproduction.experiment import Count, Experiment, Key, Publication, Size, publication
from binwright.reproduction.figures import Material
from binwright.reproduction.measures import Runs
from binwright.reproduction.published import Published, in_words, published
from binwright.reproduction.rows import Row, row
from binwright.reproduction.verdict import Value
from scenarios.batch.batch import Batch, run_batches
from scenarios.build.code import ours
from scenarios.schema.load import load_to_run
from scenarios.schema.scenario import Scenario
from simcore.errors import ResultsError, UserError
from simcore.extras import need
from simcore.files import write_text

WEIGHED = "nara"
"""The publication whose authors' weights may be given."""


@dataclass
class Prepared:
    """Holds an experiment that is ready to run: its batches, or what is in the way, by condition."""

    publication: Publication
    experiment: Experiment | Count
    folder: Path
    size: Size
    batches: dict[str, Batch] = field(default_factory=dict)
    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    """Our agents' labels for published agents, by condition."""
    stand_ins: dict[str, str] = field(default_factory=dict)
    """What stand-ins were taken for, by condition: the key of the condition."""
    problems: dict[str, UserError] = field(default_factory=dict)
    runs: dict[str, Runs] = field(default_factory=dict)
    """What was run, by condition."""
    values: dict[Key, Value] = field(default_factory=dict)
    absent: dict[Key, str] = field(default_factory=dict)
    """Why values were not counted."""
    failed: int = 0
    seconds: float = 0.0
    """How long its runs took, one after the other, whenever that was."""


def prepare(names: Sequence[str], size: Size, out: str | Path, weights: str | Path | None = None) -> list[Prepared]:
    """Plan every experiment of some publications; nothing runs, and nothing is written.

    `weights` is a folder of published weights, which the one publication that is named then has rows of, too.
    """
    found = []
    for name in names:
        whole = publication(name)
        if weights is not None:
            if whole.weighed is None or len(names) > 1:
                remedy = f"{WEIGHED} has: name it alone, or leave the option out."
                raise UserError("is for a publication with published weights", key="--weights", remedy=remedy)
            whole = whole.weighed(Path(weights))
        for experiment in whole.experiments:
            one = Prepared(whole, experiment, Path(out) / name / experiment.name, size)
            if isinstance(experiment, Experiment):
                for condition in experiment.conditions:
                    same = experiment.sharing(condition)
                    if condition != same[0]:
                        continue
                    try:
                        _plan(one, experiment, condition)
                    except UserError as error:  # a trace that is not on this machine, for one
                        one.problems |= dict.fromkeys(same, error)
            found.append(one)
    return found


def run(
    prepared: Prepared, jobs: int | None = None, finished: Callable[[dict[str, Any]], None] = lambda row: None
) -> None:
    """Run what is missing of an experiment, and read its values; `finished` is called with every finished run's row."""
    experiment = prepared.experiment
    if isinstance(experiment, Count):
        found = _counted(prepared, experiment)
        prepared.values = {key: one for key, one in found.items() if isinstance(one, Value)}
        prepared.absent = {key: one for key, one in found.items() if isinstance(one, str)}
        return

    def counted(row: dict[str, Any]) -> None:
        prepared.seconds += row["seconds"] or 0.0
        finished(row)

    try:
        finished_batches = run_batches(list(prepared.batches.values()), jobs=jobs, finished=counted)
    except ResultsError:  # the disk is full, or the folder is taken
        raise
    except UserError as error:  # a library that is not installed, for one
        prepared.problems = dict.fromkeys(experiment.conditions, error) | prepared.problems
        return
    for first, results in zip(prepared.batches, finished_batches, strict=True):
        prepared.failed += len(results.failed)
        for condition in experiment.sharing(first):
            title = in_words(condition, prepared.stand_ins.get(first, ""))
            runs = prepared.runs[condition] = Runs(results, prepared.labels[first], title, condition)
            prepared.values |= _values(prepared.publication.name, experiment, condition, runs)


def compared(whole: Publication, prepared: Sequence[Prepared]) -> list[Row]:
    """Set every published value of a publication beside ours, and give the verdicts."""
    derived = [one for each in prepared for one in each.experiment.derived]
    found = []
    for one in (*published(whole.name), *derived):
        answering = next((each for each in prepared if each.experiment.answers(one)), None)
        if answering is None:
            found.append(row(one, None, why=whole.unanswered(one)))
            continue
        experiment = answering.experiment
        ours = answering.values.get((one.condition, one.agent, one.metric))
        why = experiment.incomparable(one) if ours is not None else _missing(answering, one)
        quick, stand_in = _is_quick(answering, one.condition), answering.stand_ins.get(one.condition, "")
        own = whole.own(one.agent)
        found.append(row(one, ours, why=why, experiment=experiment, quick=quick, stand_in=stand_in, own=own))
    return found


def material(prepared: Sequence[Prepared]) -> Material:
    """Gather what the figures of a publication are drawn from."""
    return Material(
        {(one.experiment.name, condition): runs for one in prepared for condition, runs in one.runs.items()},
        {key: value for one in prepared for key, value in one.values.items()},
        {(one.experiment.name, asked): _said(error) for one in prepared for asked, error in one.problems.items()},
    )


def _plan(prepared: Prepared, experiment: Experiment, condition: str) -> None:
    """Plan the runs of one condition."""
    asked = experiment.conditions[condition]
    specs = list(dict.fromkeys(asked.agents.values()))
    instead = asked.stand_in
    if instead is not None and instead.here():
        instead = None
    if instead is not None:
        prepared.stand_ins[condition] = instead.key
    overrides = [
        *asked.overrides,
        *(() if instead is None else instead.overrides),
        *(experiment.smallest if prepared.size == "smallest" else ()),
        f"agents=[{', '.join(specs)}]",
        f"replications={experiment.seeds(condition, prepared.size)}",
    ]
    scenario = load_to_run(experiment.scenario, overrides)
    check_extras(scenario)
    labels = dict(zip(specs, (agent.label for agent in scenario.agents), strict=True))
    folder = prepared.folder / (asked.runs or condition).replace(";", ",").replace(" ", "-").replace("%", "")
    prepared.batches[condition] = Batch(scenario, folder, alone=True)
    prepared.labels[condition] = {agent: labels[spec] for agent, spec in asked.agents.items()}


def _values(name: str, experiment: Experiment, condition: str, runs: Runs) -> dict[Key, Value]:
    """Read the values that published rows and derived ones ask for."""
    found = {}
    for one in (*published(name), *experiment.derived):
        if one.condition == condition and experiment.answers(one) and len(runs.of(one.agent)):
            value = experiment.metrics[one.metric].measure(runs, one.agent)
            if value.seeds:
                found[one.condition, one.agent, one.metric] = value
    return found


def _is_quick(prepared: Prepared, condition: str) -> bool:
    """Tell whether less was run than the whole experiment."""
    experiment = prepared.experiment
    if isinstance(experiment, Count):
        return prepared.size != "full" and experiment.quicker
    return experiment.seeds(condition, prepared.size) < experiment.seeds(condition, "full")


def _counted(prepared: Prepared, experiment: Count) -> dict[Key, Value | str]:
    """Count, unless the folder has what the same code counted before."""
    file = prepared.folder / "values.json"
    counting = Path(getfile(experiment.count)).read_bytes()  # it lies where code that shows results does
    made = {"code": ours(), "counting": blake2b(counting).hexdigest(), "size": prepared.size}
    try:
        kept = json.loads(file.read_text("utf-8"))
        if {key: kept[key] for key in made} == made:
            prepared.seconds = kept["seconds"]
            return {(*one,): value if isinstance(value, str) else Value(*value) for one, value in kept["values"]}
    except (OSError, ValueError, KeyError):
        pass
    started = monotonic()
    found = dict(experiment.count(prepared.size))
    prepared.seconds = monotonic() - started
    values = [[key, value] for key, value in found.items()]  # tuples become lists
    write_text(file, json.dumps({**made, "seconds": prepared.seconds, "values": values}))
    return found


def _missing(prepared: Prepared, one: Published) -> str:
    """Say why an experiment has no value for a published one."""
    error = prepared.problems.get(one.condition)
    if error is not None:
        return _said(error)
    if why := prepared.absent.get((one.condition, one.agent, one.metric)):
        return why
    failed = prepared.failed
    return f"No value came of its runs, of which {failed} failed." if failed else "Our runs give no such value."


def _said(error: UserError) -> str:
    """Write a mistake with its remedy as sentences of a table, without the folders of this machine."""
    about = "" if error.value is None else f" (got {error.value!r})"
    return " ".join(f"It cannot be run here: {error.problem.partition(':')[0]}{about}. {error.remedy}".split())


NEEDS = {"agents.learned": ("safetensors", "learned"), "agents.solver": ("lark", "solver")}
"""Of agents below a package: a module that they cannot do without, and the extra that has it."""


def check_extras(scenario: Scenario) -> None:
    """Refuse agents of which this machine lacks the extra; nothing is imported."""
    for agent in scenario.agents:
        for package, (module, extra) in NEEDS.items():
            if AGENTS.home(agent.name).startswith(f"{package}."):
                need(module, extra, what=agent.name)
