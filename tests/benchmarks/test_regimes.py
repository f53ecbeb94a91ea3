"""The page of regimes, from made-up runs and from real ones."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks.regimes import Standing, needed, own, replayed, said
from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.compare.statistics import ALPHA
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import load_scenario

pytest.importorskip("safetensors")

LABELS = ("first-fit", "best-fit", "internal", "value-es", "value-es of large", "value-es of large, untrained")


def runs(lengths: tuple[float, ...], seeds: int = 40) -> pl.DataFrame:
    """Runs of these agents, of these lengths on average, with most of the chance in common."""
    rng = np.random.default_rng(1)
    rows = []
    for seed in range(seeds):
        common = rng.normal(0, 100)
        for label, mean in zip(LABELS, lengths, strict=True):
            placed = int(mean + common + rng.normal(0, 20))
            row = {"agent": label, "seed": seed, "status": "done", "scheduled": placed, "ended": True}
            rows.append(row | {"cpu": 0.8, "mem": 0.7})
    return pl.DataFrame(rows)


def test_standing_ranks_agents_and_tests_differences() -> None:
    standing = Standing(runs((900, 1000, 1001, 990, 1100, 1050)))
    assert standing.best in ("best-fit", "internal")
    assert standing.size == 15
    text, p = standing.over("value-es of large", "first-fit")
    assert text.startswith("+2")
    assert p < 1e-6
    assert standing.over("best-fit", "internal")[1] > ALPHA
    largest = standing.largest("value-es of large")
    assert largest == max(standing.over("value-es of large", one)[1] for one in LABELS[:3])
    assert largest < ALPHA < standing.largest("value-es")


def test_weights_stand_for_other_loads_of_the_same_requests() -> None:
    assert own("large", LABELS) == own("large-light-short", LABELS) == "value-es of large"
    assert own("shapes", LABELS) is None
    assert [said(p) for p in (0.0001, 0.0312, 1.0)] == ["<.001", ".031", "1"]


def test_seeds_needed_to_tell_two_agents_apart_match_the_formula() -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(2, 50_000))
    assert needed(np.stack([noise[0], noise[1] + 0.5])) == pytest.approx(7.85 * 2 / 0.25, rel=0.1)


def test_replays_of_regimes_equal_runs(tmp_path: Path) -> None:
    agents = "agents=[first-fit, random-top, {value-es: {weights: shapes}}]"
    scenario = load_scenario("regimes/shapes", [agents, "replications=1", "workload.requests=2000"])
    expected = Batch(scenario, tmp_path / "out").run().runs.select("agent", "scheduled", "allocation_cpu_end")
    rows = replayed(scenario, scenario.seed)
    assert [(row["agent"], row["scheduled"]) for row in rows] == expected.select("agent", "scheduled").rows()
    assert [row["cpu"] for row in rows] == pytest.approx(expected["allocation_cpu_end"].to_list(), abs=0.05)


def test_p_values_are_those_of_compare(tmp_path: Path) -> None:
    agents = "agents=[best-fit, first-fit, worst-fit]"
    scenario = load_scenario("regimes/filling", [agents, "replications=12"])
    results = Batch(scenario, tmp_path / "out").run()
    frame = Comparison(results, metrics=["scheduled"]).frame  # beside the first, corrected for every two agents
    standing = Standing(results.runs)
    for label in ("first-fit", "worst-fit"):
        assert standing.over(label, "best-fit")[1] == pytest.approx(frame.filter(agent=label)["p"][0])
