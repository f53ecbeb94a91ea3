"""Quotas: how much is left as Kueue says it, what must hold in every run, and what scenarios say."""

from collections.abc import Mapping
from copy import deepcopy
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.preemption import Preemption
from binwright.scenarios.features.queues import QueueBook
from binwright.scenarios.features.quotas import QuotaBook, Quotas
from binwright.scenarios.run.check import check_scenario
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.errors import UserError
from binwright.simcore.types import Request
from binwright.simcore.units import quanta
from tests.reference.engine import Case, Reference
from tests.reference.quotas import Queue, available, kept
from tests.support.properties import first, scaled
from tests.support.scenarios import WAYS, first_run, random_requests
from tests.support.simulations import compare, drawn_case, drawn_quotas, drive, first_fit, moody, quota_of, simulate


def _most(amounts: Mapping[str, float]) -> float:
    return quanta(amounts["a"]) if "a" in amounts else inf


class Watched(QuotaBook):
    """Counts again, after every change of what is granted, what those in line and those that run use."""

    evicted = 0

    def usage(self) -> list[int]:
        """Add up what everybody uses."""
        simulation, used = self._simulation, [0] * len(self.names)
        rows = {each.index: each.demand for each in simulation.line}
        rows |= {row: simulation.request(row).demand for row in simulation.ledger.running}
        for row, demand in rows.items():
            if (tenant := int(self.tenants(row))) >= 0:
                used[tenant] += demand[0]
        return used

    def check(self) -> None:
        """Nobody is above a quota, and who is held has no room in it."""
        queues = [
            Queue(own, _most(quota.borrow), _most(quota.lend), quota.cohort)
            for own, quota in zip(self.nominal[:, 0].tolist(), self.spec.of.values(), strict=True)
        ]
        used = self.usage()
        assert used == self.by_tenant(self.table.used)[:, 0].tolist()
        assert kept(queues, used)
        assert all(self.lacks(quota.index) for quota in self.held)

    def _borrowers(self, request: Request) -> list[int]:
        rows = super()._borrowers(request)
        simulation, tenant, used = self._simulation, int(self.tenants(request.index)), self.by_tenant(self.table.used)
        for row in rows:
            other = int(self.tenants(row))
            assert other != tenant
            assert self._cohorts[other] == self._cohorts[tenant] != ""
            assert used[other, 0] > self.nominal[other, 0]
            assert self.spec.reclaim == "any" or simulation.request(row).priority < request.priority
        if rows:
            assert used[tenant, 0] + request.demand[0] <= self.nominal[tenant, 0]
        self.evicted += len(rows)
        return rows


def watched(case: Case, salt: int) -> tuple[Simulation, Watched]:
    """Play a case within quotas, look at them whenever the agent is asked, and hold it to the reference."""
    simulation = simulate(case, quotas=Watched)
    quotas, decide = simulation.quotas, moody(salt) if salt % 2 else first_fit
    assert isinstance(quotas, Watched)

    def looking(*requested: Any) -> Any:
        quotas.check()
        return decide(*requested)

    taken = drive(simulation, looking)
    quotas.check()
    compare(simulation, taken, reference := Reference(case, decide), late=True)
    log = simulation.preempting.log if isinstance(simulation.preempting, Preemption) else []
    evicted = [(each.row, each.by, each.end, each.lost) for each in log if each.outcome == "evicted"]
    assert sorted(evicted) == sorted(reference.evicted + reference.reclaimed)
    assert all(reference.urgency(row) < reference.urgency(by) for row, by, _, _ in reference.evicted)
    if isinstance(simulation.queues, QueueBook):
        counts, running = simulation.queues.table.counts, sorted(simulation.ledger.running)
        assert np.flatnonzero(counts).tolist() == running
    return simulation, quotas


