"""What a worker process does: it gets a job as JSON, and sends lines of JSON. Nothing is unpickled of a client.

The process that forks workers imports this module, so that they start with everything imported and compiled.
"""

from __future__ import annotations

import gc
import json
import re
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import starmap
from multiprocessing.connection import Connection
from typing import Any

from pydantic import ValidationError

from binwright.agents.solver import examples, problem
from binwright.agents.solver.language.errors import SpecError
from binwright.agents.solver.local import runs
from binwright.agents.solver.model.problem import Fault, Problem
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.verify import faults, utilisation
from binwright.agents.solver.solving.answer import Allocated, Answer, Progress, described
from binwright.agents.solver.solving.solve import solve
from binwright.placements import bins, placed
from binwright.service.limits import Limits, confine
from binwright.service.models import Found
from binwright.service.store import failure
from binwright.simcore.errors import UserError
from binwright.solver_json import as_json

SHOWN = 200_000
"""Dimensions whose utilisation goes with the answer, at most."""
KINDS = ("vm-placement", "oktopus")
"""A vector problem and one that is not: each search loads its kernels."""


def warm_up() -> None:
    """Import and compile all that a job needs, and have the garbage collector leave it alone."""
    for kind in KINDS:
        solve(problem(examples()[kind]), attempts=1)
    runs.prepare(problem(examples()[KINDS[1]]))  # `solve` does so only where other attempts fail
    gc.collect()
    gc.freeze()


def run(pipe: Connection, request: str, found: str, limits: Limits, seconds: float) -> None:
    """Search for an answer to a request, or if one is `found` (JSON, or null) verify that; send it."""
    with suppress(BrokenPipeError, KeyboardInterrupt):
        confine(limits.memory, seconds)
        _send(pipe, **_answered(pipe, json.loads(request), found, limits))


def _answered(pipe: Connection, request: Mapping[str, Any], found: str, limits: Limits) -> dict[str, Any]:
    """Answer by {"found": ...} or {"result": ...}, or by {"error": ..., "state": ...}."""
    try:
        compiled = compile_request(request, limits)
        if found != "null":
            return verified(compiled, found, limits)

        def tell(now: Progress) -> None:
            more = {"balls": compiled.balls, "searched": compiled.searched, "seconds": round(now.seconds, 3)}
            _send(pipe, progress=asdict(now) | more)

        how = {name: request[name] for name in ("search", "seed", "time", "attempts")}
        return {"found": _found(solve(compiled, progress=tell, **how))}
    except UserError as error:
        at = error.at if isinstance(error, SpecError) else None
        place = {"line": at.line, "column": at.column} if at else {}
        return failure(error.problem, error.remedy, "refused", **place)
    except MemoryError:
        problem = f"takes more than {limits.memory / 2**20:,.0f} MB of memory"
        return failure(problem, "Make the problem smaller.")
    except BrokenPipeError:
        raise
    except Exception:
        traceback.print_exc()
        return failure("the solver failed", "This is our mistake; the server's log has the details.")


def compile_request(request: Mapping[str, Any], limits: Limits) -> Problem:
    """Compile a submission; a `UserError` if it is wrong, or beyond the limits."""

    def where(ball_names: Sequence[str], bin_names: Sequence[str]) -> list[int]:
        try:
            return bins(request["now"], ball_names, bin_names)
        except (ValueError, TypeError) as error:
            remedy = "Give the bin of every ball, or an object from balls to bins."
            raise UserError(f"now does not say where balls are: {error}", remedy=remedy) from None

    def make(now: Sequence[int] | None) -> Problem:
        return problem(request["text"], tables=request["tables"], params=request["params"], now=now)

    if unread := [name for name in request["tables"] if not re.search(rf"\b{name}\b", request["text"])]:
        raise UserError(f"the specification reads no table {unread[0]}", remedy="Leave it out, or mend its name.")
    compiled = placed(make, None if request["now"] is None else where, request["moves"], request["drain"])
    for what, count, most in (
        ("balls", compiled.balls, limits.balls),
        ("bins", compiled.bins, limits.balls),
        ("dimensions", compiled.dims, limits.dims),
    ):
        if count > most:
            raise UserError(f"{count:,} {what} are too many for this service", remedy=f"There can be {most:,}.")
    return compiled


def _found(answer: Answer) -> dict[str, Any]:
    """Say what a search has found, from which `verified` makes an answer once more."""
    names = ("alloc", "bins", "bound", "checked", "seconds", "search", "interrupted", "impossible", "notes")
    objective = answer.problem.objective
    return {name: getattr(answer, name) for name in names} | {
        "at_fault": [[*fault] for fault in answer.at_fault],
        "goal_bounds": [goal.bound for goal in objective.goals] if objective else [],
    }


def verified(compiled: Problem, text: str, limits: Limits) -> dict[str, Any]:
    """Make an answer of what a search says that it has found, if it is one: nobody believes whoever searched.

    The bounds, and why a problem is impossible, are the search's word.
    """
    try:
        found = Found.model_validate_json(text, strict=True)
    except ValidationError as error:
        return _untrue(f"what the search said is no answer: {error.errors()[0]['msg']}")
    low, high = compiled.limits if compiled.searched else (compiled.bins, compiled.bins)
    if not low <= found.bins <= min(high, limits.balls) or found.bound > found.bins:
        return _untrue(f"the search gave a wrong answer: {found.bins} bins, and at least {found.bound}")
    problem = compiled.with_bins(found.bins) if compiled.searched else compiled
    if problem.objective and len(found.goal_bounds) == len(problem.objective.goals):
        bounds = [goal.signed(raw) for goal, raw in zip(problem.objective.goals, found.goal_bounds, strict=True)]
        problem = replace(problem, objective=problem.objective.bounded(bounds))
    if wrong := faults(problem, found.alloc):
        return _untrue(f"the search gave a wrong answer: {wrong[0]}")
    left = len({unit for unit, place in zip(problem.unit_of.tolist(), found.alloc, strict=True) if place == NULL})
    answer = described(
        Allocated(left, problem, found.alloc, found.search), found.bound, checked=found.checked, seconds=found.seconds,
        interrupted=found.interrupted, impossible=found.impossible, at_fault=tuple(starmap(Fault, found.at_fault)),
        notes=found.notes,
    )  # fmt: skip
    if any((goal.value - goal.bound) * (1 if goal.aim == "MINIMISE" else -1) < 0 for goal in answer.goals):
        return _untrue("the search gave a wrong answer: a goal is better than its bound")
    return {"result": as_json(answer) | {"resources": _resources(problem, found.alloc)}}


def _untrue(problem: str) -> dict[str, Any]:
    return failure(problem, "This is our mistake; the server's log has the details.")


def _resources(problem: Problem, alloc: Sequence[int]) -> list[dict[str, Any]] | None:
    """Say what is used of every dimension, by resource; None if there are very many."""
    if problem.dims > SHOWN:
        return None
    used, _ = utilisation(problem, alloc)
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


def _send(pipe: Connection, **message: Any) -> None:
    pipe.send_bytes(json.dumps(message).encode())
