"""Speed of groups: who is on a faster server ends sooner, whatever happens to it, and agents count on that."""

from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from binwright.agents.heuristics.in_line import InLine
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.play import play
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.speed import Speeds
from binwright.simcore.rules import Overflow
from binwright.simcore.types import QUANTUM, Agent, Placement, Request, View
from binwright.simcore.workload import Workload
from tests.support.properties import scaled
from tests.support.scenarios import first_run

MOVES = """
from binwright import Move

def there_and_back(simulation):
    for server in (1, 0):
        yield simulation.env.timeout(10)
        if 0 in simulation.ledger.running:
            simulation.moving.make([Move(0, simulation.request(0).on(server, 0))])
"""


def scenario_of(*speeds: float, requests: int = 2, every: float = 200, **more: Any) -> dict[str, Any]:
    """Requests for half a server and 60 s, one `every` so many seconds, on one server of each of these speeds."""
    return {
        "cluster": {"groups": [{"count": 1, "node": {"cpu": 2}, "speed": speed} for speed in speeds]},
        "workload": {
            "requests": requests,
            "arrivals": {"fixed": {"every": every}},
            "flavours": [{"cpu": 1}],
            "lifetimes": {"fixed": 60},
        },
        "overflow": "wait",
        "agents": ["first-fit"],
        **more,
    }


def test_a_request_stays_for_its_lifetime_divided_by_the_speed(tmp_path: Path) -> None:
    row, requests = first_run(scenario_of(1, 2.5, requests=6, every=1), tmp_path)
    assert requests["server"].to_list() == [0, 0, 1, 1, 1, 1]
    assert requests["duration"].to_list() == [60, 60, 24, 24, 24, 24]
    assert requests["decided"].to_list() == [0, 1, 2, 3, 26, 27]
    assert not row["compiled"]


def test_added_servers_are_as_fast_as_those_of_the_last_group(tmp_path: Path) -> None:
    scenario = scenario_of(1, 3, requests=6, every=1)
    scenario["cluster"]["expansion"] = [{"at": "4 s", "by": 1}]
    _, requests = first_run(scenario, tmp_path)
    assert requests["server"].to_list() == [0, 0, 1, 1, 2, 2]
    assert requests["duration"].to_list() == [60, 60, 20, 20, 20, 20]


def test_speeds_follow_servers_that_are_numbered_by_chance(tmp_path: Path) -> None:
    scenario = scenario_of(1, 2, 4, requests=6, every=1)
    scenario["cluster"]["numbering"] = "drawn"
    _, requests = first_run(scenario, tmp_path)
    stays = dict(zip(requests["server"].to_list(), requests["duration"].to_list(), strict=True))
    assert sorted(stays.values()) == [15, 30, 60]


def test_a_move_changes_the_pace_from_then_on(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MOVES)
    _, requests = first_run(scenario_of(1, 3, processes=[f"{tmp_path}/mine.py:there_and_back"]), tmp_path)
    assert requests["duration"].to_list()[0] == 10 + 10 + (60 - 10 - 30)


def test_who_is_moved_to_a_slower_server_holds_it_to_the_end(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MOVES)
    scenario = scenario_of(1, 3, every=30, processes=[f"{tmp_path}/mine.py:there_and_back"])
    scenario["workload"]["flavours"] = [{"cpu": 2}]
    _, requests = first_run(scenario, tmp_path)
    assert requests["server"].to_list() == [0, 1]  # the first has server 0 until 40 s, not until 10 + 50 / 3 s


def test_a_move_counts_what_was_done_since_the_request_began(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from binwright import Move\ndef late(simulation):\n    yield simulation.env.timeout(210)\n"
        "    simulation.moving.make([Move(1, simulation.request(1).on(1, 0))])\n"
    )
    _, requests = first_run(scenario_of(1, 3, requests=3, processes=[f"{tmp_path}/mine.py:late"]), tmp_path)
    assert requests["duration"].to_list() == pytest.approx([60, 10 + (60 - 10) / 3, 60])


@pytest.mark.parametrize("moved", [False, True])
def test_what_a_failure_sends_back_has_done_more_on_a_faster_server(tmp_path: Path, moved: bool) -> None:
    (tmp_path / "mine.py").write_text(MOVES)
    scenario = scenario_of(1, 3) if moved else scenario_of(3, 1)
    scenario["processes"] = [f"{tmp_path}/mine.py:there_and_back"] * moved
    failed = {"at": 15, "server": 1 if moved else 0}
    scenario["cluster"]["failures"] = {"scheduled": [failed], "on_failure": "requeue"}
    _, requests = first_run(scenario, tmp_path)
    done = 10 + 3 * 5 if moved else 3 * 15
    assert requests["duration"].to_list()[-1] == 60 - done  # on the other server, of speed 1
    assert requests["decided"].to_list()[-1] == 15


