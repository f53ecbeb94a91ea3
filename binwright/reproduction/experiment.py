"""What a publication's file declares: experiments, which published tables each of them answers, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Literal

from binwright.reproduction import PUBLICATIONS
from binwright.reproduction.claims import Better, Published, Value
from binwright.reproduction.figures import Drawing
from binwright.reproduction.measures import Measure
from simcore.errors import UserError, suggest

Size = Literal["full", "quick", "smallest"]
"""How much of an experiment is run; the smallest is for tests."""
Key = tuple[str, str, str]
"""The condition, agent and metric of a published value."""


@dataclass(frozen=True)
class Note:
    """Says something in a sentence of the published values that its patterns match."""

    kind: Literal["incomparable", "remark", "explained"]
    """Why they cannot be compared; what else to know of them; why they are missed, if they are."""
    text: str
    agent: str = "*"
    metric: str = "*"
    condition: str = "*"

    def of(self, one: Published) -> bool:
        """Tell whether it is said of a published value."""
        pairs = ((one.agent, self.agent), (one.metric, self.metric), (one.condition, self.condition))
        return all(fnmatchcase(value, pattern) for value, pattern in pairs)


@dataclass(frozen=True)
class Condition:
    """Describes the runs of one published condition."""

    agents: Mapping[str, str]
    """Maps published agents to ours, as a scenario would name them: `{nara: {weights: azure-like}}`."""
    overrides: tuple[str, ...] = ()
    seeds: int = 100
    quick: int = 10
    """Seeds with --quick."""
    stand_in: str = ""
    """The key of the condition whose data is not on this machine, so that the overrides take a stand-in; tables mark
    it."""


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
    count: Callable[[Size], Mapping[Key, Value | str]] | None = None
    """Returns values in place of runs, or sentences that say why there is none."""
    lower: Collection[str] = ()
    """Metrics of which less is better."""
    quicker: bool = True
    """Whether --quick counts less."""
    deviates: str = ""
    """What differs from the publication, in a sentence."""
    tolerance: float = 0.0
    """The share of a value within which the publication states it."""
    derived: tuple[Published, ...] = ()
    """Values that follow from the printed ones, and can be compared where those cannot."""
    notes: tuple[Note, ...] = ()
    smallest: tuple[str, ...] = ()
    """Overrides for tests."""

    def condition_of(self, one: Published) -> str:
        """Find the condition whose runs answer a published value."""
        return next(name for name in self.conditions if f"{one.condition};".startswith(f"{name};"))

    def better(self, one: Published) -> Better:
        """Tell which way is better for a published value."""
        return "lower" if one.metric in self.lower else "higher"

    def said(self, kind: str, one: Published) -> str:
        """Find the first note of a kind on a published value; empty where there is none."""
        return next((note.text for note in self.notes if note.kind == kind and note.of(one)), "")

    def seeds(self, condition: str, size: Size) -> int:
        """Count the seeds of a condition."""
        asked = self.conditions[condition]
        return {"full": asked.seeds, "quick": min(asked.quick, asked.seeds), "smallest": 2}[size]


@dataclass(frozen=True, kw_only=True)
class Publication:
    """Describes a publication: where it is, what is run of it, and why the rest is not."""

    name: str
    title: str
    reference: str
    experiments: tuple[Experiment, ...]
    unanswered: Callable[[Published], str] = field(default=lambda one: "No experiment answers this value.")
    """Says why a value that no experiment answers is not compared."""
    figures: tuple[Drawing, ...] = ()
    own: Callable[[str], bool] = field(default=lambda agent: False)
    """Tells of a published agent whether it was trained, or made anew, here: of these values are better or worse."""
    weighed: bool = False
    """Whether it has rows of the weights that its authors published."""


def publication(name: str, weights: Path | None = None) -> Publication:
    """Load what is declared for a publication, with rows of the weights in a folder that its authors published."""
    if name not in PUBLICATIONS:
        known = ("all", *PUBLICATIONS)
        raise UserError("is no publication that is reproduced here", value=name, remedy=suggest(name, known))
    module = import_module(f"binwright.reproduction.publications.{name.replace('-', '_')}")
    found: Publication = module.describe() if weights is None else module.describe(weights)
    return found
