"""The answer along a sweep: where who is the best, against a rule that looks at every point alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from binwright.analysis.report.words import by_point
from binwright.analysis.results_api import Results
from tests.support.results import row, write_results

NOISE = (0.001, 0.002, 0.003, 0.005, 0.004, 0.006, 0.0065, 0.0075)
APART, ALIKE = 0.1, 0.0


def said(folder: Path, points: dict[Any, float], keys: tuple[str, ...] = ("cluster.servers",), **headings: str) -> str:
    """Say what is found where one agent is ahead of the other by so much at each point."""
    rows = []
    for point, ahead in points.items():
        values = point if isinstance(point, tuple) else (point,)
        for seed, noise in enumerate(NOISE):
            for agent, more in (("first-fit", noise), ("dot-product", ahead + NOISE[-seed - 1])):
                rows.append(row(agent, seed, point=dict(zip(keys, values, strict=True)), acceptance=0.5 + more))
                rows[-1]["run"] = f"{agent}{seed}{point}"
    write_results(folder, rows)
    results = Results(folder)
    results.columns = results.columns.headed(headings)
    table = results.table()
    place = [metric.name for metric in table.metrics].index("acceptance")
    return by_point(table, place, table.metrics[place])


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (
            {16: APART, 20: APART, 28: ALIKE, 32: ALIKE},
            "up to 20 <strong>dot-product</strong>; from 28 on nobody is told from the best.",
        ),
        (
            {16: -APART, 20: ALIKE, 28: APART},
            "at 16 <strong>first-fit</strong>; at 20 nobody is told from the best; at 28 <strong>dot-product</strong>.",
        ),
        ({28: ALIKE, 16: APART}, "at 16 <strong>dot-product</strong>; at 28 nobody is told from the best."),
        (
            {1: ALIKE, 2: APART, 3: APART, 4: ALIKE},
            "at 1 nobody is told from the best; from 2 to 3 <strong>dot-product</strong>; at 4 nobody is told from the "
            "best.",
        ),
    ],
)
def test_neighbours_with_the_same_answer_are_said_together(
    points: dict[int, float], expected: str, tmp_path: Path
) -> None:
    assert said(tmp_path, points) == f"by cluster.servers, {expected}"


@pytest.mark.parametrize("ahead", [APART, ALIKE])
def test_the_same_everywhere_needs_no_detail(ahead: float, tmp_path: Path) -> None:
    assert said(tmp_path, {2: ahead, 4: ahead}) == ""


def test_times_are_in_their_order_and_words_in_that_of_the_scenario(tmp_path: Path) -> None:
    text = said(tmp_path / "times", {"1 h": APART, "10 min": ALIKE}, ("workload.every",))
    assert text == "by workload.every, at 10 min nobody is told from the best; at 1 h <strong>dot-product</strong>."
    text = said(tmp_path / "words", {"wait": APART, "drop": APART, "stop": ALIKE}, ("overflow",))
    assert text == "by overflow, at wait, drop <strong>dot-product</strong>; at stop nobody is told from the best."


def test_other_keys_have_a_line_each_and_names_their_headings(tmp_path: Path) -> None:
    points = {(2, "drop"): APART, (3, "drop"): ALIKE, (2, "<b>"): ALIKE, (3, "<b>"): APART}
    headings = {"cluster.servers": "Servers", "dot-product": "Dot & co"}
    text = said(tmp_path, points, ("cluster.servers", "overflow"), **headings)
    assert text == (
        "<ul><li>overflow drop: by Servers, at 2 <strong>Dot &amp; co</strong>; at 3 nobody is told from the best.</li>"
        "<li>overflow &lt;b&gt;: by Servers, at 2 nobody is told from the best; at 3 <strong>Dot &amp; co</strong>."
        "</li></ul>"
    )


def test_many_lines_are_left_to_the_table(tmp_path: Path) -> None:
    points = {(size, letter): ALIKE for size in (2, 3) for letter in "abcdefghijklm"}
    assert said(tmp_path, points, ("cluster.servers", "letter")) == ""