def test_a_gang_goes_at_the_pace_of_its_slowest_part(tmp_path: Path) -> None:
    scenario = scenario_of(4, 2)
    scenario["workload"]["flavours"] = [{"cpu": 2, "parts": {"number": 2}}]
    _, requests = first_run(scenario, tmp_path)
    assert requests["duration"].unique().to_list() == [30]


class Told(Agent):
    """Notes what it is told of those that run."""

    needs_lifetimes = True
    told: list[float]

    def start(self, view: View, rng: np.random.Generator) -> None:
        Told.told = []

    def decide(self, view: View, request: Request) -> Placement | None:
        for each in view.placed.since(0):
            ran = view.now - each.began
            Told.told += [
                each.request.duration,
                view.expected(each.request, ran) if view.asking else each.request.duration,
            ]
        return request.on(0, 0)


@pytest.mark.parametrize("lifetimes", ["known", {"predicted": {"noise": {"sigma": 0}}}])
def test_agents_are_told_how_long_requests_stay_where_they_are(tmp_path: Path, lifetimes: Any) -> None:
    agents = [f"{__name__}:Told"]
    first_run(scenario_of(4, every=1, knowledge={"lifetimes": lifetimes}, agents=agents), tmp_path)
    assert set(Told.told) == {15}


class Promising(InLine):
    """Keeps the first promise to each request."""

    def start(self, view: View, rng: np.random.Generator) -> None:
        super().start(view, rng)
        self.promised: dict[int, float] = {}

    def decide_line(self, view: View, requests: Any) -> Any:
        yield from super().decide_line(view, requests)
        for row, parts in self.reserved.items():
            self.promised.setdefault(row, parts[0].start)


@scaled(0.5)
@drawn(st.integers(0, 10**6), st.sampled_from(["easy", "conservative"]))
def test_backfilling_keeps_its_promises_on_servers_of_different_speeds(seed: int, backfilling: Any) -> None:
    rng = np.random.default_rng(seed)
    requests, servers = 30, int(rng.integers(1, 5))
    workload = Workload.of_units(
        np.cumsum(rng.integers(0, 4, requests)).astype(float),
        rng.integers(1, 30, requests).astype(float),
        {"cpu": rng.integers(1, 5, requests)},
    )
    capacity = np.full((servers, 1, 1), 4 * QUANTUM)
    simulation = Simulation(
        workload, Ledger(Cluster(("cpu",), capacity, (NEVER,), capacity[0])), Overflow("wait", together=30)
    )
    speed = rng.choice([0.5, 1.0, 2.0, 4.0], servers)
    Speeds(simulation, speed, 1.0)
    agent = Promising(backfilling=backfilling)
    agent.start(simulation.view, rng)
    play(simulation, agent)
    record = simulation.record
    for row, start in agent.promised.items():
        assert record.decided[row] <= start < inf
    requested = simulation.as_workload()
    assert np.array_equal(requested.duration, workload.duration / speed[record.server])


def test_who_is_moved_to_another_speed_leaves_room_for_the_next(tmp_path: Path) -> None:
    """The heap of ends is full when the last request begins, as the first has two ends in it."""
    (tmp_path / "mine.py").write_text(
        "from binwright import Move\ndef once(simulation):\n    yield simulation.env.timeout(1.5)\n"
        "    simulation.moving.make([Move(0, simulation.request(0).on(1, 0))])\n"
    )
    groups = [{"count": 1, "node": {"cpu": 20}, "speed": speed} for speed in (1, 3)]
    workload = {"arrivals": {"fixed": {"every": 1}}, "flavours": [{"cpu": 1}], "lifetimes": {"fixed": 60}}
    _, requests = first_run(
        {
            "cluster": {"groups": groups},
            "workload": {"requests": 3, **workload},
            "agents": ["first-fit"],
            "processes": [f"{tmp_path}/mine.py:once"],
        },
        tmp_path,
    )
    assert requests["outcome"].to_list() == ["placed"] * 3
    assert requests["server"].to_list() == [1, 0, 0]