@scaled(2)
@given(st.integers(0, 10**6))
def test_remaining_quota_equals_kueues(seed: int) -> None:
    rng = Random(seed)
    queues, used = [*drawn_quotas(rng).values()], [0, 0, 0]
    spec = Quotas.model_construct(of={name: quota_of(queue) for name, queue in zip("abc", queues, strict=True)})
    for _ in range(12):
        requests: list[tuple[float, float, tuple[int, ...]]] = [(0.0, 1.0, (rng.randint(1, 5),)) for _ in range(3)]
        case = Case([[[9]]], [[9]], (99,), requests, groups=("a", "b", "c"))
        simulation = simulate(case)
        book = QuotaBook(simulation, spec)
        tenant = rng.randrange(3)
        amount = case.requests[tenant][2][0]
        fits = amount <= available(queues, used, tenant)
        for other, times in enumerate(used):
            book.table.amount[other] = times
            book.started(other)
        book.table.amount[tenant] = amount
        assert (book.lacks(tenant) == "") == fits
        used[tenant] += amount if fits else 0
        assert kept(queues, used)


@pytest.mark.long
@pytest.mark.parametrize("start", first(1, range(0, 300, 60)))
def test_quotas_are_never_exceeded(start: int) -> None:
    evicted = held = refused = queued = 0
    for seed in range(start, start + 60):
        simulation, quotas = watched(drawn_case(seed), seed)
        evicted, held = evicted + quotas.evicted, held + int(np.isfinite(quotas.table.since).sum())
        record = simulation.record
        reasons = [record.reasons[code] for code in record.reason[: record.rows].tolist() if code >= 0]
        refused += sum(reason.startswith("quota: ") for reason in reasons)
        queued += np.isfinite(simulation.queues.table.since).sum() if isinstance(simulation.queues, QueueBook) else 0
        waited = np.isfinite(quotas.table.since)
        assert (quotas.table.since[waited] <= quotas.table.until[waited]).all()
    assert min(evicted, held, refused, queued) > 10


# -- from a scenario ---------------------------------------------------------------------------------------------------


def scenario(quotas: dict[str, Any], **more: Any) -> Scenario:
    """Make a scenario of two tenants."""
    return scenario_from(
        {
            "name": "quotas", "cluster": {"servers": 4, "node": {"cpu": 8}},
            "workload": random_requests(
                300, "10 s", [{"cpu": 1, "weight": 3, "group": "a"}, {"cpu": 2, "group": "b"}], "2 min",
            ),
            "quotas": quotas, "overflow": "wait", "agents": ["best-fit"], **more,
        },
    )  # fmt: skip


COHORT = {
    "a": {"nominal": {"cpu": 4}, "cohort": "all"},
    "b": {"nominal": {"cpu": 12}, "cohort": "all", "lend": {"cpu": 6}},
}


def test_tenants_are_measured(tmp_path: Path) -> None:
    row, requests = first_run(scenario({"of": COHORT, "reclaim": "any"}, record=["requests"]), tmp_path)
    placed = requests.filter(pl.col("server") >= 0)
    seconds = pl.min_horizontal("end", pl.col("decided").max()) - pl.col("decided")
    placed = placed.with_columns(held=seconds * pl.col("cpu"))
    held = placed.group_by("group").agg(pl.col("held").sum())["held"].to_numpy()
    assert row["compiled"]
    assert row["jain"] == pytest.approx(held.sum() ** 2 / 2 / (held**2).sum())
    assert 0 < row["quota_wait"] < requests["wait"].sum() / 300
    assert row["preemptions"] > 0


GANGS = {"workload": {"flavours": [{"cpu": 2, "group": "a", "priority": 1, "parts": {"number": 3}}]}}
FAILURES = {"cluster": {"failures": {"mtbf": "20 min", "mttr": "1 min", "on_failure": "requeue"}}}


@pytest.mark.parametrize("above", ["wait", "refuse"])
@pytest.mark.parametrize("overflow", ["wait", "drop", {"preempt": {"otherwise": "wait"}}])
def test_quotas_hold_alike_in_the_loop_and_in_python(above: str, overflow: Any, tmp_path: Path) -> None:
    retained = {"seconds", "decision_us", "compiled"}
    changes: list[dict[str, Any]] = [{}, GANGS, FAILURES]
    for number, more in enumerate(changes):
        quotas = {"of": COHORT, "above": above, "reclaim": ("any", "never", "lower")[number]}
        data = scenario(quotas, overflow=overflow).dump()
        for place, keys in more.items():
            for key, value in keys.items():
                data[place][key] = [*value, *data[place][key]] if isinstance(value, list) else value
        data["workload"]["requests"] = 120
        data["workload"]["flavours"][-1]["priority"] = 2
        data |= {"record": ["requests"]}
        (row, requests), (other, others) = (
            first_run(scenario_from(deepcopy(data)), tmp_path / f"{way}{number}", way) for way in WAYS
        )
        assert (row["compiled"], other["compiled"]) == (False, True)
        assert {key: row[key] for key in row.keys() - retained} == {key: other[key] for key in row.keys() - retained}
        assert_frame_equal(requests, others, check_exact=True)


