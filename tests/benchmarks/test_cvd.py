"""The tables of docs/experiments/cvd.md, from made-up runs."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks.cvd import BEST, BOUND, WARM, few_days, lengths, markdown, others, percent, ratio, replayed, table_of
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build.plan import Run, plan
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from tests.support.learning import small


def runs() -> pl.DataFrame:
    """Two warm starts and three seeds of three agents; one run of the last seed failed."""
    rng = np.random.default_rng(0)
    rows = []
    for warm in (0.5, 0.0):
        for agent in ("best-fit", "internal", "mine"):
            for seed in (1, 0, 2):
                failed = (warm, agent, seed) == (0.5, "mine", 2)
                made = {"scheduled": int(rng.integers(900, 1100)), "scheduled_bound": 1200 + seed, "income": 3.0}
                made["income_booked"] = float(made["scheduled"])
                made |= {
                    "allocation_cpu_decisions": 0.6,
                    "allocation_cpu": 0.7,
                    "allocation_cpu_end": 0.8 + rng.random() / 10,
                }
                known: dict[str, object] = {"agent": agent, "seed": seed, "warm_start.until": warm}
                rows.append(known | {"status": "failed" if failed else "done"} | ({} if failed else made))
    return pl.DataFrame(rows, infer_schema_length=None)


def test_rows_are_agents_and_bounds_over_the_seeds_that_all_have() -> None:
    frame = runs()
    found = table_of(frame, "scheduled")
    assert {agent: values.shape for agent, values in found.items()} == dict.fromkeys(found, (2, 2))
    cell = frame.filter(agent="mine", seed=1).filter(pl.col("warm_start.until") == 0.5)["scheduled"][0]
    assert found["mine"][1, 1] == cell
    rows = lengths(frame)
    assert rows[0][1:3] == ["warm start 0%", "warm start 50%"]
    assert [row[0] for row in rows[1:]] == ["best-fit", "internal", "mine", BEST, BOUND]
    assert {len(row) for row in rows} == {5}
    assert rows[1][1] == f"{found['best-fit'][0].mean():,.0f}"
    most = np.max(list(found.values()), axis=0)
    assert rows[4][3].startswith(f"{100 * (most.sum() / found['best-fit'].sum() - 1):+.2f} ± ")
    assert [row[0] for row in others(frame)[1:]] == ["best-fit", "internal", "mine"]
    assert [row[6] for row in others(frame)[1:]] == ["+0.00 ± 0.00 %", "", "+0.00 ± 0.00 %"]
    assert {row[8] for row in others(frame)[1:]} > {""}
    assert markdown(rows).splitlines()[1] == f"|{'---|' * 5}"


def test_on_the_month_itself_intervals_are_those_of_its_days() -> None:
    frame = runs().with_columns(day=pl.col("seed"))
    rows = lengths(frame)
    assert re.fullmatch(r"[+-]\d+\.\d\d \[[+-]\d+\.\d\d, [+-]\d+\.\d\d\] %", rows[3][3])
    few = few_days(frame)
    assert [row[0] for row in few[1:]] == ["best-fit", "internal", "mine"]
    assert few[1][1] == few[2][4] == ""
    assert rows[3][3] == few[3][1]
    assert " to " in few[3][3]


def test_intervals_are_those_of_paired_seeds() -> None:
    rng = np.random.default_rng(1)
    base = rng.uniform(500, 2000, 40)
    assert ratio(base * 1.02, base) == pytest.approx((0.02, 0.0))
    found, half = ratio(base + rng.normal(0, 20, 40), base)
    assert abs(found) < 2 * half < 0.03


def test_intervals_of_few_seeds_are_wide_enough() -> None:
    """Nineteen of twenty of 8 seeds hold what is true; with quantiles of the normal distribution it is 91 %."""
    rng = np.random.default_rng(2)
    base = rng.normal(1000, 10, (2000, 8))
    off = [ratio(one + error, one) for one, error in zip(base, rng.normal(0, 20, base.shape), strict=True)]
    assert np.mean([abs(found) <= half for found, half in off]) == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("filler", ["best-fit", "self"])
def test_replays_are_the_runs(filler: str, tmp_path: Path) -> None:
    """Agents that remember or draw numbers included."""
    pytest.importorskip("safetensors")
    agents = ["best-fit", "internal", "random-top", "padrl", "value-es"]
    warm = {"until": "10 %", "with": filler}
    scenario = scenario_from(
        small(agents=agents, replications=3, warm_start=warm, sweep={"product": {WARM: [0, 0.2, 0.4]}})
    )
    results = Batch(scenario, tmp_path / "out").run().runs
    groups = [group(scenario, seed, point) for seed in range(3) for point in (0, 0.2, 0.4)]
    rows = [row for some in groups for row in replayed(some, tmp_path)]
    keys = ["agent", "seed", WARM]
    bound = [] if filler == "self" else ["scheduled_bound"]
    wanted = results.select(*keys, "scheduled", *bound).sort(keys)
    assert pl.DataFrame(rows).select(wanted.columns).cast(wanted.schema).sort(keys).equals(wanted)
    assert wanted["scheduled"].n_unique() > 5


def test_one_seed_has_no_interval() -> None:
    base = np.array([1000.0])
    assert percent(*ratio(base * 1.02, base)) == "+2.00 %"
    assert "inf" not in markdown(others(runs().filter(seed=1)))


def group(scenario: Scenario, seed: int, warm: float) -> list[Run]:
    return [run for run in plan(scenario) if run.seed == seed and run.point[WARM] == warm]
