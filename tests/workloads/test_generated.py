"""Windows over traces and generated workloads: what they hold, what each seed fixes, and what they refuse."""

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.scenarios.schema.workload import Generated, MultiServer, Tenants
from binwright.simcore.errors import WorkloadError
from binwright.simcore.types import Floats
from binwright.simcore.workload import Workload
from binwright.workloads.arrivals import Bursty, Poisson
from binwright.workloads.arrivals import Fixed as FixedGaps
from binwright.workloads.describe import peaks
from binwright.workloads.fit import fit
from binwright.workloads.lifetimes import Empirical, Exponential, Fixed, Lognormal
from binwright.workloads.windows import ApartStart, RandomStart, Start, Window, select
from tests.support.properties import scaled

INF = float("inf")
SMALL: dict[str, Any] = {"cpu": 1, "mem": "2 GB", "weight": 3}
LARGE: dict[str, Any] = {"cpu": 8, "lifetimes": {"fixed": "50 s"}}
SPEC = {
    "arrivals": {"poisson": {"every": "10 s"}},
    "flavours": [SMALL, LARGE],
    "lifetimes": {"exponential": {"mean": "100 s"}},
}


def generated(requests: int = 400, **change: Any) -> Generated:
    return Generated.model_validate({**SPEC, "requests": requests, **change})


def trace(rows: int) -> pl.DataFrame:
    """Row i arrives at 100 + 10 i, lasts i + 1 and wants i + 1 cpu and a quarter of that as mem."""
    number = np.arange(rows)
    sizes = {"cpu": number + 1.0, "mem": (number + 1) / 4}
    return pl.DataFrame({"id": number + 1000, "arrival": 100.0 + 10.0 * number, "lifetime": number + 1.0, **sizes})


# Windows


def window(start: Start = 0, requests: int | None = None, superpose: int = 1) -> Window:
    return Window(start=start, requests=requests, superpose=superpose, running="drop")


def test_windows_by_row_and_by_time() -> None:
    frame = trace(10)
    whole = select(trace(3), Window(time_scale=2.5), ("mem", "cpu"), seed=0)
    assert whole.demand.tolist() == [[250_000, 1_000_000], [500_000, 2_000_000], [750_000, 3_000_000]]
    assert (whole.arrival.tolist(), whole.duration.tolist()) == ([0.0, 25.0, 50.0], [1.0, 2.0, 3.0])
    after = select(trace(6), window(1, 2, superpose=2), ("cpu",), 0)  # windows follow one another
    assert after.id.tolist() == ["w1:1001", "w2:1003", "w1:1002", "w2:1004"]
    assert (after.arrival.tolist(), after.duration.tolist()) == ([0.0, 0.0, 10.0, 10.0], [2.0, 4.0, 3.0, 5.0])
    random = RandomStart(random=(2, 4))
    assert {int(select(frame, window(random, 1), ("cpu",), seed).id[0]) for seed in range(60)} == {1002, 1003, 1004}
    pairs = {tuple(select(frame, window(random, 1, 2), ("cpu",), seed).id) for seed in range(60)}
    assert any(first.split(":")[1] != second.split(":")[1] for first, second in pairs)
    assert select(frame, window(4, 2), ("cpu",), 0).id.tolist() == [1004, 1005]
    assert select(frame, window(8), ("cpu",), 0).id.tolist() == [1008, 1009]
    assert select(frame, window("130 s", 2), ("cpu",), 0).id.tolist() == [1003, 1004]
    assert select(frame, window("131 s", 2), ("cpu",), 0).id.tolist() == [1004, 1005]


@given(st.integers(0, 5), st.integers(0, 20), st.integers(1, 6), st.integers(1, 3), st.integers(0, 2**40))
def test_seeds_in_a_row_have_windows_apart(low: int, more: int, length: int, superpose: int, seed: int) -> None:
    start = ApartStart(apart=(low, low + more))
    frame, met = trace(low + more + length), window(start, length, superpose)
    seeds = start.count(length) // superpose
    names = [name for number in range(seeds) for name in select(frame, met, ("cpu",), seed + number).id.tolist()]
    rows = [int(str(name).rpartition(":")[2]) - 1000 for name in names]
    assert len(rows) == len(set(rows)) == seeds * superpose * length
    assert all((row - low) % length < length and low <= row < low + more + length for row in rows)
    assert start.count(length) == len(range(low, low + more + 1, length))