@pytest.mark.parametrize(
    ("quotas", "message"),
    [
        ({"of": {"d": {"nominal": {"cpu": 4}}}}, "no request is of this group"),
        ({"of": {"a": {"nominal": {"gpu": 4}}}}, "no such resource"),
        ({"of": {"a": {"nominal": {"cpu": 4}, "lend": {"cpu": 2}}}}, "members of a cohort"),
        ({"of": {"a": {"nominal": {"cpu": 4}, "cohort": "x", "lend": {"mem": "2 GB"}}}}, "no nominal quota"),
        ({"of": {}}, "quotas.of"),
    ],
)
def test_mistakes_are_named(quotas: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        scenario(quotas)


GANG = "0,0,50,4,x\n1,1,100,4,a\n2,2,30,2,b\n"


def reclaimed(folder: Path, jobs: str = GANG, parts: str | None = "cpu", **changes: Any) -> list[tuple[Any, ...]]:
    """Play jobs, usually a gang that borrows and waits for room, and one within its quota that comes after it."""
    (folder / "jobs.csv").write_text(f"id,arrival,lifetime,cpu,who\n{jobs}")
    workload = {"trace": "table", "path": str(folder / "jobs.csv"), "labels": {"who": "who"}}
    halves = {name: {"nominal": {"cpu": 2}, "cohort": "all"} for name in "ab"}
    options = {
        "cluster": {"servers": 1, "node": {"cpu": 4}},
        "workload": {**workload, **({"parts": {"by": parts}} if parts else {})},
        "quotas": {"by": "who", "of": halves, "reclaim": "any", "checkpoint": 7},
        "overflow": "wait",
        "agents": ["best-fit"],
        "record": ["requests"],
    }
    _, requests = first_run({**options, **changes}, folder)
    return requests.select("labels.who", "duration", "decided", "end", "outcome").rows()


def test_nobody_is_evicted_between_the_parts_of_a_gang(tmp_path: Path) -> None:
    rows = reclaimed(tmp_path)
    assert rows[4:8] == [("a", 100.0, 50.0, 50.0, "interrupted")] * 4
    assert rows[8:] == [("b", 30.0, 50.0, 80.0, "placed")] * 2 + [("a", 100.0, 80.0, 180.0, "placed")] * 4


@pytest.mark.parametrize("overflow", ["wait", {"wait": {"together": 1}}, {"wait": {"together": 1, "one_by_one": True}}])
def test_room_that_an_arrival_reclaims_is_offered_to_the_first_in_line_at_once(tmp_path: Path, overflow: Any) -> None:
    rows = reclaimed(tmp_path, "0,0,50,4,a\n1,1,10,2,c\n2,2,10,2,b\n", None, checkpoint=None, overflow=overflow)
    assert [(row[0], row[2]) for row in rows] == [("a", 0), ("c", 2), ("b", 2), ("a", 12)]


@pytest.mark.parametrize("then", ["requeue", "drop"])
def test_reclaimed_requests_continue_as_quotas_say_beside_preemption(tmp_path: Path, then: str) -> None:
    rows = reclaimed(tmp_path, overflow={"preempt": {"then": then, "checkpoint": 100}})
    assert [row[0] for row in rows] == list("xxxxaaaabbaaaa")


@pytest.mark.parametrize(
    ("quotas", "overflow", "message"),
    [
        ({"by": "usr", "of": COHORT}, "wait", r"quotas\.by: the requests have no such label \(got 'usr'\)"),
        ({"of": COHORT, "only": {"models": "A100"}}, "wait", r"quotas\.only: the requests have no such label"),
        ({"of": COHORT, "checkpoint": "1 min"}, "wait", "checkpoint: is for those that are evicted, and nobody is"),
    ],
)
def test_labels_that_no_request_has_are_refused_before_anything_runs(quotas: Any, overflow: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_scenario(scenario(quotas, overflow=overflow))
