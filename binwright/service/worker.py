"""What a worker process does: it gets a job as JSON, and sends lines of JSON. Nothing is unpickled of a client.

The process that forks workers imports this module, so that they start with everything imported and compiled.
"""

import gc
import json
import re
import signal
import traceback
from contextlib import suppress
from dataclasses import asdict
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from binwright.agents.solver import examples, problem
from binwright.agents.solver.local.search import attempts
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.verify import faults, utilisation
from binwright.agents.solver.solving.answer import Progress, reached
from binwright.agents.solver.solving.solve import solve
from binwright.service.limits import Limits, confine
from binwright.service.models import OURS, Submission, failure
from binwright.simcore.errors import RunError, UserError

SHOWN = 200_000
"""Dimensions whose utilisation goes with the answer, at most."""


def warm_up() -> None:
    """Import and compile all that a job needs, and have the garbage collector leave it alone."""
    for kind in ("vm-placement", "oktopus"):  # a vector problem and one that is not: each search loads its kernels
        solve(problem(examples()[kind]), attempts=1)
    list(attempts(problem(examples()["oktopus"]), 0, 0, 1))  # `solve` does so only where other attempts fail
    gc.collect()
    gc.freeze()


def work(pipe: Connection, request: str, solution: dict[str, Any] | None, limits: Limits) -> None:
    """Do what `run` does, in a process that is born with the interrupt blocked; takes one only while it runs."""
    with suppress(KeyboardInterrupt):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        run(pipe, request, solution, limits)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def run(pipe: Connection, request: str, solution: dict[str, Any] | None, limits: Limits) -> None:
    """Search for an answer to a request, or verify a `solution`.

    Sends {"progress": ...}, and at the end {"solution": ...} or {"result": ...}, or {"error": ..., "state": ...}.
    """

    def send(**message: Any) -> None:
        pipe.send_bytes(json.dumps(message, allow_nan=False).encode())

    def answer() -> dict[str, Any]:
        compiled = compile_request(submission, limits)
        if solution is not None:
            return {"result": verified(compiled, solution)}

        def tell(now: Progress) -> None:
            more = {"balls": compiled.balls, "searched": compiled.searched, "seconds": round(now.seconds, 3)}
            send(progress=asdict(now) | more)

        how = submission.model_dump(include={"search", "seed", "time", "attempts"})
        return {"solution": solve(compiled, progress=tell, **how).as_json()}

    with suppress(BrokenPipeError):
        submission = Submission.model_validate_json(request)
        confine(limits.memory, limits.grace + submission.time)
        try:
            send(**answer())
        except UserError as error:
            at = getattr(error, "at", None)  # of a specification's mistake
            place = (at.line, at.column) if at and at.line else ()
            send(**failure(error.problem, error.remedy, "refused", *place))
        except MemoryError:
            send(**failure(f"takes more than {limits.memory / 2**20:,.0f} MB of memory", "Make the problem smaller."))
        except RunError as error:
            send(**failure(f"the search gave a wrong answer: {error}", OURS))
        except BrokenPipeError:
            raise
        except Exception:
            traceback.print_exc()
            send(**failure("the solver failed", OURS))


def compile_request(request: Submission, limits: Limits) -> Problem:
    """Compile a submission; a `UserError` if it is wrong, or beyond the limits."""
    if unread := request.tables.keys() - set(re.findall(r"\w+", request.text)):
        raise UserError(f"the text reads no table {min(unread)[:100]}", remedy="Leave it out, or mend its name.")
    tables, params, now = request.tables, request.params, request.now
    compiled = problem(request.text, tables=tables, params=params, now=now, moves=request.moves, drain=request.drain)
    for what, count in (("balls", compiled.balls), ("bins", compiled.bins)):
        if count > limits.balls:
            raise UserError(f"{count:,} {what} are too many for this service", remedy=f"There can be {limits.balls:,}.")
    return compiled


def verified(compiled: Problem, solution: dict[str, Any]) -> dict[str, Any]:
    """Replay an answer, and add what is used; a `RunError` if it breaks a rule or says of itself what is not so.

    The bounds, and why a problem is impossible, are the search's word.
    """
    alloc = [NULL if place is None else place for place in solution["alloc"]]
    problem = compiled.with_bins(solution["bins"]) if compiled.searched else compiled
    if wrong := faults(problem, alloc):
        raise RunError(wrong[0])
    goals = [goal.value for goal in reached(problem, alloc)]
    counted = {"bins": problem.bins, "placed": len(alloc) - alloc.count(NULL), "goals": goals}
    claimed = {name: solution[name] for name in ("bins", "placed")}
    claimed["goals"] = [goal["value"] for goal in solution["goals"]]
    if claimed != counted or not 0 <= solution["bound"] <= problem.bins:
        raise RunError(f"it says {claimed}, bound {solution['bound']}, of {counted}")
    return solution | {"resources": _resources(problem, utilisation(problem, alloc)[0])}


def _resources(problem: Problem, used: list[int]) -> list[dict[str, Any]] | None:
    """Say what is used of every dimension, by resource; None if there are very many."""
    if problem.dims > SHOWN:
        return None
    amounts, capacity = np.array([used, problem.capacity]) / MICRO
    parts = [(family, slice(family.offset, family.offset + family.count)) for family in problem.families]
    return [
        {"name": of.name, "sizes": list(of.sizes), "used": amounts[at].tolist(), "capacity": capacity[at].tolist()}
        for of, at in parts
    ]
