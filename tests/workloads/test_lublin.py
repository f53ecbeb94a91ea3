"""The model of Lublin and Feitelson, beside what its authors' program draws.

The numbers are of m_lublin99.c (Parallel Workloads Archive) with a million jobs, where only the type of the clock is
changed, so that it does not drift: shares of serial jobs and of powers of two among the others, for three groups of
sizes the share and the quartiles of run times, quartiles of gaps, and shares of arrivals in six parts of the day.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.scenarios.build.world import build_world
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.errors import UserError
from binwright.simcore.types import QUANTUM, Floats, Workload
from binwright.workloads.lublin import Lublin

PROGRAM: dict[str, Any] = {
    "batch": {
        "serial": 0.2947, "powers": 0.9550,
        "sizes": {(2, 8): (0.3708, 88, 676, 16935), (9, 64): (0.3119, 104, 1192, 19134)}, "gaps": (41, 152, 711),
        "day": (0.0696, 0.0888, 0.2253, 0.2646, 0.2157, 0.1359),
    },
    "interactive": {
        "serial": 0.1539, "powers": 0.8166, "sizes": {(2, 8): (0.6356, 5, 12, 39), (9, 64): (0.2105, 7, 20, 84)},
        "gaps": (16, 46, 163), "day": (0.0581, 0.0476, 0.2038, 0.3039, 0.2514, 0.1352),
    },
    "all": {
        "serial": 0.2439, "powers": 0.8268,
        "sizes": {
            (2, 8): (0.4568, 18, 87, 5155),
            (9, 64): (0.2731, 22, 177, 8984),
            (65, 128): (0.0262, 6029, 10143, 15278),
        },
        "gaps": (42, 116, 377), "day": (0.0597, 0.0579, 0.2119, 0.3021, 0.2353, 0.1331),
    },
}  # fmt: skip


def drawn(seed: int = 1, n: int = 100_000, processors: int = 128, **options: Any) -> Workload:
    return Lublin(**options).draw(n, ("cpu",), {"cpu": float(processors)}, seed)


def sizes_of(workload: Workload) -> Floats:
    found: Floats = workload.demand[:, 0] / QUANTUM
    return found


@pytest.mark.parametrize("jobs", list(PROGRAM))
def test_distributions_equal_those_of_the_authors_program(jobs: str) -> None:
    work, said = drawn(jobs=jobs), PROGRAM[jobs]
    sizes = sizes_of(work)
    powers = np.log2(sizes) % 1 == 0
    assert (sizes == 1).mean() == pytest.approx(said["serial"], abs=0.006)
    assert powers[sizes > 1].mean() == pytest.approx(said["powers"], abs=0.006)
    for (low, high), (share, *quartiles) in said["sizes"].items():
        of = (sizes >= low) & (sizes <= high)
        assert of.mean() == pytest.approx(share, abs=0.006)
        assert [(work.duration[of] <= each).mean() for each in quartiles] == pytest.approx([0.25, 0.5, 0.75], abs=0.03)
    gaps = np.diff(work.arrival)
    assert [(gaps <= each).mean() for each in said["gaps"]] == pytest.approx([0.25, 0.5, 0.75], abs=0.02)
    day = np.histogram(work.arrival % 86400, 6, (0, 86400))[0] / len(work)
    assert day == pytest.approx(said["day"], abs=0.02)
    assert set(work.labels["queue"]) == {jobs}


@given(st.integers(1, 5000), st.integers(0, 99), st.sampled_from(["both", "batch", "interactive", "all"]))
def test_sizes_fit_any_machine_and_more_jobs_continue_fewer(processors: int, seed: int, jobs: str) -> None:
    some, more = (drawn(seed, n, processors, jobs=jobs, users=3, requested=2.0) for n in (40, 90))
    assert (sizes_of(more) >= 1).all()
    assert (sizes_of(more) <= processors).all()
    for name in ("arrival", "duration", "demand", "requested"):
        assert (getattr(some, name) == getattr(more, name)[:40]).all()
    for name in ("queue", "tenant"):
        assert (some.labels[name] == more.labels[name][:40]).all()
    assert (more.duration >= 1).all()
    assert more.requested is not None
    assert (more.requested >= more.duration).all()
    assert (more.requested <= 3 * more.duration).all()


@pytest.mark.parametrize("load", [0.4, 1.2])
def test_load_option_sets_the_load_and_keeps_the_day(load: float) -> None:
    work = drawn(n=300_000, processors=64, jobs="all", load=load)
    found = (sizes_of(work) * work.duration).sum() / (64 * work.arrival[-1])
    assert found == pytest.approx(load, rel=0.04)
    day = np.histogram(work.arrival % 86400, 6, (0, 86400))[0] / len(work)
    assert day == pytest.approx(PROGRAM["all"]["day"], abs=0.02)


SCENARIO = """
cluster: {servers: 2, node: {cpu: 96, mem: 256 GB}}
workload: {requests: 300, lublin: {processor: {cpu: 1, mem: 4 GB}}}
agents: [first-fit]
"""


def test_a_scenario_bounds_sizes_by_what_its_servers_have(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCENARIO)
    cpu, mem = build_world(load_scenario(tmp_path / "s.yaml")).draw(0).demand.T / QUANTUM
    assert (mem == 4 * cpu).all()
    assert 32 < cpu.max() <= 128  # of 512 GB


def test_jobs_are_gangs_of_processors(tmp_path: Path) -> None:
    servers = "cluster: {servers: 16, node: {cpu: 8}}\nworkload: {requests: 300, parts: processors, lublin: {}}\n"
    (tmp_path / "s.yaml").write_text(servers + "agents: [first-fit]\noverflow: wait\n")
    world = build_world(load_scenario(tmp_path / "s.yaml"))
    jobs, whole = world.draw(3), drawn(3, 300)
    assert jobs.gangs is not None
    assert (jobs.demand == QUANTUM).all()
    assert (jobs.gangs.parts == sizes_of(whole)).all()
    assert jobs.gangs.parts.max() > 8


@pytest.mark.parametrize(
    ("lublin", "said"),
    [
        ("{batch: {umed: 5.5}}", "the published parameters stand"),
        ("{processor: {gpu: 1}}", "the cluster has no such resource"),
        ("{processor: {cpu: 500}}", "no processor has room"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, lublin: str, said: str) -> None:
    text = SCENARIO.replace("{processor: {cpu: 1, mem: 4 GB}}", lublin)
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(UserError, match=said):
        build_world(load_scenario(tmp_path / "s.yaml")).draw(0)
