"""What titles say of the best: nothing that the seeds do not show."""

from __future__ import annotations

from pathlib import Path

import pytest

from binwright.analysis.compare.finding import finding
from binwright.analysis.compare.table import Table
from binwright.analysis.results_api import Results
from tests.support.results import row, write_results

Shares = dict[str, list[float]]
NOISE = [0.03, -0.04, 0.01, 0.035, -0.035, 0.0, 0.02]


def said(folder: Path, points: list[Shares]) -> str:
    """Say what is found in the acceptance of each agent on each seed, at one point or several."""
    rows = [
        row(agent, seed, point={"cluster.servers": at} if len(points) > 1 else None, acceptance=share)
        for at, agents in enumerate(points, 1)
        for agent, shares in agents.items()
        for seed, share in enumerate(shares)
    ]
    write_results(folder, rows)
    results = Results(folder)
    metric = next(one for one in results.metrics if one.name == "acceptance")
    return finding(Table(results, [metric]), metric)


@pytest.mark.parametrize(
    ("shares", "title"),
    [
        ({"a": 0.9, "b": 1.0, "c": 0.8}, "In one seed, b accepts most"),
        ({"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.9}, "In one seed, a, b and c accept most"),
        ({**dict.fromkeys("abcd", 1.0), "e": 0.9}, "In one seed, 4 agents accept most"),
        ({"a": 1.0, "b": 1.0, "c": 1.0}, ""),
    ],
)
def test_one_seed_names_all_that_are_equal(shares: dict[str, float], title: str, tmp_path: Path) -> None:
    assert said(tmp_path, [{agent: [share] for agent, share in shares.items()}]) == title


def test_one_seed_at_several_points_is_not_said_to_be_tested(tmp_path: Path) -> None:
    points: list[Shares] = [
        {"a": [0.9], "b": [0.8], "c": [0.7]},
        {"a": [0.9], "b": [0.8], "c": [0.7]},
        {"a": [0.9], "b": [0.9], "c": [0.7]},
        {"a": [1.0], "b": [1.0], "c": [1.0]},
    ]
    title = "In one seed, a accepts most at 2 of 4 points; a and b at 1; at 1 all are equal"
    assert said(tmp_path, points) == title
    assert said(tmp_path / "equal", points[3:] * 2) == ""


def test_a_point_counts_for_an_agent_that_is_told_from_all_others(tmp_path: Path) -> None:
    ahead = {"a": [0.6 + x for x in NOISE], "b": [0.4 + x for x in reversed(NOISE)], "c": [0.2 + x for x in NOISE]}
    tied = {"a": [0.6 + x for x in NOISE], "b": [0.61 + x for x in reversed(NOISE)], "c": [0.2 + x for x in NOISE]}
    level = {agent: tied[agent] for agent in "ab"}
    title = "a accepts most at 2 of 4 points; at 1 a and b are not told apart; at 1 none is told from all others"
    assert said(tmp_path, [ahead, tied, ahead, level]) == title
    title = "a and b accept most at all 2 points, not told apart"
    assert said(tmp_path / "tied", [tied, tied]) == title
    title = "By accepted %, no agent is told from all others at any of 2 points"
    assert said(tmp_path / "level", [level, level]) == title
