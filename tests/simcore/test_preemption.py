"""Less urgent requests that give way: the engine against the obvious rules, and what must hold whatever happens."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf, isnan
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.build.plan import plan
from binwright.scenarios.features.preemption import Preemption
from binwright.scenarios.features.preemption.victims import Victim
from binwright.scenarios.run.execute import execute
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.errors import UserError
from binwright.simcore.record import OUTCOMES
from binwright.simcore.types import Request, View
from tests.reference.engine import Case, Decide, Preempt, Reference
from tests.support.batches import TIMES
from tests.support.properties import first, scaled
from tests.support.scenarios import deciding, first_run, random_requests
from tests.support.simulations import (
    VICTIMS,
    cases,
    compare,
    deciders,
    drive,
    first_fit,
    long_case,
    moody,
    ruled_case,
    simulate,
)  # fmt: skip

RULES = st.builds(
    Preempt,
    st.sampled_from([*VICTIMS]),
    st.sampled_from([0.0, 0.0, 1.0, 3.0]),
    st.booleans(),
    st.sampled_from([inf, 1.0, 2.0]),
)


@st.composite
def preempting_cases(draw: st.DrawFn) -> Case:
    case = draw(cases())
    case = replace(case, together=draw(st.sampled_from([0, 0, 1, 2, 9])))
    if case.together:
        case.mode = "wait"
    count = len(case.requests)
    return replace(
        case,
        preempt=draw(RULES),
        priorities=tuple(draw(st.lists(st.integers(-1, 2), min_size=count, max_size=count))),
        groups=tuple(draw(st.lists(st.sampled_from(["a", ""]), min_size=count, max_size=count))),
    )


def long_preempting(seed: int) -> Case:
    """Make a long case in which many are evicted: with failures, and in some with rules of placement."""
    rng = Random(seed)
    case = long_case(seed) if rng.random() < 0.7 else ruled_case(seed)
    groups = case.groups or tuple(rng.choice(["a", "b"]) for _ in case.requests)
    together = rng.choice([0, 0, 0, 2, 40])
    return replace(
        case,
        together=together,
        mode="wait" if together or rng.random() < 0.7 else case.mode,
        priorities=tuple(rng.choice([0, 1, 1, 5, 9]) for _ in case.requests),
        groups=groups,
        preempt=Preempt(
            rng.choice([*VICTIMS]),
            rng.choice([0.0, 0.0, 1.0, 4.0]),
            rng.random() < 0.8,
            rng.choice([inf, 1.0, 3.0]),
        ),
    )


def held_to(case: Case, decide: Decide) -> tuple[Simulation, Preemption]:
    """Play a case on the engine and in the reference, and hold one to the other."""
    reference = Reference(case, decide)
    simulation = simulate(case)
    compare(simulation, drive(simulation, decide), reference)
    preempting = simulation.preempting
    assert isinstance(preempting, Preemption)
    evicted = [(each.row, each.by, each.end, each.lost) for each in preempting.log if each.outcome == "evicted"]
    assert sorted(evicted) == sorted(reference.evicted)
    return simulation, preempting


def check(simulation: Simulation, preempting: Preemption) -> None:
    """Nobody gives way to an equal, work is neither lost nor made but what the log says."""
    record, workload = simulation.record, simulation.as_workload()
    assert workload.priority is not None
    lost = {each.row: each.lost for each in preempting.log if each.outcome == "evicted"}
    for each in preempting.log:
        assert workload.priority[each.row] < workload.priority[each.by]
        assert isnan(each.end) if each.outcome == "noticed" else each.end == each.notice + preempting.spec.grace
    for row in range(len(simulation.workload), record.rows):
        before = int(record.origin[row])
        ran = record.interruption[before] - record.decided[before]
        done = ran - lost.get(before, 0.0)
        assert (
            workload.duration[row] == pytest.approx(workload.duration[before] - done) or workload.duration[row] == inf
        )
    for row in lost:
        assert OUTCOMES[record.outcome[row]] == "interrupted"
        assert not isnan(record.interruption[row])
        assert (row in record.origin[: record.rows]) == (preempting.spec.then == "requeue")


@scaled(3)
@given(preempting_cases(), deciders)
def test_preempting_engine_equals_its_reference(case: Case, decide: Decide) -> None:
    check(*held_to(case, decide))


def fewest(view: View, request: Request, victims: Sequence[Victim]) -> float:
    return len(victims)


def lowest(view: View, request: Request, victims: Sequence[Victim]) -> float:
    return max(victim.request.priority for victim in victims)


def youngest(view: View, request: Request, victims: Sequence[Victim]) -> float:
    return max(victim.ran for victim in victims)


def cheapest(view: View, request: Request, victims: Sequence[Victim]) -> float:
    return sum(victim.lost * victim.share for victim in victims)


@given(preempting_cases())
def test_a_function_of_ones_own_evicts_as_the_rule_that_says_the_same(case: Case) -> None:
    assert case.preempt
    logs = []
    for rule in case.preempt.rule, f"{__name__}:{case.preempt.rule}":
        simulation = simulate(replace(case, preempt=replace(case.preempt, rule=rule)))
        drive(simulation, first_fit)
        assert simulation.preempting
        logs.append(simulation.preempting.log)
    assert repr(logs[0]) == repr(logs[1])


@pytest.mark.long
@pytest.mark.parametrize("start", first(1, range(0, 300, 25)))
def test_long_runs_are_the_references(start: int) -> None:
    evicted = 0
    for seed in range(start, start + 25):
        for decide in (first_fit, moody(seed)):
            simulation, preempting = held_to(long_preempting(seed), decide)
            check(simulation, preempting)
            evicted += sum(each.outcome == "evicted" for each in preempting.log)
    assert evicted > 25


@scaled(1)
@given(st.integers(0, 9999))
def test_as_few_give_way_as_can(seed: int) -> None:
    """In one dimension, on one node: by `fewest` no smaller set of any server would make room."""
    rng = Random(seed)
    most = 12
    requests = [(float(n), inf, (rng.randint(1, 5),)) for n in range(12)]
    urgent = rng.randint(1, most)
    case = Case(
        [[[most]], [[most]]], [[most]], (99,), [*requests, (20.0, 1.0, (urgent,))], "wait",
        priorities=(*(0 for _ in requests), 1), preempt=Preempt("fewest"),
    )  # fmt: skip
    simulation, preempting = held_to(replace(case, mode="drop", preempt=Preempt("fewest", requeue=False)), first_fit)
    record = simulation.record
    gone = [each.row for each in preempting.log]
    least = []
    for server in range(2):
        held = sorted(
            (requests[row][2][0] for row in np.flatnonzero(record.server[:12] == server).tolist()), reverse=True
        )
        free = most - sum(held)
        least.append(next(n for n in range(len(held) + 1) if free + sum(held[:n]) >= urgent))
    assert len(gone) == min(least)


# -- from a scenario ---------------------------------------------------------------------------------------------------


def scenario(overflow: Any, **more: Any) -> Scenario:
    """Make a scenario in which production has batch jobs evicted."""
    return scenario_from(
        {
            "name": "preempting", "cluster": {"servers": 2, "node": {"cpu": 8}},
            "priorities": {"production": 1000, "batch": 10},
            "workload": random_requests(300, "10 s", [
                    {"cpu": 1, "weight": 3, "priority": "batch", "group": "web"},
                    {"cpu": 6, "priority": "production"},
                ], "1 min"),
            "overflow": overflow, "agents": ["best-fit"], "record": ["requests"], **more,
        },
    )  # fmt: skip


def dearest(view: View, request: Request, victims: Sequence[Victim]) -> float:
    return -len(victims)


OWN = f"{__name__}:dearest"


V_CSV = "id,arrival,lifetime,cpu,prio\nlow,0,100,8,0\nmid,10,50,8,2\nhigh,12,50,8,9\n"


@pytest.mark.parametrize("otherwise", ["drop", "wait"])
def test_victims_on_notice_make_room_for_whoever_is_most_urgent_when_they_are_gone(
    otherwise: str, tmp_path: Path
) -> None:
    (tmp_path / "v.csv").write_text(V_CSV)
    workload = {"trace": "table", "path": str(tmp_path / "v.csv"), "labels": {"priority": "prio"}}
    overflow = {"preempt": {"grace": "5 s", "otherwise": otherwise}}
    cluster = {"servers": 1, "node": {"cpu": 8}}
    [run] = plan(scenario(overflow, workload=workload, cluster=cluster, priorities={}))
    execute(run, tmp_path)
    [file] = (tmp_path / "details").glob("*.requests.parquet")
    assert pl.read_parquet(file)["decided"][2] == 15


@pytest.mark.parametrize("victims", [*VICTIMS, OWN])
def test_preemption_follows_the_keys_of_the_scenario(victims: str, tmp_path: Path) -> None:
    preempt = {"victims": victims, "grace": "5 s", "checkpoint": "20 s"}
    row, requests = first_run(scenario({"preempt": preempt}), tmp_path)
    evicted = requests.filter(pl.col("evicted_for") >= 0)
    [again] = plan(scenario({"preempt": preempt}))
    with deciding("python"):
        slow = execute(again, tmp_path / "slow")
    assert (row["compiled"], slow["compiled"]) == (True, False)
    clock = {*TIMES, "compiled"}
    assert {name: row[name] for name in row if name not in clock} == {
        name: slow[name] for name in slow if name not in clock
    }
    assert row["preemptions"] == len(evicted) > 5
    assert set(evicted["priority"]) == {10}
    lost = ((evicted["end"] - evicted["decided"]) % 20).sum() / 3600
    assert row["lost_work_cpu"] == pytest.approx(lost)
    assert requests["outcome"].is_in(["placed", "interrupted"]).all()


@pytest.mark.parametrize(
    ("overflow", "message"),
    [
        ({"preempt": {"victims": "lowst"}}, "lowest"),
        ({"preempt": {}, "wait": {"together": 3}}, "more than one way"),
        ({"preempt": {"otherwise": "requeue"}}, "is no known value"),
    ],
)
def test_mistakes_are_named(overflow: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        scenario(overflow)


def test_spot_requests_pay_a_share(tmp_path: Path) -> None:
    prices = {"prices": {"cpu_hour": 1.0}}
    [whole] = plan(scenario({"preempt": {}}, **prices))
    [spot] = plan(scenario({"preempt": {}}, **prices, spot={"of": ["batch"], "pays": "25 %"}))
    full, less = execute(whole, tmp_path / "full"), execute(spot, tmp_path / "less")
    [file] = (tmp_path / "less" / "details").glob("*.requests.parquet")
    requests = pl.read_parquet(file).filter(pl.col("server") >= 0)
    end = np.minimum(requests["end"].to_numpy(), requests["decided"].to_numpy().max())
    held = (end - requests["decided"].to_numpy()) * requests["cpu"].to_numpy() / 3600
    batch = requests["priority"].to_numpy() == 10
    assert full["income"] == pytest.approx(held.sum())
    assert less["income"] == pytest.approx(held[~batch].sum() + held[batch].sum() / 4)
    for problem, more in (("no such priority", {"of": ["gold"]}), ("nothing has a price", {"of": ["batch"]})):
        with pytest.raises(UserError, match=problem):
            scenario("wait", **(prices if "gold" in more["of"] else {}), spot={**more, "pays": "25 %"})
