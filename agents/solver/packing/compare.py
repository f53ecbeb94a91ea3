"""Compare several ways to pack the same balls."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from binwright.agents.solver.model.fleet import ENDLESS, Fleet
from binwright.agents.solver.packing.pack import HEURISTICS, METHODS, Packed, pack
from binwright.simcore.errors import ResultsError, UserError, suggest
from binwright.simcore.files import replacing
from binwright.simcore.types import QUANTUM, Ints
from binwright.workloads.offline import ANY, Machines


@dataclass(frozen=True, slots=True)
class Row:
    """One way to pack, over all its seeds."""

    method: str
    bound: int
    """No placement costs less, or needs fewer bins if they are equal."""
    cost: int | None
    """The lowest of any seed, for equal bins their number; None if there is no answer."""
    worst: int | None
    """The highest cost of any seed; None if one has no answer."""
    bins: int | None
    """Those of the best answer."""
    kinds: tuple[int, ...]
    """How many bins of each kind the best answer has."""
    seeds: int
    optimal: int
    """Seeds whose answer is as low as the bound."""
    seconds: float
    """The longest of any seed."""
    checked: int

    @property
    def gap(self) -> int | None:
        """Subtract the bound from the cost."""
        return None if self.cost is None else self.cost - self.bound


def compare(
    demand: Ints, into: Ints | Fleet, methods: Sequence[str] = METHODS, *, seconds: float = 10.0, seeds: int = 1
) -> Iterator[tuple[str, list[Packed]]]:
    """Pack by each method with seeds 0, 1, ...; heuristics have no use for more than one."""
    for method in methods:
        if method not in METHODS:
            raise UserError("unknown way to pack", key="with", value=method, remedy=suggest(method, METHODS))
    if seeds < 1:
        raise UserError("is not a count of seeds", key="seeds", value=seeds, remedy="Give 1 or more.")
    for method in methods:
        answers = []
        for seed in range(1 if method in HEURISTICS else seeds):
            answers.append(pack(demand, into, method, seconds=seconds, seed=seed))
            if answers[-1].interrupted:
                yield method, answers
                return
        yield method, answers


def fleet(given: Machines) -> Ints | Fleet:
    """Say what machines are packed into: int64 [d], what a server has, or kinds of servers."""
    servers = given.servers
    if servers is None:
        return given.capacity
    count = np.where(servers.count == ANY, ENDLESS, servers.count)
    return Fleet(servers.capacity, count, np.ones_like(count) if servers.price is None else servers.price)


def best(answers: list[Packed]) -> Packed | None:
    """Choose the cheapest answer, of those the one with the fewest bins, of those the first."""
    found = [one for one in answers if one.cost is not None]
    return min(found, key=lambda one: (one.cost, one.bins), default=None)


def rows_of(answers: dict[str, list[Packed]]) -> list[Row]:
    """Sum up each method's answers as one line of a table."""
    return [_row(method, found) for method, found in answers.items()]


def _row(method: str, answers: list[Packed]) -> Row:
    costs = [one.cost for one in answers if one.cost is not None]
    chosen, bound = best(answers), answers[0].bound
    return Row(
        method=method,
        bound=bound,
        cost=chosen.cost if chosen else None,
        worst=max(costs) if len(costs) == len(answers) else None,
        bins=chosen.bins if chosen else None,
        kinds=() if chosen is None or chosen.which is None else tuple(np.bincount(chosen.which).tolist()),
        seeds=len(answers),
        optimal=costs.count(bound),
        seconds=round(max(answer.seconds for answer in answers), 4),
        checked=sum(answer.checked for answer in answers),
    )


def prices(given: Machines) -> int:
    """Say what 1 of the currency is in the costs of answers: millionths, or 1 where servers have no price."""
    return QUANTUM if given.servers is not None and given.servers.price is not None else 1


def kinds(given: Machines, one: Row) -> dict[str, int]:
    """Say how many servers of each name the best answer of a row has."""
    names = given.servers.names if given.servers else ()
    return {name: many for name, many in zip(names, one.kinds, strict=False) if many}


def as_json(given: Machines, rows: list[Row]) -> str:
    """Write the table for programs; prices are those of the file."""
    unit = prices(given)

    def said(one: Row) -> dict[str, object]:
        costs = {key: getattr(one, key) for key in ("bound", "cost", "worst", "gap")}
        if unit > 1:
            costs = {key: None if value is None else value / unit for key, value in costs.items()}
        return asdict(one) | costs | {"kinds": kinds(given, one)}

    return json.dumps({"input": given.name, "machines": len(given.demand), "rows": [said(one) for one in rows]})


def check_file(file: Path) -> None:
    """Raise `ResultsError` if `write` could not write there."""
    if file.suffix.lower() not in (".csv", ".json"):
        raise ResultsError("is neither CSV nor JSON", file=file, remedy="Name a file that ends in .csv or .json.")


def write(file: Path, answers: dict[str, list[Packed]], given: Machines) -> None:
    """Write the best placement of each method, the bin of every ball, as CSV or JSON by the file's name.

    A CSV file has the names of the balls in a column of its own. Servers of a file are called by their names, with the
    number of the server behind it where there may be several.
    """
    chosen = {method: best(found) for method, found in answers.items()}
    placed = {method: _called(one, given) for method, one in chosen.items() if one is not None}
    with replacing(file) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as opened:
        if file.suffix.lower() == ".json":
            json.dump(placed, opened)
        else:
            writer = csv.writer(opened, lineterminator="\n")
            columns = placed if given.names is None else {"name": given.names, **placed}
            writer.writerow(["machine", *columns])
            writer.writerows([number, *row] for number, row in enumerate(zip(*columns.values(), strict=True)))


def _called(packed: Packed, given: Machines) -> list[int] | list[str]:
    """Say in which bin each ball is, by its number, or by the name of a server."""
    assert packed.where is not None
    assert packed.which is not None
    if given.servers is None:
        numbers: list[int] = packed.where.tolist()
        return numbers
    many: Counter[int] = Counter()
    names = []
    for kind in packed.which.tolist():
        many[kind] += 1
        single = given.servers.count[kind] == 1
        names.append(given.servers.names[kind] if single else f"{given.servers.names[kind]} {many[kind]}")
    return [names[target] for target in packed.where.tolist()]
