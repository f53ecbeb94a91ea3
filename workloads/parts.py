"""Makes gangs of requests: says how many parts each has, and divides what it asks for."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from binwright.simcore.errors import WorkloadError
from binwright.simcore.gangs import NO_RULES, Gangs, PartRules
from binwright.simcore.rng import stream
from binwright.simcore.types import QUANTUM, Floats, Ints, Workload
from binwright.workloads.virtual import Machines

PROCESSORS = "processors"
"""Another name of `cpu`, for who thinks of jobs."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Says how many parts requests have: a `number`, fixed or drawn, or what they ask for `by` a resource or a label.

    By a resource there is a part for every unit of it, and each takes an even share of the demand; by a label, the
    label says the number. `least` are enough, if given.
    """

    number: Machines | None = None
    by: str = ""
    least: int | None = None
    rules: PartRules = NO_RULES

    def at(self, uniform: Floats) -> Ints:
        """Find the numbers of parts int64 [n] below which lie the shares `uniform`, float64 [n] in [0, 1)."""
        return self.number.at(uniform) if self.number else np.ones(len(uniform), np.int64)


WHOLE = Parts()
"""Of requests of one part."""


def gangs_of(kinds: tuple[Parts, ...], of: Ints, uniform: Floats) -> Gangs | None:
    """Draw the gangs of requests, each of one of these kinds, int64 [n]; None where all have one part."""
    if all(kind == WHOLE for kind in kinds):
        return None
    parts = np.ones(len(of), np.int64)
    least = np.full(len(kinds), np.iinfo(np.int64).max)
    for number, kind in enumerate(kinds):
        here = of == number
        parts[here] = kind.at(uniform[here])
        least[number] = kind.least or least[number]
    return Gangs(parts, np.minimum(parts, least[of]), of, tuple(kind.rules for kind in kinds))


def in_gangs(base: Workload, kind: Parts, seed: int) -> Workload:
    """Make gangs of all requests of a trace; draws from a stream of its own, if it draws at all."""
    name = "cpu" if kind.by == PROCESSORS else kind.by
    if not name:
        uniform = stream(seed, "workload", "parts").random(len(base))
        return replace(base, gangs=gangs_of((kind,), np.zeros(len(base), np.int64), uniform))
    if name in base.resources:
        count = np.maximum(-(-base.demand[:, base.resources.index(name)] // QUANTUM), 1)
        base = replace(base, demand=-(-base.demand // count[:, None]))
    elif name in base.labels:
        count = np.array([int(text) if text.isdecimal() else 0 for text in base.labels[name].tolist()], np.int64)
        if not count.all():
            text = base.labels[name][count == 0][0]
            remedy = "Write a whole number from 1 into every row."
            raise WorkloadError("is no number of parts", key=name, value=str(text), remedy=remedy)
    else:
        known = ", ".join((*base.resources, *base.labels))
        remedy = f"Known: {known}. A table's `labels:` say which columns are some."
        problem = "is neither a resource of the cluster nor a label of the trace"
        raise WorkloadError(problem, key="workload.parts.by", value=kind.by, remedy=remedy)
    of = np.zeros(len(base), np.int64)
    return replace(base, gangs=Gangs(count, np.minimum(count, kind.least or count), of, (kind.rules,)))
