"""What requests use: the distributions that are asked for, the same answers in whatever order one asks."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from binwright.simcore.errors import WorkloadError
from binwright.simcore.workload import Workload
from binwright.workloads.use import GeneratedUse, UseCase, draw_use, shape_of

N = 60


def workload(n: int = N, **labels: list[str]) -> Workload:
    made = Workload.of_units(np.arange(float(n)), 3600.0, {"cpu": 4, "mem": 8})
    object.__setattr__(made, "labels", {name: np.array(words, np.str_) for name, words in labels.items()})
    return made


def cpu(base: Workload, *cases: dict[str, object], seed: int = 3) -> GeneratedUse:
    return draw_use(base, 300.0, {"cpu": [UseCase.model_validate(case) for case in cases]}, (), seed)


def shares(use: GeneratedUse, rows: range, steps: int) -> np.ndarray:
    """What these rows use of cpu, float64 [rows, steps]."""
    return np.stack([use.during(row, 0, steps)[:, 0] for row in rows])


def test_use_does_not_depend_on_the_order_of_questions() -> None:
    use = cpu(workload(), {"mean": "30 %", "daily": 0.3})
    whole = shares(use, range(N), 40)
    for step in np.random.default_rng(1).permutation(40)[:10].tolist():
        rows = np.random.default_rng(step).permutation(N)[:20]
        np.testing.assert_array_equal(use.at(rows, step)[:, 0], whole[rows, step])
    np.testing.assert_array_equal(shares(use.take(np.array([7, 3, 7])), range(3), 40), whole[[7, 3, 7]])
    assert not np.array_equal(whole, shares(cpu(workload(), {"mean": "30 %"}, seed=4), range(N), 40))


@pytest.mark.parametrize(
    "spec",
    [
        {"mean": 0.3, "peak": 0.8},
        {"mean": 0.3, "peak": 0.8, "p95": 0.7, "daily": 0.5},
        {"mean": 0.05, "peak": 1.0, "p95": 0.1},
        {"mean": 0.3, "peak": 0.6},
    ],
    ids=str,
)
def test_shares_have_the_mean_the_percentile_and_the_peak(spec: dict[str, object]) -> None:
    rows = range(400)
    result = shares(cpu(workload(400), spec), rows, 288 * 2)
    assert result.mean() == pytest.approx(spec["mean"], rel=0.04)
    assert 0.9 * spec["peak"] < result.max() <= spec["peak"]  # type: ignore[operator]
    assert result.min() >= 0
    if "p95" in spec:
        assert np.quantile(result, 0.95) == pytest.approx(spec["p95"], rel=0.04)


def test_use_follows_the_day_and_itself() -> None:
    base = workload(40)
    daily = shares(cpu(base, {"mean": 0.5, "daily": 0.9}), range(40), 288).mean(axis=0)
    assert 12 * 12 < daily.argmax() < 16 * 12
    assert daily.argmin() < 4 * 12
    topology = shares(cpu(base, {"mean": 0.5}), range(40), 2000)
    assert abs(np.corrcoef(topology)[:20, 20:].mean()) < 0.2
    again = [np.mean([np.corrcoef(row[lag:], row[:-lag])[0, 1] for row in topology]) for lag in (1, 24)]
    assert again[0] > 0.9
    assert abs(again[1]) < 0.1


def test_first_matching_case_gives_the_use() -> None:
    base = workload(3, kind=["a", "b", "c"], most=["20", "30", "40"])
    cases: list[dict[str, object]] = [
        {"of": {"kind": "a"}, "mean": 0.5, "peak": 0.5},
        {"of": {"kind": ["a", "b"]}, "mean": "30 %", "peak": "30 %"},
    ]
    use = cpu(base, *cases)
    assert use.at(np.arange(3), 9).tolist() == [[0.5, 1.0], [0.3, 1.0], [1.0, 1.0]]
    with pytest.raises(WorkloadError, match="no share"):
        cpu(base, {"mean": 0.5, "of": {"kind": "x"}}, {"mean": "kind"})
    with pytest.raises(WorkloadError, match="use more than their peak"):
        cpu(base, {"mean": "most", "unit": "1 %", "peak": 0.35})


@pytest.mark.long
@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_a_shape_has_its_moments(low: float, p95: float, peak: float) -> None:
    p95, peak = sorted((p95, peak))
    mean = 0.05 * p95 + low * (0.9 * p95 + 0.05 * peak)
    assume(peak > 1e-3)
    shape = shape_of(mean, peak, p95)
    u = (np.arange(10_000) + 0.5) / 10_000
    above = shape.knee + (shape.top - shape.knee) * np.clip((u - shape.cut) / (1 - shape.cut), 0, 1) ** shape.tail
    result = np.where(u <= shape.cut, shape.knee * np.minimum(u / shape.cut, 1) ** shape.body, above)
    assert result.mean() == pytest.approx(mean, abs=1e-3)
    assert result.max() <= peak + 1e-12
    assert (np.diff(result) >= -1e-12).all()
