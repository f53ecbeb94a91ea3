"""What agents are told of how long the requests of a scenario stay."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Real

import numpy as np

from binwright.scenarios.build import user_workload
from binwright.scenarios.build.trace import content_of, table_of, window_of
from binwright.scenarios.features.lifetimes import OtherLifetimes, Predicted
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.trace import Trace
from binwright.scenarios.schema.workload import MultiServer
from binwright.simcore.errors import UserError, WorkloadError
from binwright.simcore.lifetime_info import LifetimeInfo
from binwright.simcore.rng import stream
from binwright.simcore.workload import Workload
from binwright.workloads.predictors import Predictor
from binwright.workloads.traces.check import floats_of

PREDICTING = (
    "`predict(requests, rng)` returns float64 [n], seconds from 0 on: see the page 'What do agents know of time?'."
)
AGAIN = "`again(requests, row, first, elapsed)` returns seconds from 0 on: see the page 'What do agents know of time?'."
TRAINING = 2**63 - 1
"""The seed whose generated requests predictors learn from: no run has it."""
KEY = "knowledge.lifetimes.predicted"
_fitted: dict[str, Predictor] = {}


def foreseen(scenario: Scenario, workload: Workload, seed: int, draw: Callable[[int], Workload]) -> Workload:
    """Have the requests of a seed come with what agents may know of them; `draw` draws those of another seed."""
    lifetimes = scenario.knowledge.lifetimes
    if lifetimes == "known":
        return workload
    predicted = _predictor_of(scenario)
    if predicted is None:
        return replace(workload, foresight=LifetimeInfo(np.broadcast_to(np.nan, len(workload))))
    spec = scenario.workload
    world_key = scenario.resources if isinstance(spec, Trace) else scenario.cluster.model_dump_json()
    learned_from = content_of(spec) if isinstance(spec, Trace | MultiServer) else None
    name = f"{spec.model_dump_json()} {world_key} {user_workload.identity_of(predicted)} {learned_from}"
    predictor = _fit(predicted, name, partial(_learned, scenario, draw))
    return replace(workload, foresight=_predicted(predictor, predicted.chosen[0], workload, seed))


def is_drawn(scenario: Scenario) -> bool:
    """Tell whether what agents know of requests depends on the seed."""
    predicted = _predictor_of(scenario)
    return predicted is not None and bool(predicted.registry.load(predicted.chosen[0]).drawn)


def _predictor_of(scenario: Scenario) -> Predicted | None:
    lifetimes = scenario.knowledge.lifetimes
    return lifetimes.predicted if isinstance(lifetimes, OtherLifetimes) else None


def forget() -> None:
    """Drop what was kept: files and code that it comes from may have changed since."""
    _fitted.clear()


def _fit(spec: Predicted, name: str, training: Callable[[], Workload]) -> Predictor:
    """Make a predictor and have it learn; the last one is kept, as all seeds have the same."""
    if name not in _fitted:
        with user_workload.guarded(spec.chosen[0], KEY, PREDICTING):
            made: Predictor = spec.build()
        if type(made).fit is not Predictor.fit:
            others = training()
            with user_workload.guarded(spec.chosen[0], KEY, PREDICTING):
                made.fit(others)
        _fitted.clear()
        _fitted[name] = made
    return _fitted[name]


def _predicted(predictor: Predictor, name: str, workload: Workload, seed: int) -> LifetimeInfo:
    """Have requests predicted; of those that run already, what is said counts from the start of the run, as it does."""
    n, age = len(workload), np.zeros(0) if workload.age is None else workload.age
    whole = workload.duration.copy()
    whole[: len(age)] += age
    shown = replace(workload, duration=whole if predictor.sees_truth else np.full(n, np.nan))
    with user_workload.guarded(name, KEY, PREDICTING):
        times = predictor.predict(shown, stream(seed, "lifetimes"))
    if not isinstance(times, np.ndarray) or times.shape != (n,) or times.dtype != np.float64 or not (times >= 0).all():
        raise WorkloadError(f"predict of {name} returned no times of the {n} requests", key=KEY, remedy=PREDICTING)

    def again(row: int, first: float, elapsed: float) -> float:
        with user_workload.guarded(name, KEY, PREDICTING):
            time = predictor.again(shown, row, first, elapsed)
        if not isinstance(time, Real) or not time >= 0:
            raise WorkloadError(f"again of {name} returned {time!r}", key=KEY, remedy=AGAIN)
        return float(time)

    in_all = LifetimeInfo(times, again)

    def ask(row: int, first: float, elapsed: float) -> float:
        if row >= len(age):
            return again(row, first, elapsed)
        stays = in_all.again(row, float(age[row]) + elapsed)
        # Who knows the truth is to say what the run goes by, to the last bit.
        return float(workload.duration[row]) if stays == whole[row] else max(0.0, stays - float(age[row]))

    expected = times.copy()
    expected[: len(age)] = [ask(row, np.nan, 0.0) for row in range(len(age))]
    return LifetimeInfo(expected, ask)


def _learned(scenario: Scenario, draw: Callable[[int], Workload]) -> Workload:
    """Draw the requests that a predictor learns from: of a trace the rows that no run begins with or after.

    The ends of those that still run when the first run begins are hidden: runs meet these requests, and what agents are
    told of them must not be made of what becomes of them.
    """
    spec = scenario.workload
    if not isinstance(spec, Trace):
        return draw(TRAINING)
    if spec.ends == "drop":
        remedy = "Take `ends: drop` from the workload, or write `knowledge: {lifetimes: known}`."
        raise UserError("no request ends, so that there is nothing to learn", key=KEY, remedy=remedy)
    table = table_of(spec, scenario.resources)
    if not (end := 0 if spec.resample else spec.bounds(table)[0]):
        problem, remedy = "there are no rows to learn from", "Let runs `start` later in the trace."
        raise UserError(problem, key=KEY, remedy=remedy)
    every = {"superpose": 1, "time_scale": 1.0, "running": "drop", "inflate": None, "resample": None}
    before = spec.model_copy(update={"start": 0, "requests": end, **every})
    requests = window_of(before, scenario.resources, 0, watched=True)
    if spec.running == "drop" or spec.inflate:
        return requests
    arrival = floats_of(table, "arrival")
    age = (arrival[end] - arrival[:end]) * spec.time_scale
    runs = requests.duration > age
    watched = np.where(runs, age, np.nan if requests.watched is None else requests.watched)
    return replace(requests, duration=np.where(runs, np.inf, requests.duration), watched=watched)
