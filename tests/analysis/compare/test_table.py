"""The table at the end of a run: what it shows, and when it says that one agent is better."""

import io
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from rich.console import Console, RenderableType
from scipy.stats import t as student

from binwright.analysis.compare.sheet import Cell, Sheet, hidden
from binwright.analysis.compare.statistics import mean_interval
from binwright.analysis.compare.table import BEST, TIED, Entry, Table, finding
from binwright.analysis.figures.kind import draw
from binwright.analysis.measure.metric import Metric
from binwright.analysis.results_api import Results
from tests.reference.stats import Verdicts, slow_verdicts, values_of
from tests.support.properties import scaled
from tests.support.results import failed, made, row


def table(folder: Path, rows: list[dict[str, Any]]) -> Table:
    return made(folder, rows).table()


def accepted(folder: Path, numbers: dict[str, list[float]]) -> Table:
    """A table of agents with an acceptance for every seed from 0 on."""
    return table(
        folder, [row(agent, seed, acceptance=x) for agent, actual in numbers.items() for seed, x in enumerate(actual)]
    )


def marks(result: Table, metric: str) -> list[str]:
    return [cell["mark"] if cell else "-" for cell in cells(result, metric)]


def cells(result: Table, metric: str) -> list[Entry | None]:
    number = [each.name for each in result.metrics].index(metric)
    return [each.entries[number] for each in result.rows]


# -- beside a slow one -------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1), min_size=2, max_size=9), st.floats(0, 1))
def test_intervals_of_shares_are_cut_at_0_and_1_only(actual: list[float], true: float) -> None:
    mean, half = mean_interval(np.array(actual))
    low, high = Metric("share", "share %", "%").ends(mean, half)
    assert 0 <= low <= mean <= high <= 1
    assert (low <= true <= high) == (mean - half <= true <= mean + half)
    assert Metric("held", "held %", "%", beyond=True).ends(mean, half) == (max(0, mean - half), mean + half)


def slow_rows(result: Table, runs: list[dict[str, Any]], swept: list[str]) -> list[list[Any]]:
    """What the table must say, one cell after another: point, agent, runs, failed, then (mean, half, mark) or None."""
    rows = []
    reported = {each.name: slow_verdicts(values_of(runs, each.name, swept)) for each in result.metrics}
    points = list(dict.fromkeys(tuple(run[key] for key in swept) for run in runs))
    for point in points:
        local = [run for run in runs if tuple(run[key] for key in swept) == point]
        by_agent = {
            agent: [run for run in local if run["agent"] == agent] for agent in {run["agent"]: 0 for run in local}
        }
        columns = [slow_column(each, by_agent, reported[each.name]) for each in result.metrics]
        for agent, own in by_agent.items():
            failures = sum(run["status"] != "done" for run in own)
            rows.append([point, agent, len(own), failures, *(column.get(agent) for column in columns)])
    return rows


def slow_column(
    metric: Metric, by_agent: dict[str, list[dict[str, Any]]], verdicts: Verdicts
) -> dict[str, tuple[float, float, str]]:
    values = {
        agent: {run["seed"]: run[metric.name] for run in sorted(runs, key=lambda run: run["seed"])}
        for agent, runs in by_agent.items()
    }
    values = {
        agent: {seed: float(x) for seed, x in numbers.items() if x is not None} for agent, numbers in values.items()
    }
    intervals = {agent: slow_interval(list(numbers.values())) for agent, numbers in values.items() if numbers}
    marks = dict.fromkeys(intervals, "")
    if metric.better != "neither" and intervals:
        sign = 1 if metric.better == "higher" else -1
        best = max(intervals, key=lambda agent: sign * intervals[agent][0])
        point = tuple(by_agent[best][0][key] for key in ("key",))
        reported = {agent for agent in intervals if verdicts.get((point, agent, best), (None, False))[1]}
        equal = {agent for agent in intervals if intervals[agent][0] == pytest.approx(intervals[best][0], abs=1e-12)}
        if reported:
            marks = {agent: "" if agent in reported else BEST if agent in equal else TIED for agent in intervals}
    return {agent: (*interval, marks[agent]) for agent, interval in intervals.items()}


