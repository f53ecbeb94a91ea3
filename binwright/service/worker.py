"""What a worker process does: it gets a job as JSON, and sends lines of JSON. Nothing is unpickled of a client.

The process that forks workers imports this module, so that they start with everything imported and compiled.
"""

from __future__ import annotations

import gc
import json
import re
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import starmap
from multiprocessing.connection import Connection
from typing import Any

from binwright.agents.solver import examples, problem
from binwright.agents.solver.language.errors import SpecError
from binwright.agents.solver.local import runs
from binwright.agents.solver.model.problem import Fault, Problem
from binwright.agents.solver.model.program import MICRO
from binwright.agents.solver.model.verify import faults
from binwright.agents.solver.solving.answer import Answer, Progress
from binwright.agents.solver.solving.solve import solve
from binwright.placements import bins, placed
from binwright.service.limits import Limits, confine
from binwright.service.models import MOST, OURS, Submission, failure
from binwright.simcore.errors import UserError
from binwright.solver_json import as_json

SHOWN = 200_000
"""Dimensions whose utilisation goes with the answer, at most."""
KINDS = ("vm-placement", "oktopus")
"""A vector problem and one that is not: each search loads its kernels."""
TOLD = ("search", "checked", "seconds", "interrupted", "impossible")
"""What a search says of itself."""


def warm_up() -> None:
    """Import and compile all that a job needs, and have the garbage collector leave it alone."""
    for kind in KINDS:
        solve(problem(examples()[kind]), attempts=1)
    for _ in runs.attempts(problem(examples()[KINDS[1]]), 0, 0, 1):  # `solve` does so only where other attempts fail
        pass
    gc.collect()
    gc.freeze()


def run(pipe: Connection, request: str, result: dict[str, Any] | None, limits: Limits, seconds: float) -> None:
    """Search for an answer to a request, or verify one that is `result`; send it."""

    def send(**message: Any) -> None:
        pipe.send_bytes(json.dumps(message, allow_nan=False).encode())

    def answer() -> dict[str, Any]:
        """Answer by {"found": ...} or {"result": ...}, or by {"error": ..., "state": ...}."""
        submission = Submission.model_validate_json(request)
        compiled = compile_request(submission, limits)
        if result is not None:
            return verified(compiled, result, limits)

        def tell(now: Progress) -> None:
            more = {"balls": compiled.balls, "searched": compiled.searched, "seconds": round(now.seconds, 3)}
            send(progress=asdict(now) | more)

        how = submission.model_dump(include={"search", "seed", "time", "attempts"})
        return {"found": _found(solve(compiled, progress=tell, **how))}

    with suppress(BrokenPipeError, KeyboardInterrupt):
        confine(limits.memory, seconds)
        try:
            send(**answer())
        except UserError as error:
            at = error.at if isinstance(error, SpecError) else None
            place = {"line": at.line, "column": at.column} if at else {}
            send(**failure(error.problem, error.remedy, "refused", **place))
        except MemoryError:
            problem = f"takes more than {limits.memory / 2**20:,.0f} MB of memory"
            send(**failure(problem, "Make the problem smaller."))
        except BrokenPipeError:
            raise
        except Exception:
            traceback.print_exc()
            send(**failure("the solver failed", OURS))


def _has_truth(entries: list[Any]) -> bool:
    """Tell whether there is true or false among the entries of a table, or of its rows."""
    return any(_has_truth(entry) if isinstance(entry, list) else isinstance(entry, bool) for entry in entries)


def compile_request(request: Submission, limits: Limits) -> Problem:
    """Compile a submission; a `UserError` if it is wrong, or beyond the limits."""

    def where(ball_names: Sequence[str], bin_names: Sequence[str]) -> list[int]:
        try:
            return bins(request.now or [], ball_names, bin_names)
        except (ValueError, TypeError) as error:
            remedy = "Give the bin of every ball, or an object from balls to bins."
            raise UserError(f"now does not say where balls are: {error}", remedy=remedy) from None

    def make(now: Sequence[int] | None) -> Problem:
        return problem(request.text, tables=request.tables, params=request.params, now=now)

    if unread := [name for name in request.tables if not re.search(rf"\b{name}\b", request.text)]:
        raise UserError(f"the specification reads no table {unread[0]}", remedy="Leave it out, or mend its name.")
    for name, entries in request.tables.items():
        if _has_truth(entries):
            raise UserError(f"{name} is not numeric", remedy="Give integers or floats: 1 for true, and 0 for false.")
    compiled = placed(make, None if request.now is None else where, request.moves, request.drain)
    for what, count in (("balls", compiled.balls), ("bins", compiled.bins)):
        if count > limits.balls:
            raise UserError(f"{count:,} {what} are too many for this service", remedy=f"There can be {limits.balls:,}.")
    return compiled


def _found(answer: Answer) -> dict[str, Any]:
    """Say what a search has found, from which `verified` makes an answer once more."""
    objective = answer.problem.objective
    return {name: getattr(answer, name) for name in ("alloc", "bins", "bound", "at_fault", "notes", *TOLD)} | {
        "goal_bounds": [goal.bound for goal in objective.goals] if objective else []
    }


def verified(compiled: Problem, result: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Make an answer of what a search says that it has found, if it is one: nobody believes whoever searched.

    The bounds, and why a problem is impossible, are the search's word.
    """
    alloc, count, bound = result["alloc"], result["bins"], result["bound"]
    if not all(type(number) is int and abs(number) < MOST for number in (*alloc, count, bound)):
        return _untrue("a place or a number of bins is no whole number below 2^31")
    low, high = compiled.limits if compiled.searched else (compiled.bins, compiled.bins)
    if not low <= count <= min(high, limits.balls) or not 0 <= bound <= count:
        return _untrue(f"{count} bins, and at least {bound}")
    problem = compiled.with_bins(count) if compiled.searched else compiled
    if problem.objective and len(result["goal_bounds"]) == len(problem.objective.goals):
        problem = replace(problem, objective=problem.objective.bounded(result["goal_bounds"]))
    if wrong := faults(problem, alloc):
        return _untrue(wrong[0])
    at_fault = tuple(starmap(Fault, result["at_fault"]))
    content = {name: result[name] for name in TOLD}
    answer = Answer(problem, alloc, bound=bound, at_fault=at_fault, of_search=result["notes"], **content)
    if any((goal.value - goal.bound) * (1 if goal.aim == "MINIMISE" else -1) < 0 for goal in answer.goals):
        return _untrue("a goal is better than its bound")
    return {"result": as_json(answer) | {"resources": _resources(problem, answer.utilisation)}}


def _untrue(problem: str) -> dict[str, Any]:
    return failure(f"the search gave a wrong answer: {problem}", OURS)


def _resources(problem: Problem, used: Sequence[int]) -> list[dict[str, Any]] | None:
    """Say what is used of every dimension, by resource; None if there are very many."""
    if problem.dims > SHOWN:
        return None
    capacity = problem.capacity.tolist()
    parts = [(family, slice(family.offset, family.offset + family.count)) for family in problem.families]
    return [
        {
            "name": family.name,
            "sizes": list(family.sizes),
            "by_bin": bool(family.sizes) and family.sizes[0] == problem.bins,
            "used": [amount / MICRO for amount in used[part]],
            "capacity": [amount / MICRO for amount in capacity[part]],
        }
        for family, part in parts
    ]
