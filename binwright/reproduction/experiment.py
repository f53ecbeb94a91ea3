"""What a publication's file declares: experiments, which published values each of them answers, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Literal

from binwright.reproduction import PUBLICATIONS
from binwright.reproduction.figures import Drawing
from binwright.reproduction.measures import Measure
from binwright.reproduction.published import Published
from binwright.reproduction.verdict import Better, Value
from simcore.errors import UserError, suggest

Size = Literal["full", "quick", "smallest"]
"""How much of an experiment is run; the smallest is for tests."""
Key = tuple[str, str, str]
"""The condition, agent and metric of a published value."""


@dataclass(frozen=True)
class Metric:
    """Says how a published metric is read from our runs, and which way is better."""

    measure: Measure
    better: Better = "higher"


@dataclass(frozen=True)
class StandIn:
    """Says what is run where the data of a condition is not on this machine."""

    key: str
    """The key of the condition that the stand-in is for; tables mark it."""
    here: Callable[[], bool]
    """Tells whether the data is here, and no stand-in is needed."""
    overrides: tuple[str, ...]
    """What is overridden then, after the overrides of the condition."""


@dataclass(frozen=True)
class Condition:
    """Describes the runs of one published condition."""

    agents: Mapping[str, str]
    """Maps published agents to ours, as a scenario would name them: `{nara: {weights: azure-like}}`."""
    overrides: tuple[str, ...] = ()
    seeds: int = 100
    quick: int = 10
    """Seeds with --quick."""
    stand_in: StandIn | None = None
    runs: str = ""
    """What the folder of its runs is called; conditions with one name here are read from the same runs."""


@dataclass(frozen=True, kw_only=True)
class Answers:
    """Says which published values something answers, and what to know of them."""

    name: str
    tables: Mapping[str, str]
    """The published tables, and what each of them shows."""
    deviates: str = ""
    """What differs from the publication, in a sentence."""
    tolerance: float = 0.0
    """The share of a value within which the publication states it."""
    derived: tuple[Published, ...] = ()
    """Values that follow from the printed ones, and can be compared where those cannot."""
    incomparable: Callable[[Published], str] = field(default=lambda one: "")
    """Says why a value that was measured here cannot be compared; empty where it can."""
    remark: Callable[[Published], str] = field(default=lambda one: "")
    """Says what else to know of one value."""
    explained: Callable[[Published], str] = field(default=lambda one: "")
    """Says why a value is not reproduced, in a sentence, if it is not; empty where nobody knows."""


@dataclass(frozen=True, kw_only=True)
class Experiment(Answers):
    """Describes runs of a shipped scenario that answer some of the published values."""

    scenario: str
    conditions: Mapping[str, Condition]
    metrics: Mapping[str, Metric]
    smallest: tuple[str, ...] = ()
    """Overrides for tests."""

    def answers(self, one: Published) -> bool:
        """Tell whether this experiment measures a published value."""
        condition = self.conditions.get(one.condition)
        return (
            one.table in self.tables
            and condition is not None
            and one.agent in condition.agents
            and one.metric in self.metrics
        )

    def better(self, one: Published) -> Better:
        """Tell which way is better for a published value."""
        return self.metrics[one.metric].better

    def sharing(self, condition: str) -> list[str]:
        """List the conditions that are read from the same runs as this one, itself included, in their order."""
        name = self.conditions[condition].runs
        return [one for one, asked in self.conditions.items() if one == condition or (name and asked.runs == name)]

    def seeds(self, condition: str, size: Size) -> int:
        """Count the seeds of a condition."""
        asked = self.conditions[condition]
        return {"full": asked.seeds, "quick": min(asked.quick, asked.seeds), "smallest": 2}[size]


@dataclass(frozen=True, kw_only=True)
class Count(Answers):
    """Describes an experiment that is no batch of runs: a function returns its values."""

    count: Callable[[Size], Mapping[Key, Value | str]]
    """Returns values, or sentences that say why there is none."""
    keys: frozenset[Key]
    """What it answers."""
    quicker: bool = True
    """Whether --quick measures less."""

    def answers(self, one: Published) -> bool:
        """Tell whether this experiment measures a published value."""
        return one.table in self.tables and (one.condition, one.agent, one.metric) in self.keys

    def better(self, one: Published) -> Better:
        """Tell which way is better: everything that is counted is better when it is less."""
        return "lower"


@dataclass(frozen=True)
class Publication:
    """Describes a publication: where it is, what is run of it, and why the rest is not."""

    name: str
    title: str
    reference: str
    experiments: tuple[Experiment | Count, ...]
    unanswered: Callable[[Published], str]
    """Says why a value that no experiment answers is not compared."""
    figures: tuple[Drawing, ...] = ()
    own: Callable[[str], bool] = field(default=lambda agent: False)
    """Tells of a published agent whether it was trained, or made anew, here: of these values are better or worse."""
    weighed: Callable[[Path], Publication] | None = None
    """Adds to the publication what its authors' weights in a folder do here; None where it has none."""


def publication(name: str) -> Publication:
    """Load what is declared for a publication."""
    if name not in PUBLICATIONS:
        known = ("all", *PUBLICATIONS)
        raise UserError("is no publication that is reproduced here", value=name, remedy=suggest(name, known))
    module = import_module(f"binwright.reproduction.publications.{name.replace('-', '_')}")
    found: Publication = module.PUBLICATION
    return found
