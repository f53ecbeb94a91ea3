"""Differences to a baseline, two metrics against each other, and several beside one another."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from binwright.analysis.compare.statistics import mean_interval
from binwright.analysis.figures.kind import draw
from binwright.analysis.figures.kinds.sweep import front
from binwright.analysis.results_api import Results
from tests.support.results import row, write_results

VALUES = {"a": (0.9, 0.5, 60.0), "b": (0.8, 0.7, 30.0), "c": (0.7, 0.6, 90.0)}
"""Acceptance, cpu allocated, and the longest wait, for which less is better: c is worse than b in all of them."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.01, (7, 3))
    rows = [
        row(agent, seed, **dict(zip(("acceptance", "allocation_cpu", "wait_p95"), values + noise[seed], strict=True)))
        | {"wait_mean": 1.0}
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


def test_points_of_one_agent_stand_in_one_panel_with_their_names(tmp_path: Path) -> None:
    rows = [
        row("a", seed, point={"k": k}, acceptance=0.5 + k / 10, wait_p95=10.0 * k + seed) | {"run": f"{k}-{seed}"}
        for k in (1, 2, 3)
        for seed in range(3)
    ]
    write_results(tmp_path, rows)
    figure = draw(Results(tmp_path), "pareto", metrics=["acceptance", "wait_p95"])
    [ax] = figure.axes
    assert [text.get_text() for text in ax.texts] == ["k 1", "k 2", "k 3"]


def test_gains_leave_out_points_at_which_agents_have_no_seed_in_common(tmp_path: Path) -> None:
    """As the sizes that `binwright size` looks at: each agent has its own."""
    looked = {"a": (10, 20, 30), "b": (20, 30, 40), "c": (5,)}
    rows = [
        row(agent, seed, point={"k": k}, acceptance=0.5 + k / 100 + seed / 1000) | {"run": f"{agent}-{k}-{seed}"}
        for agent, sizes in looked.items()
        for k in sizes
        for seed in range(3)
    ]
    write_results(tmp_path, rows)
    [ax] = draw(Results(tmp_path), "gains").axes
    assert [text.get_text() for text in ax.get_yticklabels()] == ["k 20", "k 30"]
    assert len(ax.get_xticks()) == 1


@pytest.mark.parametrize(("looked", "answer"), [((10, 400), "10,10,400"), ((20, 80), "27,25,42")])
def test_markers_of_the_smallest_size_are_whole(tmp_path: Path, looked: tuple[int, int], answer: str) -> None:
    rows = [
        row("a", seed, point={"k": k}, acceptance=0.5 + k / 1000) | {"run": f"{k}-{seed}"}
        for k in looked
        for seed in range(3)
    ]
    write_results(tmp_path, rows)
    text = f"agent,size,low,high,until,key,metric,target,most\na,{answer},acceptance >= 50 %,k,acceptance,0.5,400\n"
    (tmp_path / "sizes.csv").write_text(text)
    figure = draw(Results(tmp_path), "size")
    figure.draw_without_rendering()
    above, below = figure.axes
    marker = below.transData.transform((looked[0], 0))[0]
    assert marker - below.bbox.x0 > 4.5 / 2 * figure.dpi / 72
    assert above.get_xlim() == below.get_xlim()


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
    assert str(figure.get_label()).startswith("a accepts most, ")
    waits = draw(results, "pareto", metrics=["acceptance", "wait_p95"])
    assert pale(waits) == [False, False, True]
    assert "down and to the right is better" in str(waits.get_label())


numbers = st.integers(0, 4).map(float)


@given(
    st.lists(st.tuples(numbers, numbers), max_size=12),
    st.tuples(st.sampled_from(["higher", "lower"]), st.sampled_from(["higher", "lower"])),
)
def test_nobody_on_the_front_is_beaten_and_everybody_else_is(
    places: list[tuple[float, float]], better: tuple[str, str]
) -> None:
    def beats(each: tuple[float, float], other: tuple[float, float]) -> bool:
        """As good in both, and better in one."""
        good = [a >= b if way == "higher" else a <= b for a, b, way in zip(each, other, better, strict=True)]
        return all(good) and each != other

    expected = [number for number, place in enumerate(places) if not any(beats(other, place) for other in places)]
    assert front(places, better) == expected


@pytest.mark.long
@pytest.mark.parametrize(("seeds", "test"), [(6, "t"), (12, "wilcoxon")])
def test_intervals_of_differences_agree_with_their_verdicts(seeds: int, test: str, tmp_path: Path) -> None:
    """They are of the same test at the corrected level: 0 is within exactly where nothing is significant."""
    for luck in range(4):
        rng = np.random.default_rng(luck)
        base = rng.normal(10, 3, seeds)
        values = {agent: base + effect / 5 + rng.gamma(1, 0.7, seeds) for effect, agent in enumerate("abcdefgh")}
        rows = [row(agent, seed, servers_used=x) for agent, some in values.items() for seed, x in enumerate(some)]
        write_results(tmp_path, rows)
        result = Results(tmp_path)
        figure = draw(result, "differences", metrics=["servers_used"], baseline="a")
        frame = result.compare("a", "servers_used").frame.filter(pairs=seeds).sort("mean")
        assert test in set(frame["test"])
        groups = [group for group in figure.axes[0].containers if isinstance(group, ErrorbarContainer)]
        ends = [group[2][0].get_segments()[0][:, 0] for group in groups]
        reported = [verdict in ("better", "worse") for verdict in frame["verdict"]]
        assert [not low <= 0 <= high for low, high in ends] == reported