def slow_interval(numbers: list[float]) -> tuple[float, float]:
    n, mean = len(numbers), sum(numbers) / len(numbers)
    if n == 1:
        return mean, float("nan")
    deviation = (sum((x - mean) ** 2 for x in numbers) / (n - 1)) ** 0.5
    return mean, float(student.ppf(0.975, n - 1)) * deviation / n**0.5


eighths = st.integers(0, 16).map(lambda number: number / 8)
"""Whose sums and differences no float rounds."""
some_runs = st.lists(
    st.tuples(
        st.sampled_from([None, 1]),
        st.sampled_from("abc"),
        st.integers(0, 6),
        st.none() | eighths,
        eighths,
        st.booleans(),
    ),
    min_size=1,
    max_size=42,
    unique_by=lambda one: one[:3],
)


def of(agent: str, shares: Any) -> list[tuple[Any, ...]]:
    """Runs of an agent that accept these shares, by seed or from seed 0 on."""
    result = shares.items() if isinstance(shares, dict) else enumerate(shares)
    return [(None, agent, seed, share, 1.0, True) for seed, share in result]


COMMON = {seed: seed / 8 for seed in range(2, 8)}
RISING = [1.0, 1.25, 1.5, 1.75, 2.0]


@given(some_runs)
@example([*of("a", [0.125]), *of("b", [0.875])])  # one seed tells nothing
@example([*of("a", [0.5] * 5), *of("b", [0.25] * 5)])  # all five are the same way once in 16 times
@example([*of("a", [0.5] * 6), *of("b", [0.25] * 6)])  # and all six once in 32
@example([*of("a", RISING), *of("b", [0.75, 1.0, 1.25, 1.5, 1.875])])
@example([*of("a", RISING[:4]), *of("b", [0.75, 1.0, 1.25, 1.625])])  # nobody knows how four are distributed
@example([*of("a", {0: 0.875, 1: 0.0} | {n: x + 0.125 for n, x in COMMON.items()}), *of("b", {8: 0.25} | COMMON)])
@example([*of("a", {0: 0.875, 1: 0.875}), *of("b", {1: 0.125, 2: 0.125})])  # one seed in common
@example([*of("a", RISING), *reversed(of("b", [0.875, 1.125, 1.375, 1.625, 1.75]))])  # in whatever order
def test_table_equals_one_computed_cell_by_cell(drawn: list[tuple[Any, ...]]) -> None:
    runs = [
        row(agent, seed, point={"key": point}, acceptance=share, servers_used=used, wait_mean=used)
        if done
        else failed(agent, seed, point={"key": point})
        for point, agent, seed, share, used, done in drawn
    ]
    assume(len({agent for _, agent, *_ in drawn}) > 1 or len({point for point, *_ in drawn}) == 1)
    with TemporaryDirectory() as folder:
        result = table(Path(folder), runs)
    wanted = slow_rows(result, runs, ["key"])
    got: list[list[Any]] = [
        [*line[:4], *(cell and (cell["mean"], cell["half"], cell["mark"]) for cell in line.entries)]
        for line in result.rows
    ]
    assert [line[:4] for line in got] == [line[:4] for line in wanted]
    for line, slow in zip(got, wanted, strict=True):
        for cell, other in zip(line[4:], slow[4:], strict=True):
            assert (cell is None) == (other is None)
            if cell is not None:
                assert np.array(cell[:2], float) == pytest.approx(np.array(other[:2]), 1e-9, 1e-12, nan_ok=True)
                assert cell[2] == other[2]


# -- what is written ---------------------------------------------------------------------------------------------------


