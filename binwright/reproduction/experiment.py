"""What a publication's file declares: experiments, which published tables each of them answers, and what differs."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Literal, Self

import yaml

from binwright.reproduction import PUBLICATIONS, measures
from binwright.reproduction.claims import Published, Value, published
from binwright.reproduction.measures import Measure
from binwright.simcore.errors import UserError, suggest

Key = tuple[str, str, str]
"""The condition, agent and metric of a published value."""
Count = Callable[[bool], Mapping[Key, Value]]
"""Returns values in place of runs; told whether to take less time."""


@dataclass(frozen=True)
class Note:
    """Says something in a sentence of the published values that its patterns match, of which `|` is between several."""

    kind: Literal["incomparable", "remark", "explained"]
    """Why they cannot be compared; what else to know of them; why they are missed, if they are."""
    text: str
    agent: str = "*"
    metric: str = "*"
    condition: str = "*"

    def of(self, ours: Published) -> bool:
        """Tell whether it is said of a published value."""
        pairs = ((ours.agent, self.agent), (ours.metric, self.metric), (ours.condition, self.condition))
        return all(any(fnmatchcase(value, each) for each in patterns.split("|")) for value, patterns in pairs)


def note_on(value: Published, notes: Iterable[Note], kind: str) -> str:
    """Find the first note of a kind on a published value; empty where there is none."""
    return next((note.text for note in notes if note.kind == kind and note.of(value)), "")


@dataclass(frozen=True)
class Condition:
    """Describes the runs of one published condition."""

    agents: Mapping[str, str]
    """Maps published agents to ours, as a scenario would name them: `{nara: {weights: azure-like}}`."""
    overrides: Sequence[str] = ()
    seeds: int = 100
    quick: int = 10
    """Seeds with --quick."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Describes what answers some published tables: runs of a shipped scenario, or a function that counts."""

    name: str
    tables: Mapping[str, str] = field(default_factory=dict)
    """The published tables, and what each of them shows; there is none where only figures are drawn from the runs."""
    scenario: str = ""
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    """By published condition, or by what several of them begin with, which are read from the same runs then."""
    measures: Mapping[str, Measure] = field(default_factory=dict)
    """How every published metric is read from the runs."""
    count: Count | None = None
    lower: Collection[str] = ()
    """Metrics of which less is better."""
    deviates: str = ""
    """What differs from the publication, in a sentence."""
    tolerance: float = 0.0
    """The share of a value within which the publication states it."""
    notes: Sequence[Note] = ()

    def condition_of(self, value: Published) -> str:
        """Find the condition whose runs answer a published value; empty where none does."""
        return next((name for name in self.conditions if f"{value.condition};".startswith(f"{name};")), "")


@dataclass(frozen=True, kw_only=True)
class Publication:
    """Describes a publication: where it is, what is run of it, and why the rest is not."""

    name: str
    title: str
    reference: str
    values: Sequence[Published]
    """What it prints, and what follows from that."""
    experiments: Sequence[Experiment]
    notes: Sequence[Note] = ()
    """Why values that no experiment answers are not compared."""
    figures: Sequence[Mapping[str, Any]] = ()
    """Figures, or parts of one: its number, the `name` of its file, a title, what is `published`, and options: the
    `kind` of figure, `where` [(experiment, condition)], drawn as one, and those of the kind."""
    own: Collection[str] = ()
    """The published agents that were trained, or made anew, here: of these values are better or worse."""

    def part(self, tables: Collection[str]) -> Self:
        """Leave these tables and the runs that answer them, or all if none is named."""
        if not tables:
            return self
        known = [table for experiment in self.experiments for table in experiment.tables]
        if unknown := [table for table in tables if table not in known]:
            problem, remedy = f"{self.name} has no such table that is measured", suggest(unknown[0], known)
            raise UserError(problem, key="table", value=unknown[0], remedy=remedy)
        values = [value for value in self.values if value.table in tables]
        experiments = [
            replace(each, conditions={name: runs for name, runs in each.conditions.items() if name in answered})
            for each in self.experiments
            if (answered := {each.condition_of(value) for value in values if value.table in each.tables})
        ]
        return replace(self, values=values, experiments=experiments, figures=())


def publication(name: str) -> Publication:
    """Load what is declared for a publication."""
    if name not in PUBLICATIONS:
        known = ("all", *PUBLICATIONS)
        raise UserError("is no publication that is reproduced here", value=name, remedy=suggest(name, known))
    stem = name.replace("-", "_")
    module = f"binwright.reproduction.publications.{stem}"
    loader = _Loader(files("binwright.reproduction").joinpath("publications", f"{stem}.yaml").read_text("utf-8"))
    loader.code = import_module(module) if find_spec(module) else None
    declared = loader.get_single_data()
    declared["experiments"] = [_experiment(each, **more) for each, more in declared["experiments"].items()]
    declared["notes"] = [Note(**note) for note in declared.get("notes", ())]
    return Publication(name=name, values=published(name), **declared)


def _experiment(
    name: str,
    conditions: Mapping[str, Mapping[str, Any]] | None = None,
    each: Mapping[str, Any] | None = None,
    notes: Sequence[Mapping[str, Any]] = (),
    **declared: Any,
) -> Experiment:
    """Make an experiment of what a file declares; `each` is what all its conditions have in common."""
    common, made = {"agents": {}, "overrides": [], **(each or {})}, {}
    for condition, own in (conditions or {}).items():
        agents = {**common["agents"], **own.get("agents", {})}
        overrides = [*common["overrides"], *own.get("overrides", ())]
        made[condition] = Condition(**{**common, **own, "agents": agents, "overrides": overrides})
    return Experiment(name=name, conditions=made, notes=[Note(**note) for note in notes], **declared)


class _Loader(yaml.SafeLoader):
    """Reads the file of a publication; a tag `!name` is a function of its module `code`, or of measures.

    With a value behind the tag it is what the function returns for that; `of` are its arguments without names.
    """

    code: ModuleType | None = None


def _function(loader: _Loader, name: str, node: yaml.Node) -> Any:
    """Return the function that a tag names, or what it returns for the value behind the tag."""
    function = {**vars(measures), **(vars(loader.code) if loader.code else {})}[name]
    if isinstance(node, yaml.MappingNode):
        options = {str(key): value for key, value in loader.construct_mapping(node, deep=True).items()}
        return function(*options.pop("of", ()), **options)
    if isinstance(node, yaml.SequenceNode):
        return function(*loader.construct_sequence(node, deep=True))
    return function(node.value) if node.value else function


_Loader.add_multi_constructor("!", _function)
