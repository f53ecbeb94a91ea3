"""Promises of backfilling on devices and under rules of placement: nobody starts later than was first promised."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.heuristics.in_line import InLine
from binwright.agents.world import World
from binwright.simcore.types import Request, View
from tests.support.properties import scaled
from tests.support.scenarios import first_run, random_requests

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long


class Promising(InLine):
    """Keeps the first promise to each request."""

    promised: dict[int, float]

    def start(self, view: View, rng: np.random.Generator) -> None:
        super().start(view, rng)
        Promising.promised = {}

    def decide_line(self, view: View, requests: Sequence[Request]) -> Any:
        yield from super().decide_line(view, requests)
        for row, parts in self.reserved.items():
            Promising.promised.setdefault(row, parts[0].start)


GPUS: list[dict[str, Any]] = [
    {"cpu": 4, "gpu": 1},
    {"cpu": 1, "gpu": 0.5},
    {"cpu": 8, "gpu": 2},
    {"cpu": 2, "gpu": 0.25},
    {"cpu": 6},
]
GROUPS: list[dict[str, Any]] = [
    {"cpu": 4, "group": "a"},
    {"cpu": 2, "group": "b"},
    {"cpu": 7, "group": "a"},
    {"cpu": 3, "where": {"rack": "0"}},
]
RULES: list[dict[str, Any]] = [
    {"at_most": 2, "of": "a", "per": "server"},
    {"apart": ["a", "b"], "per": "server"},
]
GANGS: list[dict[str, Any]] = [
    {"parts": {"number": 2, "together": "rack"}},
    {"parts": {"number": 3, "at_most": {"server": 1}}},
]


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a line of jobs on a few servers with devices, or under rules, or both.

    Not of rules by which somebody needs others (`spread`, `near`), who may start and end earlier than was foreseen.
    """
    devices, ruled = draw(st.sampled_from([(True, False), (False, True), (True, True)]))
    some: list[dict[str, Any]] = [*(GPUS if devices else []), *(GROUPS if ruled else [])]
    flavours: list[dict[str, Any]] = draw(st.lists(st.sampled_from(some), min_size=2))
    if ruled:
        flavours += GROUPS[:2]
    if draw(st.booleans()):
        gang = draw(st.sampled_from(GANGS if ruled else [{"parts": {"number": 2}}]))
        flavours = [*flavours[:-1], {**flavours[-1], **gang}]
    rules = draw(st.lists(st.sampled_from(RULES), unique_by=str, max_size=2)) if ruled else []
    return {
        "cluster": {
            "servers": draw(st.integers(2, 4)),
            "node": {"cpu": 16},
            **({"domains": {"rack": 2}} if ruled else {}),
            **({"devices": {"model": "V100", "count": 2}} if devices else {}),
        },
        "workload": {
            "requests": 25,
            "arrivals": {"poisson": {"every": "20 s"}},
            "flavours": flavours,
            "lifetimes": {"exponential": {"mean": "3 min"}},
        },
        "placement": rules,
        "overflow": {"wait": {"together": 25}},
        "knowledge": {"lifetimes": "known"},
        "agents": [
            {
                f"{__name__}:Promising": {
                    "backfilling": draw(st.sampled_from(["easy", "conservative"])),
                    "agent": draw(st.sampled_from(["first-fit", "worst-fit"])),
                }
            }
        ],
        "seed": draw(st.integers(0, 10**6)),
    }


