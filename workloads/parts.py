"""The `parts:` of requests: gangs, which are placed on several servers at once or not at all."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from pydantic import Field, model_validator

from binwright.simcore.errors import WorkloadError
from binwright.simcore.fields import Count, Keys, Model, Text, wrong
from binwright.simcore.gangs import NO_RULES, Gangs, PartRules
from binwright.simcore.rng import stream
from binwright.simcore.types import QUANTUM, Floats, Ints
from binwright.simcore.workload import Workload
from binwright.workloads.virtual import Machines

PROCESSORS = "processors"
"""Another name of `cpu`, for who thinks of jobs."""


class Parts(Model):
    """A gang: a request of several equal parts, which get their places at once or not at all. `parts: 16` is short."""

    number: Machines | None = Field(default=None, examples=[16, "{uniform: [8, 64]}"])
    """How many parts: a number or a distribution."""
    by: Text | None = Field(default=None, examples=["processors"])
    """In a trace: a part for every unit of this resource (`processors` is cpu)."""
    together: Text | None = Field(default=None, description="All parts in one domain of this label.", examples=["rack"])
    at_most: dict[str, Count] = Field(default_factory=dict, examples=["{server: 8}"])
    """At most so many parts in each domain of a label, or on each `server`."""

    @classmethod
    def prepare(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"by": data}
        return {"number": Machines.model_validate(data)} if isinstance(data, int | float) else data

    @model_validator(mode="after")
    def _counted(self) -> Self:
        if (self.number is None) == (self.by is None):
            raise wrong(
                "needs either number or by", "Write `parts: 16`, or in a trace `parts: processors`.", ("number",)
            )
        return self

    @property
    def rules(self) -> PartRules:
        """Where parts may lie."""
        return PartRules(self.together or "", tuple(sorted(self.at_most.items())))

    @property
    def labels(self) -> dict[str, Keys]:
        """The labels that servers must have, with the keys that name them."""
        result: dict[str, Keys] = {label: ("at_most", label) for label in self.at_most}
        return result | ({self.together: ("together",)} if self.together else {})


def gangs_of(kinds: tuple[Parts | None, ...], of: Ints, uniform: Floats) -> Gangs:
    """Draw the gangs of requests, each of one of these kinds, int64 [n]; None has one part."""
    parts = np.ones(len(of), np.int64)
    for number, kind in enumerate(kinds):
        of_kind = of == number
        if kind and kind.number:
            parts[of_kind] = kind.number.at(uniform[of_kind])
    return Gangs(parts, of, tuple(kind.rules if kind else NO_RULES for kind in kinds))


def in_gangs(base: Workload, kind: Parts, seed: int) -> Workload:
    """Make gangs of all requests of a trace; draws from a stream of its own, if it draws at all."""
    name, of = "cpu" if kind.by == PROCESSORS else kind.by or "", np.zeros(len(base), np.int64)
    if not name:
        return replace(base, gangs=gangs_of((kind,), of, stream(seed, "workload", "parts").random(len(base))))
    if name not in base.resources:
        problem, remedy = "is no resource of the cluster", f"Known: {', '.join(base.resources)}."
        raise WorkloadError(problem, key="workload.parts.by", value=kind.by, remedy=remedy)
    count = np.maximum(-(-base.demand[:, base.resources.index(name)] // QUANTUM), 1)
    gangs = Gangs(count, of, (kind.rules,))
    return replace(base, demand=-(-base.demand // count[:, None]), gangs=gangs)
