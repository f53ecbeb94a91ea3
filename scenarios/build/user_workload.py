"""Requests that a class of the user's own draws; what it does wrong is a message that says where."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from binwright.scenarios.build.code import of
from binwright.scenarios.schema.workload import OwnWorkload
from binwright.simcore.errors import UserError, WorkloadError, place_of
from binwright.simcore.file_tracking import is_ours
from binwright.simcore.options import Registered
from binwright.simcore.workload import Workload

DRAWING = "`draw(resources, seed)` returns a binwright.Workload: see the page 'Traces and generated workloads'."


def is_drawn(spec: OwnWorkload) -> bool:
    """Tell whether the requests depend on the seed: they do unless the class says `drawn = False`."""
    return getattr(spec.registry.load(spec.chosen[0]), "drawn", True) is not False


def identity_of(spec: Registered) -> str:
    """Write what determines what a class makes: its code and its options, in which 1 is not true."""
    name, options = spec.chosen
    return json.dumps([name, of(spec.registry.load(name)), options], sort_keys=True, default=repr)


def draw(spec: OwnWorkload, resources: tuple[str, ...], seed: int) -> Workload:
    """Draw the requests of a seed, and refuse what no run can meet."""
    name = spec.chosen[0]
    with guarded(name, "workload", DRAWING):
        drawn = spec.build().draw(resources, seed)
        problem = _problem(drawn, resources)
    if problem:
        raise WorkloadError(f"draw of {name} returned requests that cannot be run: {problem}", remedy=DRAWING)
    workload: Workload = drawn
    return workload


@contextmanager
def guarded(name: str, key: str, remedy: str) -> Iterator[None]:
    """Turn what a class from outside raises into a `WorkloadError`."""
    try:
        yield
    except (UserError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # sys.exit, too
        at = place_of(error, lambda frame: not is_ours(Path(frame.filename).resolve()))
        problem = f"{name} raised {error!r} at {at}"
        raise WorkloadError(problem, key=key, remedy=remedy) from error


def _problem(workload: object, resources: tuple[str, ...]) -> str:
    """Say what is wrong with the requests that were drawn; empty if nothing is."""
    if not isinstance(workload, Workload):
        return f"it is of the type {type(workload).__name__}, not a Workload"
    if workload.resources != resources:
        return f"its resources are {workload.resources}, not {resources}"
    n, columns = len(workload.arrival), {"arrival": np.float64, "duration": np.float64, "demand": np.int64, "id": None}
    columns |= {} if workload.bandwidth is None else {"bandwidth": np.int64}
    for name, kind in columns.items():
        column, shape = getattr(workload, name), (n, len(resources)) if name == "demand" else (n,)
        if not isinstance(column, np.ndarray) or column.shape != shape or (kind and column.dtype != kind):
            return f"its {name} is no array{f' of {np.dtype(kind)}' if kind else ''} of the shape {list(shape)}"
    arrival, duration = workload.arrival, workload.duration
    for problem, wrong in (
        ("it has no requests", not n),
        ("a demand is below zero", bool((workload.demand < 0).any())),
        ("a bandwidth is below zero", workload.bandwidth is not None and bool((workload.bandwidth < 0).any())),
        ("an arrival is not a time from 0 on", not (np.isfinite(arrival) & (arrival >= 0)).all()),
        ("arrivals do not ascend", bool((np.diff(arrival) < 0).any())),
        ("a duration is not a time from 0 on", not (duration >= 0).all()),
        ("it has other than one network per request", workload.networks is not None and len(workload.networks) != n),
    ):
        if wrong:
            return problem
    return ""
