"""Differences to a baseline, two metrics against each other, and several beside one another."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from binwright.analysis.compare.statistics import mean_interval
from binwright.analysis.figures.draw import draw
from binwright.analysis.figures.kinds.pareto import Place, front
from binwright.analysis.results_api import Results
from binwright.simcore.errors import UserError
from tests.support.results import row, write_results

VALUES = {"a": (0.9, 0.5, 60.0), "b": (0.8, 0.7, 30.0), "c": (0.7, 0.6, 90.0)}
"""Acceptance, cpu allocated, and the longest wait, for which less is better: c is worse than b in all of them."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.01, (7, 3))
    rows = [
        row(agent, seed, **dict(zip(("acceptance", "allocation_cpu", "wait_p95"), values + noise[seed], strict=True)))
        | {"wait_max": 1.0}
        for agent, values in VALUES.items()
        for seed in range(7)
    ]
    folder = tmp_path_factory.mktemp("made")
    write_results(folder, rows)
    return Results(folder)


def marks(figure: Figure, panel: int = 0) -> list[tuple[float, float, bool]]:
    """Return x and y of every mark with whiskers in a panel, and whether it is filled."""
    groups = [group for group in figure.axes[panel].containers if isinstance(group, ErrorbarContainer)]
    return [
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]), line.get_markerfacecolor() == line.get_color())
        for line, *_ in groups
    ]


@pytest.mark.parametrize("baseline", [None, "c"])
def test_differences_are_those_of_compare(baseline: str | None, results: Results) -> None:
    figure = draw(results, "differences", metrics=["acceptance", "wait_p95"], baseline=baseline)
    for panel, (metric, scale) in enumerate({"acceptance": 100, "wait_p95": 1}.items()):
        rows = results.compare(baseline, metric).frame.filter(pairs=7).to_dicts()
        assert len(rows) == 2
        for (x, _, filled), one in zip(marks(figure, panel), rows, strict=True):
            assert x == pytest.approx(scale * one["diff"])
            assert filled == (one["verdict"] in ("better", "worse"))
        said = figure.axes[panel].get_xlabel()
        assert f"difference to {baseline or 'a'}" in said
        assert ("lower is better" in said) == (metric == "wait_p95")
    named = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert named == [agent for agent in VALUES if agent != (baseline or "a")]


def test_differences_need_a_baseline_that_was_run_and_somebody_beside_it(results: Results, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="this baseline was not run"):
        draw(results, "differences", baseline="d")
    with pytest.raises(UserError, match="there is no difference to draw"):
        draw(results, "differences", agents=["a"])


def pale(figure: Figure) -> list[bool]:
    """Tell of every agent whether another one is better in both metrics."""
    groups = [group for group in figure.axes[0].containers if isinstance(group, ErrorbarContainer)]
    return [(group[0].get_alpha() or 1) < 1 for group in groups]


def test_those_off_the_front_are_pale_and_the_front_is_joined_and_intervals_are_drawn(results: Results) -> None:
    figure = draw(results, "pareto", metrics=["acceptance", "allocation_cpu"])
    assert pale(figure) == [False, False, True]
    for agent, (x, y, _) in zip(VALUES, marks(figure), strict=True):
        mine = results.runs.filter(agent=agent)
        assert (x, y) == pytest.approx((100 * mine["acceptance"].mean(), 100 * mine["allocation_cpu"].mean()))  # type: ignore[operator]
    group = figure.axes[0].containers[0]
    half = mean_interval(results.runs.filter(agent="a")["acceptance"].to_numpy())[1]
    assert isinstance(group, ErrorbarContainer)
    across = group[2][0].get_segments()[0]
    assert across[1][0] - across[0][0] == pytest.approx(200 * half)
    assert "up and to the right is better" in str(figure.get_label())
    better = "No agent has better means in both accepted % and cpu % than"
    assert str(figure.get_label()).startswith(f"{better} a or b. ")
    named = draw(results, "pareto", metrics=["acceptance", "allocation_cpu"], agents=["a", "b"])
    assert str(named.get_label()).startswith(f"{better} another. ")
    waits = draw(results, "pareto", metrics=["acceptance", "wait_p95"])
    assert pale(waits) == [False, False, True]
    assert "down and to the right is better" in str(waits.get_label())


numbers = st.integers(0, 4).map(float)


@given(
    st.lists(st.tuples(numbers, numbers), max_size=12),
    st.tuples(st.sampled_from(["higher", "lower"]), st.sampled_from(["higher", "lower"])),
)
def test_nobody_on_the_front_is_beaten_and_everybody_else_is(places: list[Place], better: tuple[str, str]) -> None:
    def beats(one: Place, other: Place) -> bool:
        """As good in both, and better in one."""
        good = [a >= b if way == "higher" else a <= b for a, b, way in zip(one, other, better, strict=True)]
        return all(good) and one != other

    expected = [number for number, place in enumerate(places) if not any(beats(other, place) for other in places)]
    assert front(places, better) == expected
