"""What agents are told of how long the requests of a scenario stay."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Real

import numpy as np

from binwright.agents.world import Requests
from binwright.scenarios.build import user_workload
from binwright.scenarios.build.trace import TraceRequests, content_of
from binwright.scenarios.features.altered import Altered
from binwright.scenarios.features.lifetimes import OtherLifetimes, Predicted
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.workload import MultiServer, Trace
from binwright.simcore.errors import UserError, WorkloadError
from binwright.simcore.lifetime_info import LifetimeInfo
from binwright.simcore.predictor import Predictor
from binwright.simcore.rng import stream
from binwright.simcore.types import Workload
from binwright.workloads.windows import age_at

PREDICTING = (
    "`predict(requests, rng)` returns float64 [n], seconds from 0 on: see the page 'What do agents know of time?'."
)
AGAIN = "`again(requests, row, first, elapsed)` returns seconds from 0 on: see the page 'What do agents know of time?'."
TRAINING = 2**63 - 1
"""The seed whose generated requests predictors learn from: no run has it."""
KEY = "knowledge.lifetimes.predicted"
_fitted: dict[str, Predictor] = {}


def foreseen(scenario: Scenario, requests: Requests) -> Requests:
    """Have the requests of a scenario come with what agents may know of them."""
    spec = scenario.knowledge.lifetimes
    if spec == "known":
        return requests
    if not isinstance(spec, OtherLifetimes) or spec.predicted is None:
        return Altered(requests, KEY, "", partial(_with, _hidden), requests.drawn)
    predicted, training, rows = spec.predicted, _training(scenario, requests), scenario.knowledge.training
    asked = scenario.workload
    there = scenario.resources if isinstance(asked, Trace) else scenario.cluster.model_dump_json()
    name = f"{asked.model_dump_json()} {there} {rows} {user_workload.identity_of(predicted)}"

    def inform(workload: Workload, seed: int) -> LifetimeInfo:
        learned_from = content_of(asked) if isinstance(asked, Trace | MultiServer) else None
        return _predicted(_fit(predicted, f"{name} {learned_from}", training), predicted.chosen[0], workload, seed)

    drawn = requests.drawn or predicted.registry.load(predicted.chosen[0]).drawn
    return Altered(requests, KEY, name, partial(_with, inform), drawn)


def _with(inform: Callable[[Workload, int], LifetimeInfo], workload: Workload, seed: int) -> Workload:
    """Have requests come with what agents may know of them."""
    return replace(workload, foresight=inform(workload, seed))


def forget_predictors() -> None:
    """Drop what was kept: files and code that it comes from may have changed since."""
    _fitted.clear()


def _hidden(workload: Workload, seed: int) -> LifetimeInfo:
    return LifetimeInfo(np.broadcast_to(np.nan, len(workload)))


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
            found = predictor.again(shown, row, first, elapsed)
        if not isinstance(found, Real) or not found >= 0:
            raise WorkloadError(f"again of {name} returned {found!r}", key=KEY, remedy=AGAIN)
        return float(found)

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


def _training(scenario: Scenario, requests: Requests) -> Callable[[], Workload]:
    """Return what draws the requests that a predictor learns from."""
    spec, rows = scenario.workload, scenario.knowledge.training
    if not isinstance(spec, Trace):
        if rows is not None:
            remedy = "Remove it: generated requests are learned from another seed."
            raise UserError("the requests are of no trace", key="knowledge.training", remedy=remedy)
        return lambda: requests.draw(TRAINING)

    def draw() -> Workload:
        if spec.ends == "drop":
            remedy = "Take `ends: drop` from the workload, or write `knowledge: {lifetimes: known}`."
            raise UserError("no request ends, so that there is nothing to learn", key=KEY, remedy=remedy)
        met = TraceRequests(spec, scenario.resources, dict)
        first, end = rows or (0, spec.earliest(lambda: met.table))
        if first >= end:
            problem, value = "there are no rows to learn from", list(rows) if rows else None
            remedy = (
                "Say which, as in `training: [0, 50000]`; by default they are those before the first that runs meet."
            )
            raise UserError(problem, key="knowledge.training", value=value, remedy=remedy)
        every = {"superpose": 1, "time_scale": 1.0, "running": "drop", "inflate": None, "resample": None}
        learned = spec.model_copy(update={"start": first, "requests": end - first, **every})
        try:
            found = TraceRequests(learned, scenario.resources, dict).window_of(0, watched=True)
            return found if spec.running == "drop" or spec.inflate else _known_at(met, first, found)
        except WorkloadError as error:
            if error.key != "workload.start":
                raise
            value, there = list(rows) if rows else None, error.remedy
            raise WorkloadError(error.problem, key="knowledge.training", value=value, remedy=there) from None

    return draw


def _known_at(met: TraceRequests, first: int, found: Workload) -> Workload:
    """Hide the ends of those in `found`, the rows from `first` on, that still run when the first run begins.

    Runs meet them, and what agents are told of them must not be made of what becomes of them.
    """
    rows, earliest = np.arange(first, first + len(found)), met.spec.earliest(lambda: met.table)
    before = rows < earliest
    age = np.full(len(found), np.nan)
    age[before] = age_at(met.table, earliest, rows[before], met.spec.time_scale)
    runs = before & (found.duration > age)
    watched = np.where(runs, age, np.nan if found.watched is None else found.watched)
    return replace(found, duration=np.where(runs, np.inf, found.duration), watched=watched)
