"""Print an answer of the solver."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from rich.markup import escape

from binwright.commands.console import new_table, out, print_line
from binwright.simcore.units import many_of

SHOWN, WHY = 100, 3
"""Of a list so much is printed, and the obstacles of so many balls."""
MEANING = {
    "alloc_free": "what a ball uses does not depend on the others",
    "non_negative": "no ball frees what others use",
    "bin_local": "a ball touches dimensions of its own bin only",
    "bin_blind": "what a ball uses does not depend on which bin it is in",
    "vector": "has a dense form, for the fast searches",
}
Name = Callable[[int], str]


def names_in(answer: dict[str, Any]) -> list[Name]:
    """Return what says how a ball, and a bin, of an answer is called."""
    return [called(answer.get(f"{kind}_names")) for kind in ("ball", "bin")]


def called(names: Sequence[str] | None) -> Name:
    """Return what says how something is called, by its number where there are no names."""
    return names.__getitem__ if names else str


def print_answer(result: dict[str, Any]) -> None:
    """Print the answer as a table, bin by bin."""
    ball_name, bin_name = names_in(result)
    listed = _ranges if not result["ball_names"] else lambda balls: _first(map(ball_name, balls))
    table = new_table("bin", ">balls", "")
    alloc = np.array([-1 if place is None else place for place in result["alloc"]])
    for place in range(min(result["bins"], SHOWN)):
        balls = np.flatnonzero(alloc == place).tolist()
        table.add_row(escape(bin_name(place)), str(len(balls)), escape(listed(balls)))
    out.print(table)
    if result["bins"] > SHOWN:
        print_line(f"and {result['bins'] - SHOWN:,} bins more: --json has them all")
    if left := np.flatnonzero(alloc < 0).tolist():
        print_line(f"not placed: {listed(left)}")
        print_left(result["left"][:WHY], len(left), ball_name)
    if result["impossible"]:
        print_line(f"not all can be placed: {result['impossible']}")
    if faults := result["at_fault"]:
        lines = (fault["what"] + (f" in line {fault['line']}" if fault["line"] else "") for fault in faults)
        print_line(f"at fault: {', '.join(lines)}")
    print_goals(result["goals"])
    if (moves := result["moves"]) is not None:
        ends = ((ball_name(each["ball"]), bin_name(each["from"]), each["to"]) for each in moves)
        which = _first(f"{ball} from {one} to {'nowhere' if to is None else bin_name(to)}" for ball, one, to in ends)
        verb = "moves" if len(moves) == 1 else "move"
        print_line(f"{many_of(len(moves), 'ball')} {verb}{': ' if moves else ''}{which}")
    for note in result["notes"]:
        print_line(note)
    bins = many_of(result["bins"], "bin")
    if result["used"] < result["bins"]:
        bins = f"{result['used']} of {bins}"
    if result["searched"]:
        bins += f" (bound {result['bound']}, gap {result['gap']})"
    placed = f"{result['placed']} of {result['balls']} balls in {bins}"
    checked = f"{result['search']}: {many_of(result['checked'], 'solution')} checked in {result['seconds']:.2f} s"
    ended = ", interrupted" if result["interrupted"] else ""
    print_line(f"{result['status']}{ended}: {placed}; {checked}")


def print_goals(goals: list[dict[str, Any]]) -> None:
    """Say what became of every goal."""
    for goal in goals:
        best = "no allocation is better" if goal["gap"] == 0 else f"bound {goal['bound']:,.15g}"
        print_line(f"{goal['aim'].lower()} {goal['text']}: {goal['value']:,.15g} ({best})")


def print_left(result: list[dict[str, Any]], count: int, name_of: Name) -> None:
    """Say what stands in the way of balls that are left out, of so many."""
    for each in result:
        rules = (f"{rule} in {many_of(bins, 'bin')}" for rule, bins in each["in_the_way"].items())
        print_line(f"{name_of(each['ball'])} is not placed: {', '.join(rules) or 'nothing, in some bin: it fits'}")
    if 0 < len(result) < count:
        print_line(f"and {count - len(result):,} more: binwright solve FILE --explain ANSWER --ball N")


def print_ball(result: dict[str, Any], ball_name: Name, bin_name: Name) -> None:
    """Say for every bin what stands in the way of a ball."""
    where = "not placed" if result["is_in"] is None else f"in bin {bin_name(result['is_in'])}"
    print_line(f"ball {ball_name(result['ball'])} is {where}")
    table = new_table("bin", "in the way")
    for place in result["bins"][:SHOWN]:
        why = "it is here" if place["bin"] == result["is_in"] else "nothing: it fits"
        table.add_row(bin_name(place["bin"]), "; ".join(each["text"] for each in place["in_the_way"]) or why)
    out.print(table)
    if len(result["bins"]) > SHOWN:
        print_line(f"and {len(result['bins']) - SHOWN:,} bins more: --json has them all")


def print_properties(known: dict[str, Any]) -> None:
    """Print what the compiler knows of a problem."""
    size = f"{known['balls']} balls, {known['bins']} bins, {known['dims']} dimensions"
    print_line(f"{size}{' with as few bins as may be tried' if known['bins'] == '?' else ''}")
    table = new_table(show_header=False)
    for name, meaning in MEANING.items():
        table.add_row(name.replace("_", "-"), "yes" if known[name] else "no", meaning)
    for name, key in (("steps", "steps"), ("additions", "adds")):
        table.add_row(name, f"{known[key]:,}", "at most, per call of UTILFN")
    out.print(table)
    for guard in known["guards"]:
        print_line(f"line {guard['line']}: {guard['what']} is tested at run time, and rejects")


def _first(words: Iterable[str]) -> str:
    """Write the first words, and how many more there are."""
    every = list(words)
    return ", ".join(every[:SHOWN]) + (f", and {len(every) - SHOWN:,} more" if len(every) > SHOWN else "")


def _ranges(numbers: Iterable[int]) -> str:
    """Write numbers as 0-2, 5."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return _first(str(low) if low == high else f"{low}-{high}" for low, high in runs)
