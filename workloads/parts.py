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


WHOLE = Parts()
"""Of requests of one part."""


def gangs_of(kinds: tuple[Parts, ...], of: Ints, uniform: Floats) -> Gangs:
    """Draw the gangs of requests, each of one of these kinds, int64 [n]."""
    parts, least = np.ones((2, len(of)), np.int64)
    for number, kind in enumerate(kinds):
        here = of == number
        if kind.number:
            parts[here] = kind.number.at(uniform[here])
        least[here] = np.minimum(parts[here], kind.least or parts[here])
    return Gangs(parts, least, of, tuple(kind.rules for kind in kinds))


def in_gangs(base: Workload, kind: Parts, seed: int) -> Workload:
    """Make gangs of all requests of a trace; draws from a stream of its own, if it draws at all."""
    name, of = "cpu" if kind.by == PROCESSORS else kind.by, np.zeros(len(base), np.int64)
    if not name:
        return replace(base, gangs=gangs_of((kind,), of, stream(seed, "workload", "parts").random(len(base))))
    if name in base.resources:
        count = np.maximum(-(-base.demand[:, base.resources.index(name)] // QUANTUM), 1)
        base = replace(base, demand=-(-base.demand // count[:, None]))
    elif name in base.labels:
        texts = base.labels[name].tolist()
        count = np.array([int(text) if text.isdecimal() else 0 for text in texts], np.int64)
        if not count.all():
            value, remedy = texts[int(count.argmin())], "Write a whole number from 1 into every row."
            raise WorkloadError("is no number of parts", key=name, value=value, remedy=remedy)
    else:
        known = ", ".join((*base.resources, *base.labels))
        remedy = f"Known: {known}. A table's `labels:` say which columns are some."
        problem = "is neither a resource of the cluster nor a label of the trace"
        raise WorkloadError(problem, key="workload.parts.by", value=kind.by, remedy=remedy)
    return replace(base, gangs=Gangs(count, np.minimum(count, kind.least or count), of, (kind.rules,)))
