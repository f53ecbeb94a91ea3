"""Pack balls into few equal bins: by a heuristic, or as a problem of the language with `BINS ?`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from binwright.agents.solver.model.bounds import packing_bound
from binwright.agents.solver.model.program import MICRO
from binwright.agents.solver.packing import heuristics
from binwright.agents.solver.solving.answer import Progress
from binwright.agents.solver.solving.searches import prepare, searches
from binwright.agents.solver.solving.solve import solve
from binwright.agents.solver.specification.load import problem as problem_of
from binwright.simcore.errors import BinwrightError, UserError, suggest
from binwright.simcore.extras import pl
from binwright.simcore.files import replacing
from binwright.simcore.types import Ints
from binwright.workloads.offline import Machines

HEURISTICS: dict[str, Callable[[Ints, Ints], Ints]] = {
    "ffd-prod": heuristics.ffd_prod,
    "bfd-sum": heuristics.bfd_sum,
    "dot-product": heuristics.dot_product,
    "norm-greedy": heuristics.norm_greedy,
}
SEARCHES = {"published": "published", "solver": "ours"}
"""How `solve` is to search."""
METHODS = (*HEURISTICS, *SEARCHES)
PACKING = """
BALLS len(DEMAND)
BINS ?
RESOURCES USED[b in BINS, r in len(ROOM)] => ROOM[r]
procedure UTILFN(BALL, BIN, ALLOC)
    for r in len(ROOM)
        UTIL.USED[BIN, r] += DEMAND[BALL, r]
    end
end
"""


@dataclass(frozen=True, slots=True)
class Packed:
    """A placement of all balls, verified; or none, if time was up before there was one."""

    where: Ints | None
    """[balls]: the bin, from 0 without a gap"""
    bound: int
    """No placement needs fewer bins."""
    seconds: float
    found: float | None = None
    """After how many seconds there was this placement; a search may have gone on for a better one."""
    checked: int = 0
    """Complete attempts of the published search; steps of ours."""
    interrupted: bool = False

    @property
    def bins(self) -> int | None:
        """Count the bins that are used."""
        return None if self.where is None else int(self.where.max()) + 1


def pack(demand: Ints, capacity: Ints, method: str = "solver", *, seconds: float = 10.0, seed: int = 0) -> Packed:
    """Put balls of demand int64 [balls, d] into as few equal bins of capacity int64 [d] as the method can.

    A search ends at the lower bound, or when its time is up. Heuristics take what time they need.
    """
    check(demand, capacity, [method])
    if method in HEURISTICS:
        began = monotonic()
        where = HEURISTICS[method](demand, capacity)
        took, used = monotonic() - began, np.zeros((int(where.max()) + 1, len(capacity)), np.int64)
        np.add.at(used, where, demand)
        if (used > capacity).any():
            raise BinwrightError(f"{method} answered a placement that breaks the rules: a bug, please report it")
        return Packed(where, packing_bound(demand, capacity), took, took)
    stated = problem_of(PACKING, tables={"DEMAND": demand / MICRO, "ROOM": capacity / MICRO})
    first_seen: dict[int, float] = {}
    prepare(stated, searches(stated, "cpu", SEARCHES[method]))  # before the clock runs

    def seen(state: Progress) -> None:
        if state.placed == len(demand):
            first_seen.setdefault(state.bins, state.seconds)

    answer = solve(stated, search=SEARCHES[method], seed=seed, time=seconds, progress=seen)
    if answer.placed < len(demand):
        return Packed(None, answer.bound, answer.seconds, None, answer.checked, answer.interrupted)
    where = np.unique(answer.alloc, return_inverse=True)[1]
    found = first_seen.get(int(where.max()) + 1, answer.seconds)
    return Packed(where, answer.bound, answer.seconds, found, answer.checked, answer.interrupted)


def check(demand: Ints, capacity: Ints, methods: Sequence[str]) -> None:
    """Raise `UserError` for what cannot be packed, or not by these methods."""
    for method in methods:
        if method not in METHODS:
            raise UserError("unknown way to pack", key="with", value=method, remedy=suggest(method, METHODS))
    if demand.ndim != 2 or demand.shape[1:] != capacity.shape or not demand.size:
        raise UserError("there is nothing to pack", value=demand.shape, remedy="Give balls with a demand each.")
    largest = np.minimum(capacity, 10**12)  # a sum over all balls stays far from the end of 64 bits
    wrong = ((demand < 0) | (demand > largest)).any(axis=1)
    if wrong.any():
        ball, most = int(wrong.argmax()), (largest / MICRO).tolist()
        value = (demand[ball] / MICRO).tolist()
        raise UserError(f"ball {ball} fits no bin", value=value, remedy=f"Give 0 to {most}.")


def compare(
    demand: Ints, capacity: Ints, methods: Sequence[str] = METHODS, *, seconds: float = 10.0, seeds: int = 1
) -> dict[str, list[Packed]]:
    """Pack by each method with seeds 0, 1, ..., until Ctrl-C; heuristics have no use for more than one."""
    check(demand, capacity, methods)
    if seeds < 1:
        raise UserError("is not a count of seeds", key="seeds", value=seeds, remedy="Give 1 or more.")
    answers: dict[str, list[Packed]] = {}
    for method in methods:
        for seed in range(1 if method in HEURISTICS else seeds):
            packed = pack(demand, capacity, method, seconds=seconds, seed=seed)
            answers.setdefault(method, []).append(packed)
            if packed.interrupted:
                return answers
    return answers


def row_of(method: str, answers: list[Packed]) -> dict[str, Any]:
    """Sum up a method's answers as one line of a table.

    `bins` are the fewest of any seed, `worst` the most, None where one has no answer; `optimal` counts the seeds whose
    answer is as low as the bound, `seconds` are the longest.
    """
    bins, bound = sorted(answer.bins for answer in answers if answer.bins is not None), answers[0].bound
    return {
        "method": method,
        "bound": bound,
        "bins": bins[0] if bins else None,
        "worst": bins[-1] if len(bins) == len(answers) else None,
        "gap": bins[0] - bound if bins else None,
        "seeds": len(answers),
        "optimal": bins.count(bound),
        "seconds": round(max(answer.seconds for answer in answers), 4),
        "checked": sum(answer.checked for answer in answers),
    }


def write(file: Path, answers: dict[str, list[Packed]], given: Machines) -> None:
    """Write the best placement of each method, the bin of every ball, as CSV; names of balls have their own column."""
    columns: dict[str, Any] = {} if given.names is None else {"name": given.names}
    for method, packed in answers.items():
        best = min(packed, key=lambda answer: len(given.demand) if answer.bins is None else answer.bins - 1)
        if best.where is not None:
            columns[method] = best.where
    with replacing(file) as unfinished:
        pl.DataFrame(columns).with_row_index("machine").write_csv(unfinished)
