"""One family, one test, one verdict, in tables, comparisons and words; and what is exact, where nothing was drawn."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.compare.table import BEST, TIED, finding
from binwright.analysis.results_api import Results
from tests.reference.stats import slow_verdicts, values_of
from tests.support.properties import scaled
from tests.support.results import made, row


def fixed(numbers: dict[str, float], seeds: int = 6, **more: Any) -> list[dict[str, Any]]:
    """Runs of agents that draw nothing, on requests that are not drawn."""
    return [
        row(agent, seed, acceptance=x, decision_us=3.0 + seed * x, random=False, **more)
        for agent, x in numbers.items()
        for seed in range(seeds)
    ]


def finding_of(results: Results) -> str:
    table = results.table()
    return finding(table, table.metrics[0])


# -- the same everywhere -----------------------------------------------------------------------------------------------

eighths = st.integers(0, 8).map(lambda number: number / 8)
drawn = st.lists(st.tuples(*[eighths] * 4), min_size=4, max_size=10)


@pytest.mark.long
@given(drawn)
@scaled(0.2)
def test_pairs_have_the_same_p_and_verdict_in_tables_and_comparisons(actual: list[tuple[float, ...]]) -> None:
    rows = [row(f"agent-{n}", seed, acceptance=x) for seed, some in enumerate(actual) for n, x in enumerate(some)]
    values = values_of(rows, "acceptance", [])
    wanted = slow_verdicts(values)
    with TemporaryDirectory() as folder:
        runs = made(Path(folder), rows)
        agents = [f"agent-{n}" for n in range(4)]
        for base in agents:
            options = slow_verdicts(values, base)
            for all_pairs, slow in ((True, wanted), (False, options)):
                frame = Comparison(runs, base, "acceptance", all_pairs=all_pairs).frame
                for agent, p, verdict in frame.filter(pl.col("agent") != base).select("agent", "p", "verdict").rows():
                    slow_p, reported = slow[(), agent, base]
                    assert p == (slow_p if slow_p is None else pytest.approx(slow_p))
                    assert reported == (verdict in ("better", "worse"))
            # Who asks for fewer comparisons may be told more, but never less.
            assert all(options[pair][1] for pair, (_, reported) in wanted.items() if reported and base in pair)
        assert Comparison(runs, None, "acceptance").frame.equals(
            Comparison(runs, "agent-0", "acceptance", all_pairs=True).frame
        )
        table = runs.table()
    number = [metric.name for metric in table.metrics].index("acceptance")
    marks = {line.agent: cell["mark"] for line in table.rows if (cell := line.entries[number])}
    if table.family:
        assert table.legend.endswith(f" (p > .05, {table.family}).")
    if BEST in marks.values():
        best = next(agent for agent, mark in marks.items() if mark == BEST)
        for agent, mark in marks.items():
            if mark in ("", TIED) and agent != best:
                assert wanted[(), agent, best][1] == (mark == "")


# -- without chance ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seeds", [1, 2, 6])
def test_without_chance_differences_are_exact(tmp_path: Path, seeds: int) -> None:
    result = made(tmp_path, fixed({"low": 0.8712, "high": 0.8713, "same": 0.8712}, seeds))
    comparison = Comparison(result, "low", ["acceptance"])
    rows = {each["agent"]: each for each in comparison.frame.iter_rows(named=True)}
    for agent, verdict in (("high", "better"), ("same", "equal")):
        each = rows[agent]
        assert (each["verdict"], each["test"], each["interval"]) == (verdict, "exact", "exact")
        assert (each["p"], each["p_alone"]) == (None, None)
        assert each["diff_low"] == each["diff"] == each["diff_high"]
        assert each["low"] == each["mean"] == each["high"]
    text = comparison.markdown()
    assert "±" not in text.split("\n\n")[1]
    assert "[" not in text
    assert "replications" not in text
    assert "exact" in comparison.legend
    assert "paired" not in comparison.legend
    assert comparison.family == ""
    table = result.table()
    assert [line[2] for line in table.sheet.texts] == ["87.12", "87.13 *", "87.12"]
    assert table.legend.startswith("Exact")
    assert finding_of(result).startswith("high accepts most")


def test_two_with_the_same_best_value_are_both_named(tmp_path: Path) -> None:
    results = made(tmp_path, fixed({"one": 0.9, "other": 0.9, "third": 0.8}, 1))
    assert finding_of(results) == "one and other accept most, 10 points above third"
    assert [line[2] for line in results.table().sheet.texts] == ["90.00 *", "90.00 *", "80.00"]
    chance = [0.5, 0.6, 0.75, 0.5, 0.6, 0.8]
    rows = [row(agent, seed, acceptance=x) for agent in ("one", "other") for seed, x in enumerate(chance)]
    rows += [row("third", seed, acceptance=x - 0.25 - seed / 100) for seed, x in enumerate(chance)]
    results = made(tmp_path, rows)
    assert finding_of(results).startswith("one and other accept most")


def test_an_agent_with_chance_beside_one_without_is_tested(tmp_path: Path) -> None:
    rows = fixed({"a": 0.5, "b": 0.25}) + [
        row("dice", seed, acceptance=0.3 + seed / 50, random=True) for seed in range(6)
    ]
    comparison = Comparison(made(tmp_path, rows), "a", ["acceptance"])
    by_agent = {each["agent"]: each for each in comparison.frame.iter_rows(named=True)}
    assert (by_agent["b"]["test"], by_agent["b"]["verdict"]) == ("exact", "worse")
    assert (by_agent["dice"]["test"], by_agent["dice"]["interval"], by_agent["dice"]["verdict"]) == ("t", "t", "worse")
    assert comparison.family == "Holm over 1 pair with a"
    assert "values without an interval are exact" in comparison.legend
    assert "Holm over" in comparison.legend


def test_runs_that_drew_nothing_but_differ_are_not_exact(tmp_path: Path) -> None:
    """An agent with dice of its own, which nobody gave it."""
    rows = fixed({"a": 0.5}) + [row("own", seed, acceptance=0.3 + seed / 50, random=False) for seed in range(6)]
    comparison = Comparison(made(tmp_path, rows), "a", ["acceptance"])
    assert comparison.frame.filter(agent="own")["test"].item() == "wilcoxon"