def metric(unit: str) -> Metric:
    return Metric("x", "x", unit)


def test_metrics_that_differ_between_agents_come_first(tmp_path: Path) -> None:
    """Values that differ by seed or point only are the same for all agents, as are sums in another order."""
    rows = [
        row(
            agent, seed, acceptance=0.5 + seed / 100, allocation_cpu=0.1 + 0.2 * more * 1e-15, income_month=100.0 * more
        )
        for more, agent in enumerate("ab")
        for seed in range(3)
    ]
    result = table(tmp_path, rows)
    assert [metric.name for metric in result.metrics] == ["income_month", "decision_us"]
    for text in (" ".join(shown(result.rich(80), 80).split()), str(result), Results(tmp_path).compare().markdown()):
        assert "The same for all agents: accepted 51.0 ±2.5 %, cpu " in text
        assert "fragmentation 10.0 %" in text.replace("cpu ", "")  # every seed gave the same: without an interval
    assert "| a | 3 | 0.0 ±0.0 |" in str(result)


@pytest.mark.parametrize(
    ("metric", "points", "says"),
    [
        ("decision_us", "11", " over 6 seeds; * best, = not significantly different"),
        ("hours", "11", " over 6 seeds."),  # less is no better than more
        ("decision_us", "12", " over 6 seeds."),  # nobody is beside anybody
    ],
)
def test_a_legend_says_what_marks_there_are(metric: str, points: str, says: str, tmp_path: Path) -> None:
    runs = [(agent, at, seed) for agent, at in zip("ab", points, strict=True) for seed in range(6)]
    results = made(tmp_path, [row(a, n, point={"key": at}, **{metric: ord(a) + n / 100}) for a, at, n in runs])
    assert says in Table(results, [each for each in results.metrics if each.name == metric]).legend


@pytest.mark.parametrize(
    "actual",
    [
        {("x", 0): 5.0, ("x", 1): None, ("y", 0): None, ("y", 1): 6.0},
        {("x", 0): 5.0, ("x", 1): float("nan"), ("y", 0): 5.0, ("y", 1): float("nan")},
    ],
)
def test_metrics_unknown_for_some_run_are_not_listed_as_equal(
    actual: dict[tuple[str, int], float | None], tmp_path: Path
) -> None:
    shown = table(tmp_path, [row(agent, seed, income_month=value) for (agent, seed), value in actual.items()])
    assert "income_month" in [metric.name for metric in shown.metrics]
    assert "income_month" not in shown.same


def test_a_scenario_names_its_headline_metrics(tmp_path: Path) -> None:
    """They come first in the order named, whether they differ or not, and harm with them."""
    rows = [
        row(agent, seed, acceptance=x, interrupted=1) for agent, x in (("a", 0.5), ("b", 0.25)) for seed in range(6)
    ]
    results = made(tmp_path, rows, "name: x\nheadline_metrics: [servers_used, acceptance]\n")
    assert [metric.name for metric in results.table().metrics] == [
        *("servers_used", "interrupted", "acceptance", "decision_us")
    ]
    assert [panel.get_xlabel() for panel in draw(results, "differences").axes[1:3]] == [
        "servers used\n(lower is better)",
        "interrupted\n(lower is better)",
    ]
    assert results.compare().metrics[0].name == "servers_used"


TEXTS = st.text(st.sampled_from("ab µ±日本%"), min_size=1, max_size=40)


def shown(renderable: RenderableType, width: int) -> str:
    """Print it on a terminal of this width."""
    console = Console(file=io.StringIO(), width=width, emoji=False)
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def widths(text: str) -> set[int]:
    """Read the widths that are said to suffice."""
    return set(map(int, re.findall(r"set\s+COLUMNS=(\d+)", text)))


