"""`solve --explain`: what an answer of the solver uses, and what stands in the way of a ball."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binwright.commands.console import new_table, out, print_line
from binwright.commands.solver_inputs import bins_of, problem_of
from binwright.commands.solver_output import print_goals, print_left
from binwright.simcore.errors import UserError, suggest
from binwright.solver_json import left, used
from binwright.solver_json import reached as reached_json

if TYPE_CHECKING:
    from binwright.agents.solver.model.problem import Problem
    from binwright.agents.solver.solving.answer import Reached

SHOWN = 100
"""Bins of a table."""


def explain(args: Namespace) -> int:
    """Answer `binwright solve FILE --explain ANSWER`."""
    from binwright.agents.solver.solving.answer import reached
    from binwright.agents.solver.solving.explain import Explained

    file = Path(args.explain)
    given = problem_of(args)
    problem, alloc = _right(given, bins_of(file, given.ball_names, given.bin_names), file)
    explained = Explained(problem, alloc)
    balls = []
    for ball in (_ball(one, problem.ball_names) for one in args.balls):
        bins = [
            {"bin": place, "in_the_way": [one._asdict() for one in them]} for place, them in explained.obstacles(ball)
        ]
        balls.append({"ball": ball, "is_in": None if alloc[ball] < 0 else alloc[ball], "bins": bins})
    goals = reached_json(_as_proven(reached(problem, alloc), file)) if min(alloc) >= 0 else []
    found: dict[str, Any] = {"resources": used(problem, alloc), "goals": goals, "left": left(problem, alloc)}
    found["balls"] = balls
    if args.json:
        print(json.dumps(found))
        return 0
    if balls:
        for one in balls:
            _print_ball(one, problem)
        return 0
    _print_uses(found["resources"])
    print_goals(goals, largest=True)
    print_left(found["left"], sum(place < 0 for place in alloc), _called(problem.ball_names))
    return 0


def _as_proven(goals: Sequence[Reached], file: Path) -> list[Reached]:
    """Take the bounds that the search proved from its answer, which has them in JSON."""
    answer = file.read_text("utf-8").lstrip()
    known = json.loads(answer).get("goals", ()) if answer.startswith("{") else ()
    bounds = {(goal.get("aim"), goal.get("text"), goal.get("value")): goal.get("bound") for goal in known}
    return [
        goal._replace(bound=goal.bound if (bound := bounds.get((goal.aim, goal.text, goal.value))) is None else bound)
        for goal in goals
    ]


def _called(names: Sequence[str]) -> Callable[[int], str]:
    return names.__getitem__ if names else str


def _ball(text: str, names: Sequence[str]) -> int:
    """Read the name of a ball, or its number."""
    if text in names:
        return names.index(text)
    if not text.isdecimal():
        remedy = suggest(text, names) if names else "Write its number."
        raise UserError("there is no such ball", key="--ball", value=text, remedy=remedy)
    return int(text)


def _right(problem: Problem, bins: list[int], file: Path) -> tuple[Problem, list[int]]:
    """Return the problem with as many bins as the answer has, and the answer; refuse one that breaks a rule."""
    from binwright.agents.solver.model.verify import faults

    if problem.searched:
        problem = problem.with_bins(max(problem.limits[0], max(bins) + 1))
    wrong = faults(problem, bins)
    if wrong:
        remedy = "Give the answer to this specification, with the same --set, --from, --moves and --drain."
        raise UserError(f"is not right: {wrong[0]}", file=file, remedy=remedy)
    return problem, bins


def _print_uses(found: list[dict[str, Any]]) -> None:
    table = new_table("resource", ">used", ">of", ">", "fullest", ">", ">over")
    for one in found:
        share = f"{one['used'] / one['capacity']:.0%}" if one["capacity"] else ""
        fullest = "" if one["share"] is None else f"{one['share']:.0%}"
        amounts = f"{one['used']:,.10g}", f"{one['capacity']:,.10g}"
        table.add_row(one["name"], *amounts, share, one["fullest"], fullest, str(one["over"] or ""))
    out.print(table)


def _print_ball(found: dict[str, Any], problem: Problem) -> None:
    """Say for every bin what stands in the way."""
    called = _called(problem.bin_names)
    where = "not placed" if found["is_in"] is None else f"in bin {called(found['is_in'])}"
    name = _called(problem.ball_names)(found["ball"])
    print_line(f"ball {name} is {where}")
    table = new_table("bin", "in the way")
    for one in found["bins"][:SHOWN]:
        here = "it is here" if one["bin"] == found["is_in"] else "nothing: it fits"
        table.add_row(called(one["bin"]), "; ".join(each["text"] for each in one["in_the_way"]) or here)
    out.print(table)
    if len(found["bins"]) > SHOWN:
        print_line(f"and {len(found['bins']) - SHOWN:,} bins more: --json has them all")