@st.composite
def networks(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a line of jobs that lie on several servers of a network with little bandwidth, sometimes under rules."""
    ruled = draw(st.booleans())
    high = draw(st.sampled_from([10, 25]))
    demand = {"requests": 25, "demand": {"uniform": {"high": high}}, "holding": 15, "bandwidth": [0.1, 3]}
    roles = [{"group": "a"}, {"group": "b"}, {"where": {"zone": "a"}, "weight": 0.3}]
    flavours = [*GROUPS[:3], {"cpu": 20, "parts": {"number": 2}}]
    fabric = {"racks": 2, "servers_per_rack": 2, "racks_per_pod": 2, "fabric_switches": 1, "uplinks": 1}
    marked = {"marked": [{"servers": [0, 1], "labels": {"zone": "a"}}]} if ruled else {}
    return {
        "cluster": {
            "network": {"topology": {"fabric": {**fabric, "capacities": [8, 6, 4]}}, **marked},
            "node": {"cpu": 16, "mem": 16},
        },
        "workload": draw(
            st.sampled_from(
                [
                    {**demand, **({"roles": roles} if ruled else {})},
                    random_requests(25, "20 s", flavours, "3 min"),
                ]
            )
        ),
        "placement": draw(st.lists(st.sampled_from(RULES), unique_by=str, max_size=1)) if ruled else [],
        "overflow": {"wait": {"together": 25}},
        "knowledge": {"lifetimes": "known"},
        "agents": [
            {
                f"{__name__}:Promising": {
                    "backfilling": draw(st.sampled_from(["easy", "conservative"])),
                    "agent": draw(st.sampled_from(["nulb", "nalb", "tetris"])),
                }
            }
        ],
        "seed": draw(st.integers(0, 10**6)),
    }


@scaled(0.3, deadline=None)
@given(st.one_of(scenarios(), networks()))
def test_nobody_starts_later_than_was_first_promised(scenario: dict[str, Any]) -> None:
    with TemporaryDirectory() as folder:
        _, requests = first_run(scenario, Path(folder))
    decided = dict(zip(requests["row"].to_list(), requests["decided"].to_list(), strict=True))
    for row, start in Promising.promised.items():
        assert decided[row] <= start


def starts(folder: Path, jobs: str, backfilling: str, **more: Any) -> list[float]:
    """Play the jobs of a table, on one server, and return when each starts."""
    (folder / "jobs.csv").write_text(jobs)
    scenario = {
        "cluster": {"servers": 1, "node": {"cpu": 10}},
        "workload": {"trace": "table", "path": str(folder / "jobs.csv")},
        "overflow": {"wait": {"together": 9}},
        "knowledge": {"lifetimes": "known"},
        "agents": [{"in-line": {"backfilling": backfilling}}],
    }
    return first_run(scenario | more, folder)[1]["decided"].to_list()


@pytest.mark.parametrize(
    ("devices", "jobs", "expected"),
    [
        (2, ["0,100,1", "0,50,0.5", "1,10,2", "2,98,0.5", "3,98,0.5"], [0, 0, 100, 2, 110]),
        (3, ["0,100,1", "0,100,0.5", "0,60,1", "1,10,2", "2,200,0.5"], [0, 0, 0, 100, 60]),
    ],
)
def test_jobs_pass_on_devices_that_are_not_promised_to_the_first(
    tmp_path: Path, devices: int, jobs: list[str], expected: list[float]
) -> None:
    """The first that waits, for two, is promised 100. Who passes is over by then, or on the third from 60 on."""
    table = "\n".join(["id,cpu,arrival,lifetime,gpu", *(f"{n},1,{job}" for n, job in enumerate(jobs))])
    cluster = {"servers": 1, "node": {"cpu": 9}, "devices": {"model": "V100", "count": devices}}
    assert starts(tmp_path, table, "easy", cluster=cluster) == expected


@pytest.mark.parametrize("share", [1, 0])
@pytest.mark.parametrize("backfilling", ["easy", "conservative"])
def test_rules_keep_others_from_where_the_first_was_promised(
    tmp_path: Path, backfilling: str, share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second is promised 50. The third, of 0 cpu or 1, would keep it out by rule until 92; the fourth is short."""
    draw, shares = World.draw, [[1], [1], [share], [1]]
    monkeypatch.setattr(World, "draw", lambda *to: replace(draw(*to), demand=draw(*to).demand * shares))
    jobs = "id,arrival,lifetime,cpu,group\nw,0,50,8,b\nx,1,50,8,a\ny,2,90,1,a\nz,3,20,1,a\n"
    assert starts(tmp_path, jobs, backfilling, placement=[RULES[0] | {"at_most": 1}]) == [0, 50, 100, 3]
