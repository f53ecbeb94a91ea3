"""Gives requests their priorities: from what their roles say, or from the label of a trace."""

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from binwright.simcore.errors import WorkloadError, suggest
from binwright.simcore.rng import stream
from binwright.simcore.workload import Workload
from binwright.workloads.lifetimes import pick

LABEL = "priority"
"""The label of requests that names their class."""
LARGEST = 2_147_483_647
"""Priorities are between this and its negative, as those of Kubernetes are."""
KUBERNETES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""Classes that every Kubernetes cluster has."""
_NUMBER = re.compile(r"[+-]?\d{1,10}")


def number_of(name: str, classes: Mapping[str, int]) -> int | None:
    """Return the priority of a class, or of a number as text; None where it is neither."""
    known = {**KUBERNETES, **classes}
    if name in known:
        return known[name]
    return int(name) if _NUMBER.fullmatch(name) and abs(int(name)) <= LARGEST else None


def prioritised(base: Workload, classes: Mapping[str, int], seed: int, needed: bool = True) -> Workload:
    """Return requests with `priority`, and with a label of this name.

    What their roles say is drawn by weight; other requests have what their label says, or 0 where it is empty. A name
    that is neither a class nor a number is refused if priorities are `needed`, and 0 otherwise.
    """
    mixes = [role.priority for role in base.roles.all] if base.roles else []
    if base.priority is not None or not (LABEL in base.labels or any(mixes)):
        return base
    words = base.labels.get(LABEL, np.full(len(base), "", np.str_)).astype(object)
    uniform = stream(seed, "workload", "priorities").random(len(base)) if any(mixes) else np.zeros(0)
    for number, mix in enumerate(mixes):
        if mix and base.roles:
            rows = np.flatnonzero(base.roles.of == number)
            names = np.array([name for name, _ in mix], object)
            words[rows] = names[pick(tuple(weight for _, weight in mix), uniform[rows])]
    result, of = np.unique(words.astype(np.str_), return_inverse=True)
    numbers = [number_of(name, classes) if name else 0 for name in result.tolist()]
    if needed and (unknown := [name for name, number in zip(result.tolist(), numbers, strict=True) if number is None]):
        example = ", ".join(f"{name}: {len(unknown[:3]) - place - 1}" for place, name in enumerate(unknown[:3]))
        near = suggest(unknown[0], classes) if classes else "These are no numbers."
        raise WorkloadError(
            "requests have no priority",
            key="priorities",
            value=", ".join(unknown),
            remedy=f"{near} Give each a number, like `priorities: {{{example}}}`.",
        )
    return replace(
        base,
        priority=np.array([number or 0 for number in numbers], np.int64)[of],
        labels={**base.labels, LABEL: result[of]},
    )