@given(st.integers(1, 12).flatmap(lambda n: st.lists(st.lists(TEXTS, min_size=n, max_size=n), min_size=2, max_size=4)))
@scaled(0.5)
def test_named_width_suffices_for_the_whole_table(table: list[list[str]]) -> None:
    heads, *lines = table

    sheet = Sheet(heads, [list(map(Cell, line)) for line in lines], 0)
    for width in widths(hidden([sheet], 40)):
        assert not hidden([sheet], width)
        assert "…" not in shown(sheet.terminal(width), width)


def test_where_room_is_short_headings_fold_and_verdicts_are_among_the_last_to_go() -> None:
    heads = ["Time between arrivals (s)", "agent", "mean", "difference", "verdict", "%"]
    row = [*map(Cell, ["60 s", "best-fit", "76.1 ±2.7", "+1.14 [+0.19, +2.08]", "better", "+1.5"])]
    sheet = Sheet(heads, [row], 2, first=("mean", "verdict"))
    for width, missing in ((80, []), (73, ["%"]), (50, ["difference", "%"])):
        assert [head for number, head in enumerate(heads) if number not in sheet.fitting(width)] == missing
        assert hidden([sheet], width).startswith(f"Wider terminals show: {', '.join(missing)}." if missing else "")
        lines = shown(sheet.terminal(width), width)
        assert all(text in lines for text in ("best-fit", "76.1 ±2.7", "better", "arrivals"))
        assert "Time between" not in lines


# -- the sentence that figures have as their title -----------------------------------------------------------------


def width(folder: Path, numbers: dict[str, list[float]], metric: str = "acceptance") -> str:
    result = accepted(folder, numbers)
    return finding(result, next(each for each in result.metrics if each.name == metric))


def test_a_finding_names_the_largest_significant_difference(tmp_path: Path) -> None:
    """The last agent by its mean may be one that the seeds cannot tell from the best: it is not what is named."""
    best = [0.50, 0.60, 0.70, 0.80, 0.90, 0.55, 0.65, 0.75]
    numbers = {
        "best": best,
        "near": [x - 0.05 for x in best],  # always a little less
        "wild": [x + (0.3 if seed % 2 else -0.5) for seed, x in enumerate(best)],  # the least mean, and no verdict
    }
    assert width(tmp_path, numbers) == "best accepts most, 5 points above near; wild does not differ significantly"


@pytest.mark.parametrize("last", ["bb", "bc"])
def test_a_finding_over_a_sweep_names_the_last_at_its_points(last: str, tmp_path: Path) -> None:
    numbers = {"a": 1.0, "b": 1.25, "c": 1.25}
    rows = [
        row(agent, seed, point={"key": key}, wait_mean=mean + (0.75 if agent == last[key] else 0) + seed / 100)
        for key in range(2)
        for agent, mean in numbers.items()
        for seed in range(9)
    ]
    result = table(tmp_path, rows)
    metric = next(each for each in result.metrics if each.name == "wait_mean")
    names = " or ".join(dict.fromkeys(last))
    assert finding(result, metric) == f"a waits least at all 2 points, 49 % below {names}"


def test_a_finding_over_a_sweep_calls_best_who_has_the_best_mean(tmp_path: Path) -> None:
    """`near` is not told from the best at two points, and the best at the third."""
    waits = [{"a": 1.0, "near": 1.1, "c": 9.0}] * 2 + [{"a": 2.0, "near": 1.0, "c": 9.0}, dict.fromkeys("ac", 1.0)]
    rows = [
        row(agent, seed, point={"key": key}, wait_mean=mean + (agent == "near" and key < 2) * (-1) ** seed + seed / 100)
        for key, means in enumerate(waits)
        for agent, mean in means.items()
        for seed in range(8)
    ]
    result = table(tmp_path, rows)
    metric = next(each for each in result.metrics if each.name == "wait_mean")
    assert finding(result, metric) == (
        "a waits least at 2 of 4 points, 89 % below c (not significantly different: near at 2); near at 1; "
        "no significant difference at 1"
    )
