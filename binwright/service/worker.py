"""What a worker process does: it gets problems as JSON over a pipe, and answers in JSON. Nothing is unpickled here."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import starmap
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from binwright.agents.solver import problem
from binwright.agents.solver.backends.opencl_devices import Device, trust
from binwright.agents.solver.language.errors import SpecError
from binwright.agents.solver.model.problem import Fault, Problem
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.verify import faults, utilisation
from binwright.agents.solver.solving.answer import Allocated, Answer, Progress, described
from binwright.agents.solver.solving.solve import solve
from binwright.placements import bins, placed
from binwright.service.limits import Limits
from binwright.service.models import Found, Mistake, failed
from binwright.simcore.errors import UserError
from binwright.solver_json import as_json, properties

PR_SET_PDEATHSIG = 1
FILES = 64
"""Open files of a worker."""
FILES_ON_DEVICES = 1024
"""The same, where it uses the driver of a device."""
SHOWN = 200_000
"""Dimensions whose utilisation goes with the answer, at most."""
ADDRESSES, DATA = 0, 5
"""Columns of /proc/self/statm."""


def run(pipe: Connection, limits: Limits, cpu_seconds: float, core: int | None, devices: Sequence[Device]) -> None:
    """Live as a worker: say that it has begun, and do one request after another, which may use these devices."""
    trust(devices)
    _confine(limits, cpu_seconds, core, bool(devices))
    try:
        _send(pipe)
        while True:
            do, asked, found = pipe.recv_bytes().decode(), json.loads(pipe.recv_bytes()), pipe.recv_bytes()
            _send(pipe, **_answered(pipe, do, asked, found, limits))
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        pass


def _confine(limits: Limits, cpu_seconds: float, core: int | None, on_device: bool) -> None:
    """Limit that the kernel keeps; and no outliving the process that forks workers, which ends with the server.

    Drivers of graphics cards reserve addresses for all memory that there is, so there only what is written is limited.
    """
    os.setpgid(0, 0)  # Ctrl-C in the terminal is the server's
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    cores = sorted(os.sched_getaffinity(0))
    if core is not None:
        os.sched_setaffinity(0, {cores[core % len(cores)]})
    seconds = int(cpu_seconds) + 1
    memory = resource.RLIMIT_DATA if on_device else resource.RLIMIT_AS
    taken = _pages(DATA if on_device else ADDRESSES) * resource.getpagesize()
    for what, most in (
        (memory, taken + limits.memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_NOFILE, FILES_ON_DEVICES if on_device else FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def _pages(of: int) -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[of])


def _answered(pipe: Connection, do: str, asked: Mapping[str, Any], found: bytes, limits: Limits) -> dict[str, Any]:
    """Answer by {"properties": ...}, {"found": ...} or {"result": ...}, or by {"error": ..., "state": ...}."""
    try:
        compiled = _compile(asked, limits)
        if do == "check":
            return {"properties": properties(compiled)}
        if do == "verify":
            return _verified(compiled, found, limits)
        balls = compiled.balls

        def tell(now: Progress) -> None:
            more = {"balls": balls, "searched": compiled.searched, "seconds": round(now.seconds, 3)}
            _send(pipe, progress=asdict(now) | more)

        options = ("search", "device", "seed", "time", "attempts")
        how = {name: asked[name] for name in options}
        return {"found": _found(solve(compiled, progress=tell, **how))}
    except UserError as error:
        at = error.at if isinstance(error, SpecError) else None
        place = {"line": at.line, "column": at.column} if at else {}
        return {"state": "refused", "error": Mistake(message=error.problem, remedy=error.remedy, **place).model_dump()}
    except MemoryError:
        problem = f"takes more than {limits.memory / 2**20:,.0f} MB of memory"
        return failed(problem, "Make the problem smaller.")
    except BrokenPipeError:
        raise
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
        return failed("the solver failed", "This is our mistake; the server's log has the details.")


def _compile(asked: Mapping[str, Any], limits: Limits) -> Problem:
    def where(ball_names: Sequence[str], bin_names: Sequence[str]) -> list[int]:
        try:
            return bins(asked["now"], ball_names, bin_names)
        except (ValueError, TypeError) as error:
            remedy = "Give the bin of every ball, or an object from balls to bins."
            raise UserError(f"now does not say where balls are: {error}", remedy=remedy) from None

    def make(now: Sequence[int] | None) -> Problem:
        return problem(asked["text"], tables=asked["tables"], params=asked["params"], now=now)

    compiled = placed(make, None if asked["now"] is None else where, asked["moves"], asked["drain"])
    for what, count, most in (
        ("balls", compiled.balls, limits.balls),
        ("bins", compiled.bins, limits.balls),
        ("dimensions", compiled.dims, limits.dims),
    ):
        if count > most:
            raise UserError(f"{count:,} {what} are too many for this service", remedy=f"There can be {most:,}.")
    return compiled


def _found(answer: Answer) -> dict[str, Any]:
    """Say what a search has found, from which `_verified` makes an answer once more."""
    said = ("alloc", "bins", "bound", "checked", "seconds", "search", "interrupted", "impossible", "notes")
    objective = answer.problem.objective
    return {name: getattr(answer, name) for name in said} | {
        "at_fault": [[*one] for one in answer.at_fault],
        "goal_bounds": [goal.bound for goal in objective.goals] if objective else [],
    }


def _verified(compiled: Problem, said: bytes, limits: Limits) -> dict[str, Any]:
    """Make an answer of what a search says that it has found, if it is one: nobody believes whoever searched.

    The bounds, and why a problem is impossible, are the search's word.
    """
    try:
        found = Found.model_validate_json(said, strict=True)
    except ValidationError as error:
        return _untrue(f"what the search said is no answer: {error.errors()[0]['msg']}")
    low, high = compiled.limits if compiled.searched else (compiled.bins, compiled.bins)
    if not low <= found.bins <= min(high, limits.balls) or found.bound > found.bins:
        return _untrue(f"the search gave a wrong answer: {found.bins} bins, and at least {found.bound}")
    problem = compiled.with_bins(found.bins) if compiled.searched else compiled
    if problem.objective and len(found.goal_bounds) == len(problem.objective.goals):
        problem = replace(problem, objective=problem.objective.bounded(found.goal_bounds))
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
    return {"result": _as_json(answer)}


def _untrue(problem: str) -> dict[str, Any]:
    return failed(problem, "This is our mistake, or that of a machine that works for the service.")


def _as_json(answer: Answer) -> dict[str, Any]:
    """Shape an answer as JSON, with what it uses of every dimension."""
    problem = answer.problem
    families = None
    if problem.dims <= SHOWN:
        used, _ = utilisation(problem, answer.alloc)
        capacity = problem.capacity.tolist()
        families = [
            {
                "name": family.name,
                "sizes": list(family.sizes),
                "by_bin": bool(family.sizes) and family.sizes[0] == problem.bins,
                "used": [amount / MICRO for amount in used[family.offset : family.offset + family.count]],
                "capacity": [amount / MICRO for amount in capacity[family.offset : family.offset + family.count]],
            }
            for family in problem.families
        ]
    return as_json(answer) | {"searched": problem.searched, "resources": families}


def _send(pipe: Connection, **message: Any) -> None:
    pipe.send_bytes(json.dumps(message).encode())
