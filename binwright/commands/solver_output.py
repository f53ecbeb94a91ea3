"""Print an answer of the solver."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import numpy as np
from rich.markup import escape

from binwright.commands.console import many_of, new_table, out, print_line
from binwright.commands.solver_inputs import names_in

SHOWN, RUNS, MOVES, WHY = 100, 200, 20, 3
"""Bins of a table, ranges of balls of a bin, moves, and balls left out whose obstacles are printed."""


def print_answer(found: dict[str, Any]) -> None:
    """Print the answer as a table, bin by bin."""
    ball_name, bin_name = names_in(found, "ball"), names_in(found, "bin")

    def listed(balls: list[int]) -> str:
        if not found["ball_names"]:
            return _ranges(balls)
        return ", ".join(map(ball_name, balls[:RUNS])) + (
            f" and {len(balls) - RUNS:,} more" if len(balls) > RUNS else ""
        )

    table = new_table("bin", ">balls", "")
    alloc = np.array([-1 if place is None else place for place in found["alloc"]])
    for place in range(min(found["bins"], SHOWN)):
        balls = np.flatnonzero(alloc == place)
        table.add_row(escape(bin_name(place)), str(len(balls)), escape(listed(balls.tolist())))
    out.print(table)
    if found["bins"] > SHOWN:
        print_line(f"and {found['bins'] - SHOWN:,} bins more: --csv and --json have them all")
    left = np.flatnonzero(alloc < 0)
    if len(left):
        print_line(f"not placed: {listed(left.tolist())}")
        print_left(found["left"][:WHY], len(left), ball_name)
    if found["impossible"]:
        what = "not all can be placed" if len(left) else "not all rules can hold"
        print_line(f"{what}: {found['impossible']}")
        if found["at_fault"]:
            lines = (one["what"] + (f" in line {one['line']}" if one["line"] else "") for one in found["at_fault"])
            print_line(f"at fault: {', '.join(lines)}")
    print_goals(found["goals"], largest=False)
    if found["moves"] is not None:
        _print_moves(found["moves"], ball_name, bin_name)
    for note in found["notes"]:
        print_line(note)
    bins = many_of(found["bins"], "bin")
    if found["used"] < found["bins"]:
        bins = f"{found['used']} of {bins}"
    if found["searched"]:
        bins += f" (bound {found['bound']}, gap {found['gap']})"
    placed = f"{found['placed']} of {found['balls']} balls in {bins}"
    checked = f"{found['search']}: {many_of(found['checked'], 'solution')} checked in {found['seconds']:.2f} s"
    ended = ", interrupted" if found["interrupted"] else ""
    print_line(f"{found['status']}{ended}: {placed}; {checked}")


def print_goals(goals: list[dict[str, Any]], *, largest: bool) -> None:
    """Say what became of every goal, what its terms add if there are several, and if asked the largest entries."""
    for goal in goals:
        best = "no allocation is better" if goal["gap"] == 0 else f"bound {goal['bound']:,.15g}"
        lines = [f"{goal['aim'].lower()} {goal['text']}: {goal['value']:,.15g} ({best})"]
        for term in goal["terms"]:
            if len(goal["terms"]) > 1:
                lines.append(f"  {term['value']:,.15g} by {term['text']}")
            if largest and term["largest"]:
                most = ", ".join(f"{one['value']:,.15g} by {one['entry']}" for one in term["largest"])
                lines.append(f"    most: {most}")
        for line in lines:
            print_line(line)


def print_left(found: list[dict[str, Any]], count: int, name_of: Callable[[int], str]) -> None:
    """Say what stands in the way of balls that are left out, of so many."""
    for one in found:
        rules = (f"{rule} in {'1 bin' if bins == 1 else f'{bins:,} bins'}" for rule, bins in one["in_the_way"].items())
        way = ", ".join(rules) or "nothing, in some bin: it fits"
        print_line(f"{name_of(one['ball'])} is not placed: {way}")
    if 0 < len(found) < count:
        print_line(f"and {count - len(found):,} more: binwright solve FILE --explain ANSWER --ball N")


def _print_moves(moves: list[dict[str, Any]], ball_name: Callable[[int], str], bin_name: Callable[[int], str]) -> None:
    """Say which balls leave their bins."""
    each = (
        f"{ball_name(one['ball'])} from {bin_name(one['from'])} to "
        f"{'nowhere' if one['to'] is None else bin_name(one['to'])}"
        for one in moves
    )
    listed = ", ".join(islice(each, MOVES))
    more = f", and {len(moves) - MOVES:,} more" if len(moves) > MOVES else ""
    how_many = "1 ball moves" if len(moves) == 1 else f"{len(moves):,} balls move"
    print_line(f"{how_many}{': ' if moves else ''}{listed}{more}")


def _ranges(numbers: Iterable[int]) -> str:
    """0-2, 5."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    more = f" and {len(runs) - RUNS:,} ranges more" if len(runs) > RUNS else ""
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in runs[:RUNS]) + more