@scaled(0.6)
@given(
    gaps=st.lists(st.integers(0, 3), min_size=1, max_size=30),
    superpose=st.integers(1, 5),
    length=st.none() | st.integers(1, 10),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
def test_superposed_windows(
    gaps: list[int], superpose: int, length: int | None, seed: int, data: st.DataObject
) -> None:
    frame = trace(len(gaps)).with_columns(arrival=pl.Series(np.cumsum(gaps), dtype=pl.Float64))
    length = None if length is None else min(length, len(gaps))
    high = data.draw(st.integers(0, len(gaps) - (length or 1)))
    met = window(RandomStart(random=(data.draw(st.integers(0, high)), high)), length, superpose)
    workload = select(frame, met, ("cpu", "mem"), seed)
    assert workload.arrival[0] == 0.0
    assert (np.diff(workload.arrival) >= 0).all()
    assert len(set(workload.id.tolist())) == len(workload)
    if length is not None:
        assert len(workload) == length * superpose
    # More windows draw further starts and leave the first ones alone.
    more = select(frame, met.model_copy(update={"superpose": superpose + 1}), ("cpu", "mem"), seed)
    if superpose > 1:
        retained = [name for name in more.id.tolist() if not name.startswith(f"w{superpose + 1}:")]
        assert retained == workload.id.tolist()


@pytest.mark.parametrize(
    ("met", "resources", "message"),
    [
        (window(8, 3), ("cpu",), "workload.start: the window leaves the trace: it wants 3 requests from row 8 (got 8)"),
        (window(2, 5, 2), ("cpu",), "workload.start: the window leaves the trace: it wants 5 requests from row 7"),
        (window(RandomStart(random=(0, 9)), 2), ("cpu",), "workload.start.random: the window leaves the trace: it"),
        (window(ApartStart(apart=(0, 9)), 2), ("cpu",), "workload.start.apart: the window leaves the trace: it"),
        (window("191 s"), ("cpu",), "workload.start: nothing arrives at that time or later (got '191 s')"),
        (window(), ("cpu", "gpu"), "cluster: the trace has no demand for gpu\n  Resources of this trace: cpu, mem."),
    ],
)
def test_impossible_windows(met: Window, resources: tuple[str, ...], message: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        select(trace(10), met, resources, seed=0)
    assert str(caught.value).startswith(message)
    assert caught.value.remedy


def test_demands_below_one_quantum_are_refused_not_dropped() -> None:
    frame = trace(3).with_columns(gpu=pl.Series([0.0, 0.5, 1e-8]))
    problem = r"gpu: 1 of 3 requests ask for less than can be counted: 1e-06 \(got 1e-08\)"
    with pytest.raises(WorkloadError, match=problem):
        select(frame, window(), ("cpu", "gpu"), 0)
    assert select(frame, window(), ("cpu", "gpu"), 0, scale={"gpu": 100.0}).demand[:, 1].tolist() == [0, 50_000_000, 1]


# Generators

R = ("cpu", "mem")
SERVERS: dict[str, Any] = {"demand": "uniform", "holding": 31}
PAIRS = {"machines": {"uniform": [2, 9]}, "machine": {"cpu": 1}, "bandwidth": ["1 Gbps", "5 Gbps"]}
TENANTS = {"networks": {"pairs": PAIRS}, "arrivals": {"poisson": {"every": "10 s"}}, "lifetimes": {"fixed": "9 s"}}
MAKES: dict[str, Callable[..., Any]] = {
    "flavours": lambda n, **change: generated(n, **change).draw,
    "servers": lambda n, **change: MultiServer.model_validate({**SERVERS, "requests": n, **change}).draw,
    "networks": lambda n, **change: Tenants.model_validate({**TENANTS, "requests": n, **change}).draw,
}
MOVES: list[tuple[str, dict[str, Any], set[str]]] = [
    ("flavours", {"lifetimes": {"exponential": {"mean": "9 s"}}}, {"duration"}),
    ("flavours", {"arrivals": {"poisson": {"every": "3 s"}}}, {"arrival"}),
    ("flavours", {"flavours": [{**SMALL, "weight": 1}, LARGE]}, {"demand", "duration"}),
    ("servers", {"demand": "alibaba-like"}, {"demand"}),
    ("servers", {"bandwidth": (0.5, 0.5)}, {"bandwidth"}),
    ("servers", {"holding": 620}, {"duration"}),
    ("servers", {"step": 2.0}, {"arrival", "duration"}),
    ("networks", {"lifetimes": {"exponential": {"mean": "9 s"}}}, {"duration"}),
]


def columns(workload: Workload) -> dict[str, Any]:
    names = ("arrival", "duration", "demand", "id", "bandwidth")
    return {name: None if (column := getattr(workload, name)) is None else column.tolist() for name in names}


@pytest.mark.parametrize("kind", MAKES)
def test_a_seed_fixes_every_request_and_more_requests_continue_fewer(kind: str) -> None:
    few, again, other, many = (MAKES[kind](n)(R, seed) for n, seed in ((400, 5), (400, 5), (400, 6), (1000, 5)))
    assert columns(few) == columns(again)
    assert columns(few) != columns(other)
    longer = columns(many)
    assert columns(few) == {name: longer[name] and longer[name][:400] for name in longer}
    assert (few.arrival.dtype, few.duration.dtype, few.demand.dtype) == (np.float64, np.float64, np.int64)
    assert (np.diff(few.arrival) >= 0).all()
    assert (few.duration >= 0).all()


@pytest.mark.parametrize(("kind", "change", "moved"), MOVES)
def test_a_change_of_one_part_moves_no_other(kind: str, change: dict[str, Any], moved: set[str]) -> None:
    before, after = columns(MAKES[kind](400)(R, 2)), columns(MAKES[kind](400, **change)(R, 2))
    assert {name for name in before if before[name] != after[name]} == moved


def test_flavours_and_their_own_lifetimes() -> None:
    workload = generated(20_000).draw(("mem", "cpu"), seed=1)
    large = workload.demand[:, 1] == 8_000_000
    assert large.mean() == pytest.approx(0.25, abs=0.01)
    assert set(map(tuple, workload.demand.tolist())) == {(0, 8_000_000), (2_000_000, 1_000_000)}
    assert set(workload.duration[large]) == {50.0}
    assert workload.duration[~large].mean() == pytest.approx(100, rel=0.03)


@pytest.mark.parametrize(
    ("arrivals", "gap"),
    [
        (Poisson(every=10.0), 10.0),
        (FixedGaps(every=10.0), 10.0),
        (Bursty(every=30.0, size=3.0), 10.0),
        (Bursty(every=9.0, size=1.0), 9.0),
    ],
)
def test_mean_gaps(arrivals: Any, gap: float) -> None:
    times = arrivals.draw(100_000, np.random.default_rng(0))
    assert len(times) == 100_000
    assert times[-1] / 1e5 == pytest.approx(gap, rel=0.03)
    if isinstance(arrivals, Bursty):  # of geometric size
        _, sizes = np.unique(times, return_counts=True)
        ends = 1 / arrivals.size
        assert [(sizes == 1).mean(), (sizes == 2).mean()] == pytest.approx([ends, (1 - ends) * ends], rel=0.03)


def test_lifetimes_at_shares() -> None:
    shares = np.array([0.0, 0.25, 0.5, 0.75, 1 - 2**-53])
    assert Lognormal(median=60.0, sigma=2.0).at(shares)[2] == pytest.approx(60)
    assert Exponential(mean=10.0).at(shares)[2] == pytest.approx(10 * math.log(2))
    middle = math.expm1((math.log1p(9) + math.log1p(99)) / 2)
    assert Empirical(quantiles=(9, 99, 99)).at(shares) == pytest.approx([9, middle, 99, 99, 99])
    assert Empirical(values=(5, INF, 7)).at(shares).tolist() == [5, 5, INF, 7, 7]


class Backwards:
    summary = reference = "arrivals of somebody else's, before the first one"

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        return -np.arange(n, dtype=np.float64)


@pytest.mark.parametrize(("key", "made"), [("lifetimes", Fixed(-1)), ("arrivals", Backwards())])
def test_impossible_generators(key: str, made: Any) -> None:
    somebodys = SimpleNamespace(build=lambda: made)
    with pytest.raises(WorkloadError) as caught:
        generated().model_copy(update={key: somebodys}).draw(("cpu", "mem"), seed=0)
    assert str(caught.value).startswith(f"workload.{key}: a draw of {key} is not a time (got -1.0)")
    assert caught.value.remedy


# The fit

HOURS, DAYS = (0.5,) * 12 + (1.5,) * 12, (1.2,) * 5 + (0.5,) * 2


def test_poisson_rate_follows_hours_and_days() -> None:
    rates = Poisson(every=60.0, hours=HOURS, days=DAYS)
    times = rates.draw(200_000, np.random.default_rng(0)) / 86_400
    assert (times[0], times[:500].tolist()) == (0, (rates.draw(500, np.random.default_rng(0)) / 86_400).tolist())
    assert (times % 1 >= 0.5).mean() == pytest.approx(0.75, abs=0.01)
    assert (times[times < 28] % 7 >= 5).mean() == pytest.approx(1 / 7, abs=0.015)


def peak_of(drawn: Workload) -> float:
    """The most cores that run at once."""
    return peaks(drawn.arrival, drawn.duration, {"cpu": drawn.demand[:, 0] / 1e6})["cpu"]


def frame_of(drawn: Workload) -> pl.DataFrame:
    columns = {"id": drawn.id, "arrival": drawn.arrival, "lifetime": drawn.duration}
    return pl.DataFrame({**columns, "cpu": drawn.demand[:, 0] / 1e6, "mem": drawn.demand[:, 1] / 1e6})


def generated_trace(requests: int) -> pl.DataFrame:
    flavours = [
        {"cpu": 1, "mem": "2 GB", "weight": 3, "lifetimes": {"lognormal": {"median": "600 s", "sigma": 1}}},
        {"cpu": 4, "mem": "8 GB", "lifetimes": {"exponential": {"mean": "5000 s"}}},
    ]
    arrivals = {"poisson": {"every": "20 s"}}
    return frame_of(generated(requests, arrivals=arrivals, flavours=flavours).draw(R, seed=3))


def test_fit_finds_the_generator_again() -> None:
    frame = generated_trace(20_000)
    spec = Generated.model_validate(fit(frame, flavours=2))
    assert spec.requests == 20_000
    arrivals = spec.arrivals.build()
    assert (arrivals.hours, arrivals.days) == (None, None)  # chance is no profile
    assert arrivals.every == pytest.approx(20, rel=0.03)
    assert [dict(flavour.demand) for flavour in spec.flavours] == [{"cpu": 1, "mem": 2}, {"cpu": 4, "mem": 8}]
    assert [flavour.weight for flavour in spec.flavours] == pytest.approx([0.75, 0.25], abs=0.01)
    again = spec.draw(("cpu", "mem"), seed=4)
    small = again.demand[:, 0] == 1_000_000
    assert again.duration[small].mean() == pytest.approx(600 * math.exp(0.5), rel=0.05)
    assert np.median(again.duration[small]) == pytest.approx(600, rel=0.05)
    assert again.duration[~small].mean() == pytest.approx(5000, rel=0.05)


def test_fit_makes_up_for_requests_whose_end_was_not_seen() -> None:
    frame = generated_trace(20_000)
    end = float(frame["arrival"][-1])
    cut = frame.head(19_900).filter(pl.col("arrival") < end - 8000)
    # Watched only for as long as the trace lasts after them, up to 8000 s.
    unseen = cut.with_columns(
        lifetime=pl.when(pl.col("arrival") + pl.col("lifetime") > end - 8000).then(INF).otherwise("lifetime")
    )
    assert unseen["lifetime"].is_infinite().any()
    drawn = Generated.model_validate(fit(unseen, flavours=2)).draw(("cpu", "mem"), seed=4)
    large = drawn.demand[:, 0] == 4_000_000
    assert np.median(drawn.duration[large]) == pytest.approx(5000 * math.log(2), rel=0.06)


def test_fit_keeps_the_weight_of_a_rare_flavour() -> None:
    rare = pl.when(pl.int_range(30_000) == 7).then(4.0).otherwise(1.0)
    flavours = fit(trace(30_000).with_columns(cpu=rare, mem=1.0))["flavours"]
    assert [flavour["weight"] for flavour in flavours] == [1.0, 3.333e-05]


def test_fit_of_a_flavour_that_never_ends() -> None:
    frame = trace(4).with_columns(cpu=1.0, mem=1.0, lifetime=INF)
    (flavour,) = fit(frame, flavours=1, points=3)["flavours"]
    assert flavour["lifetimes"] == {"empirical": {"values": [30.0, 30.0, 30.0]}}
    with pytest.raises(WorkloadError, match="too little to fit"):
        fit(frame.head(1))


def test_fitted_lifetimes_have_the_mean_of_what_was_seen() -> None:
    """Two requests in five stay for a day, the others for a minute; a fifth of the middle third stay for a day."""
    stays = pl.when(pl.int_range(3000) % 5 < 2).then(86400.0).otherwise(60.0)
    (flavour,) = fit(trace(3000).with_columns(cpu=1.0, mem=1.0, lifetime=stays), flavours=1, points=3)["flavours"]
    assert flavour["lifetimes"] == {"empirical": {"values": [60.0, 17_300.0, 86_400.0]}}


def test_fit_keeps_hours_and_days_and_so_the_peak() -> None:
    arrivals = {"poisson": {"every": "90 s", "hours": HOURS, "days": DAYS}}
    lifetimes = {"lognormal": {"median": "1 h", "sigma": 1}}
    drawn = generated(30_000, arrivals=arrivals, lifetimes=lifetimes).draw(("cpu", "mem"), seed=1)
    fitted = fit(frame_of(drawn))
    assert fitted["arrivals"]["poisson"]["hours"] == pytest.approx(HOURS, abs=0.1)
    again = [Generated.model_validate(fitted).draw(("cpu", "mem"), seed) for seed in range(3)]
    peak = peak_of(drawn)
    assert np.mean([peak_of(each) for each in again]) == pytest.approx(peak, rel=0.04)
    assert again[0].arrival[-1] == pytest.approx(drawn.arrival[-1], rel=0.03)
    plain = fitted | {"arrivals": {"poisson": {"every": f"{drawn.arrival[-1] / 30_000} s"}}}
    steady = Generated.model_validate(plain).draw(("cpu", "mem"), 0)
    assert peak_of(steady) <= 0.7 * peak
