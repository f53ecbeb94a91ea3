"""`solve`: specifications of allocation problems and their answers."""

from __future__ import annotations

import csv
import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.live import Live
from rich.table import Table

from binwright.commands.console import out
from simcore.errors import UserError

if TYPE_CHECKING:
    from agents.solver.program import Problem
    from agents.solver.solve import Answer, Progress

UNSOLVED = 1
"""Exit code: no allocation of all balls was found."""


def solve(asked: Namespace) -> int:
    """`binwright solve FILE`."""
    from agents.solver import load_problem
    from agents.solver.solve import solve as search
    from simcore.units import TIME

    seconds = TIME.parse(asked.time)
    problem = load_problem(asked.file, dict(map(_param, asked.sets)))
    if asked.check:
        if asked.json:
            print(json.dumps(properties(problem)))
        else:
            _print_properties(problem)
        return 0
    quiet = asked.json or asked.csv
    with Live(console=out, transient=True, auto_refresh=False) as live:
        show = _shower(live, problem) if out.is_terminal and not quiet else None
        answer = search(problem, device=asked.device, seed=asked.seed, time=seconds, progress=show)
    if asked.json:
        print(json.dumps(_as_json(answer)))
    elif asked.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(("ball", "bin"))
        writer.writerows((ball, "" if place < 0 else place) for ball, place in enumerate(answer.alloc))
    else:
        _print_answer(answer)
    return 0 if answer.status in ("optimal", "solved") else UNSOLVED


def properties(problem: Problem) -> dict[str, Any]:
    """What the compiler knows of a problem."""
    proven = problem.program
    names = ("alloc_free", "non_negative", "bin_local", "bin_blind", "distinct", "steps", "adds")
    return {
        "balls": problem.balls,
        "bins": "?" if problem.searched else problem.bins,
        "dims": problem.dims,
        "resources": {family.name: list(family.sizes) for family in problem.families},
        **{name: getattr(proven, name) for name in names},
        "vector": problem.matrix() is not None,
        "guards": [{"line": line, "what": what} for line, what in proven.guards],
    }


_MEANING = {
    "alloc_free": "what a ball uses does not depend on the others",
    "non_negative": "no ball frees what others use",
    "bin_local": "a ball touches dimensions of its own bin only",
    "bin_blind": "what a ball uses does not depend on which bin it is in",
    "distinct": "no call touches a dimension twice",
    "vector": "has a dense form, for the fast searches",
}


def _print_properties(problem: Problem) -> None:
    known = properties(problem)
    size = f"{known['balls']} balls, {known['bins']} bins, {known['dims']} dimensions"
    more = " with as few bins as may be tried" if problem.searched else ""
    out.print(f"{size}{more}", highlight=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=False)
    for name, meaning in _MEANING.items():
        table.add_row(name.replace("_", "-"), "yes" if known[name] else "no", meaning)
    table.add_row("steps", f"{known['steps']:,}", "at most, per call of UTILFN")
    table.add_row("additions", f"{known['adds']:,}", "at most, per call of UTILFN")
    out.print(table)
    for guard in known["guards"]:
        out.print(f"line {guard['line']}: {guard['what']} is tested at run time, and rejects", highlight=False)


def _shower(live: Live, problem: Problem) -> Callable[[Progress], None]:
    """Prints one line, again and again."""

    def show(now: Progress) -> None:
        pace = now.checked / max(now.seconds, 1e-9)
        bins = f"{now.bins} bins (bound {now.bound})"
        placed = f"{now.placed} of {len(problem.units)} placed"
        live.update(f"{bins}, {placed}, {now.checked:,} solutions checked, {pace:,.0f}/s", refresh=True)

    return show


def _print_answer(answer: Answer) -> None:
    """The answer as a table, bin by bin."""
    problem = answer.problem
    table = Table("bin", "balls", "", box=box.SIMPLE_HEAD, pad_edge=False)
    alloc = np.array(answer.alloc)
    for place in range(answer.bins):
        balls = np.flatnonzero(alloc == place)
        table.add_row(str(place), str(len(balls)), _ranges(balls.tolist()))
    out.print(table)
    left = np.flatnonzero(alloc < 0)
    if len(left):
        out.print(f"not placed: {_ranges(left.tolist())}", highlight=False, soft_wrap=True)
    bins = f"{answer.bins} bins"
    if problem.searched:
        bins += f" (bound {answer.bound}, gap {answer.gap})"
    placed = f"{answer.placed} of {problem.balls} balls in {bins}"
    checked = f"{answer.checked:,} solutions checked in {answer.seconds:.2f} s"
    ended = ", interrupted" if answer.interrupted else ""
    out.print(f"{answer.status}{ended}: {placed}; {checked}", highlight=False, soft_wrap=True)


def _ranges(numbers: Iterable[int]) -> str:
    """0-2, 5."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def _as_json(answer: Answer) -> dict[str, Any]:
    return {
        "status": answer.status,
        "interrupted": answer.interrupted,
        "bins": answer.bins,
        "bound": answer.bound,
        "gap": answer.gap,
        "placed": answer.placed,
        "balls": answer.problem.balls,
        "checked": answer.checked,
        "seconds": round(answer.seconds, 6),
        "alloc": [None if place < 0 else place for place in answer.alloc],
    }


def _param(text: str) -> tuple[str, str]:
    """`RACKS=4`."""
    name, equals, value = text.partition("=")
    if not equals:
        raise UserError("is no parameter", key=f"--set {text}", remedy="Write --set PARAM=number.")
    return name, value
