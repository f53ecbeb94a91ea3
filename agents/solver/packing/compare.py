"""Compare several ways to pack the same balls."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from binwright.agents.solver.packing.pack import HEURISTICS, METHODS, Packed, pack
from binwright.simcore.errors import ResultsError, UserError, suggest
from binwright.simcore.files import replacing
from binwright.simcore.types import Ints
from binwright.workloads.offline import Machines


def compare(
    demand: Ints, capacity: Ints, methods: Sequence[str] = METHODS, *, seconds: float = 10.0, seeds: int = 1
) -> Iterator[tuple[str, list[Packed]]]:
    """Pack by each method with seeds 0, 1, ...; heuristics have no use for more than one."""
    for method in methods:
        if method not in METHODS:
            raise UserError("unknown way to pack", key="with", value=method, remedy=suggest(method, METHODS))
    if seeds < 1:
        raise UserError("is not a count of seeds", key="seeds", value=seeds, remedy="Give 1 or more.")
    for method in methods:
        answers = list[Packed]()
        for seed in range(1 if method in HEURISTICS else seeds):
            answers.append(pack(demand, capacity, method, seconds=seconds, seed=seed))
            if answers[-1].interrupted:
                break
        yield method, answers
        if answers[-1].interrupted:
            return


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


def as_json(given: Machines, rows: list[dict[str, Any]]) -> str:
    """Write the table for programs."""
    return json.dumps({"input": given.name, "machines": len(given.demand), "rows": rows})


def check_file(file: Path) -> None:
    """Raise `ResultsError` if `write` could not write there."""
    if file.suffix.lower() != ".csv":
        raise ResultsError("is no CSV file", file=file, remedy="Name a file that ends in .csv.")


def write(file: Path, answers: dict[str, list[Packed]], given: Machines) -> None:
    """Write the best placement of each method, the bin of every ball, as CSV; names of balls have their own column."""
    columns: dict[str, Sequence[object]] = {} if given.names is None else {"name": given.names}
    for method, packed in answers.items():
        best = min(packed, key=lambda answer: len(given.demand) if answer.bins is None else answer.bins - 1)
        if best.where is not None:
            columns[method] = best.where.tolist()
    with replacing(file) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(["machine", *columns])
        writer.writerows([number, *row] for number, row in enumerate(zip(*columns.values(), strict=True)))
