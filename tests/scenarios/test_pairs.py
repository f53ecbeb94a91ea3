"""Every feature goes with every other: the matrix of pairs in one small scenario, with a compiled agent and another."""

from copy import deepcopy
from functools import reduce
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from binwright.scenarios.build.plan import plan
from binwright.scenarios.run import execute as executed
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import UserError
from binwright.simcore.record import PENDING, PLACED
from binwright.simcore.types import Agent, Placement, Request, View
from tests.support.properties import first, scaled
from tests.support.recount import recount

BASE: dict[str, Any] = {
    "cluster": {
        "groups": [
            {"name": name, "count": 2, "node": {"cpu": 8, "mem": 16}, "labels": {"site": name}} for name in ("a", "b")
        ],
        "domains": {"rack": 2},
    },
    "workload": {
        "requests": 30,
        "arrivals": {"poisson": {"every": "20 s"}},
        "flavours": [
            {"cpu": 2, "mem": 3, "group": "x", "priority": 1},
            {"cpu": 4, "mem": 6, "group": "y"},
            {"cpu": 1, "mem": 1, "group": "x"},
        ],
        "lifetimes": {"exponential": {"mean": "4 min"}},
    },
    "overflow": "wait",
}
WATCH = """
def watch(simulation):
    yield simulation.env.timeout(50)
    simulation.drain([3])
    yield simulation.env.timeout(200)
    simulation.reopen([3])
"""
USE = {"workload": {"use": {"cpu": {"mean": "40 %"}}}}
KWH = {"electricity": {"price": 0.1, "carbon": 200}}
POWER = {"costs": {"servers": {"power": {"idle": "100 W", "peak": "300 W"}}, **KWH}}
TOGETHER = {"overflow": {"wait": {"together": 8}}, "knowledge": {"lifetimes": "known"}}
TENANTS = {name: {"nominal": {"cpu": 9}, "cohort": "all"} for name in ("x", "y")}
GPUS = {"cluster": {"groups": {"devices": {"model": "V100", "count": 4}}}, "workload": {"flavours": {"gpu": 1}}}
FEATURES: dict[str, dict[str, Any]] = {
    "failures": {"cluster": {"failures": {"mtbf": "10 min", "mttr": "1 min", "on_failure": "requeue"}}},
    "racks": {"cluster": {"failures": {"domains": {"rack": {"mtbf": "10 min", "mttr": "1 min"}}}}},
    "expansion": {"cluster": {"expansion": [{"at": 100, "by": 1}]}},
    "expand": {"overflow": {"expand": {"by": 1, "limit": 6, "then": "drop"}}},
    "drop": {"overflow": "drop"},
    "together": {"overflow": {"wait": {"together": 8}}},
    "queues": {"overflow": {"wait": {"together": 8, "queues": {"q": {"running": {"requests": 5}}}}}},
    "preempt": {"overflow": {"preempt": {"otherwise": "wait"}}},
    "preempt together": {"overflow": {"preempt": {"otherwise": {"wait": {"together": 8}}}}},
    "make room": {"overflow": {"make_room": {"moves": 2, "mover": "agent", "then": "wait"}}},
    "rescheduling": {"rescheduling": {"every": "1 min", "moves": 3, "mover": "agent"}},
    "quotas": {"quotas": {"of": TENANTS}},
    "placement": {"placement": [{"at_most": 2, "of": "x", "per": "server"}, {"drain": [0], "at": 60, "until": 200}]},
    "devices": GPUS,
    "overcommit": {"cluster": {"overcommit": {"cpu": 1.5}}},
    "peaks": {"cluster": {"overcommit": {"cpu": {"predict": {"limit": 0.8}}}}},
    "use": USE,
    "costs": {"prices": {"cpu_hour": 0.1}, **POWER},
    "spot": {"prices": {"cpu_hour": 0.1}, "spot": {"of": ["1"], "pays": "30 %"}},
    "sites": {"sites": {"of": {"a": {}, "b": {}}}},
    "pacing": {"pacing": {"step": 5}},
    "known": {"knowledge": {"lifetimes": "known"}},
    "predicted": {"knowledge": {"lifetimes": {"predicted": {"noise": {"sigma": 1}}}}},
    "gangs": {"workload": {"flavours": {"parts": {"number": 2}}}},
    "gangs in a rack": {"workload": {"flavours": {"parts": {"number": 2, "together": "rack"}}}},
    "warm start": {"warm_start": {"resource": "cpu", "until": "5 %", "with": "first-fit"}},
    "processes": {"processes": ["mine.py:watch"]},
    "speed": {"cluster": {"groups": {"speed": 2}}},
    "autoscale": {"autoscale": {"buy": {"b": {"delay": 30, "price": 1}}, "idle": 60, "below": "30 %"}},
    "easy": {**TOGETHER, "agents": [{"in-line": {"backfilling": "easy"}}]},
    "conservative": {**TOGETHER, "agents": [{"in-line": {"backfilling": "conservative", "order": "sjf"}}]},
}


class InPython(Agent):
    """Places on the last server that has room, which is decided in Python."""

    def decide(self, view: View, request: Request) -> Placement | None:
        fits = np.flatnonzero((view.free[:, 0] >= request.demand).all(axis=1))
        return request.on(int(fits[-1]), 0) if len(fits) else None


AGENTS = ["first-fit", f"{__name__}:InPython"]


def laid_over(below: Any, above: Any) -> Any:
    """Lay keys over others; what is a list below and a mapping above is laid over the last of the list."""
    if isinstance(below, list) and isinstance(above, dict):
        return [*below[:-1], laid_over(below[-1], above)]
    if isinstance(below, dict) and isinstance(above, dict):
        return {**below, **{key: laid_over(below.get(key), value) for key, value in above.items()}}
    return deepcopy(above)


def check_conserved(scenario: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Play a scenario's agents; nothing is lost: what is free, what is held, and what became of requests."""
    simulations: list[Any] = []
    prepare = executed.prepare_run

    def kept(*arguments: Any) -> Any:
        simulations.append(prepare(*arguments))
        return simulations[-1]

    monkeypatch.setattr(executed, "prepare_run", kept)
    for run in plan(scenario):
        executed.execute(run, folder)
    monkeypatch.setattr(executed, "prepare_run", prepare)
    assert len(simulations) == len(scenario.agents)
    for simulation in simulations:
        recount(simulation.ledger)
        outcome = simulation.record.outcome[: simulation.record.rows]
        assert (outcome[: len(simulation.workload)] != PENDING).all()
        assert {*simulation.ledger.running} <= {*np.flatnonzero(outcome == PLACED).tolist()}


ALTERNATIVES = [name for name, keys in FEATURES.items() if "overflow" in keys]
"""Ways to overflow: a scenario has one of them."""
LINES = ("together", "queues", "preempt together", "easy", "conservative")
REFUSED: dict[str, list[tuple[str, str]]] = {
    "servers are added in two ways": [("expansion", "autoscale"), ("expand", "autoscale")],
    "a pace is of single requests": [(name, "pacing") for name in LINES],
    "requests of a pace have no times": [(name, "pacing") for name in ("make room", "rescheduling", "autoscale")],
    "use goes by the clock": [("pacing", "peaks")],
}
"""The pairs that make no sense, by the reason that the message gives."""
REASONS = {frozenset(pair): why for why, pairs in REFUSED.items() for pair in pairs}


FABRIC = {"racks": 2, "servers_per_rack": 2, "racks_per_pod": 2, "fabric_switches": 1, "uplinks": 1}
NETWORK = {
    **BASE,
    "cluster": {
        "network": {"topology": {"fabric": {**FABRIC, "capacities": [4, 4, 4]}}},
        "node": {"cpu": 8, "mem": 16},
    },
    "workload": {**BASE["workload"], "flavours": [*BASE["workload"]["flavours"], {"cpu": 10, "mem": 10, "group": "x"}]},
    "agents": ["nulb"],
}
WITHOUT_NETWORK = {
    **dict.fromkeys(("expansion", "expand", "autoscale"), "the topology says which servers there are"),
    "sites": "one network has no sites",
    "gangs in a rack": "a part may lie on several servers",
}
"""What makes no sense in a network, by the reason; groups of servers are not part of one."""
IN_NETWORKS = [name for name in FEATURES if name not in {*WITHOUT_NETWORK, "devices", "speed"}]


def pairs_of(name: str) -> list[str]:
    """List the features that come with this one in the matrix: itself and those after it, without other ways."""
    names = [*FEATURES]
    after = names[names.index(name) :]
    return [each for each in after if each == name or not {each, name} <= {*ALTERNATIVES}]


@pytest.mark.parametrize("turn", first(1, range(2)))
@pytest.mark.parametrize("name", FEATURES)
def test_each_feature_goes_with_every_other(
    name: str, turn: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A feature is alone with both agents, and with the others by turns: the long tests have the other turn."""
    (tmp_path / "mine.py").write_text(WATCH)
    monkeypatch.chdir(tmp_path)
    for number, other in enumerate(pairs_of(name)):
        agents = AGENTS if other == name else [AGENTS[(number + turn) % 2]]
        both = {"agents": agents, **laid_over(laid_over(BASE, FEATURES[name]), FEATURES[other])}
        if why := REASONS.get(frozenset((name, other))):
            with pytest.raises(UserError, match=why):
                scenario_from(both)
        else:
            check_conserved(scenario_from(both), tmp_path / other, monkeypatch)


def in_network(*names: str) -> dict[str, Any]:
    """Lay features over a network, where agents place on several servers."""
    data = NETWORK
    for name in names:
        data = laid_over(data, FEATURES[name])
        if "agents" in FEATURES[name]:
            data = laid_over(data, {"agents": {"in-line": {"agent": "nulb"}}})
    return data


@pytest.mark.parametrize("name", [name for name in FEATURES if name not in ("devices", "speed")])
def test_each_feature_goes_with_a_network(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(WATCH)
    monkeypatch.chdir(tmp_path)
    if why := WITHOUT_NETWORK.get(name):
        with pytest.raises(UserError, match=why):
            check_conserved(scenario_from(in_network(name)), tmp_path, monkeypatch)
        return
    for other in pairs_of(name):
        if other in IN_NETWORKS and frozenset((name, other)) not in REASONS:
            check_conserved(scenario_from(in_network(name, other)), tmp_path / other, monkeypatch)


@scaled(2)
@given(st.booleans(), st.sampled_from(AGENTS), st.integers(0, 99), st.data())
def test_any_three_features_go_together(network: bool, agent: str, seed: int, data: st.DataObject) -> None:
    known = IN_NETWORKS if network else [*FEATURES]
    names = sorted(data.draw(st.sets(st.sampled_from(known), min_size=3, max_size=3)), key=known.index)
    assume(len({*names} & {*ALTERNATIVES}) < 2)
    assume(not any(frozenset(pair) in REASONS for pair in combinations(names, 2)))
    scenario = in_network(*names) if network else reduce(laid_over, (FEATURES[name] for name in names), BASE)
    scenario = {**scenario, "agents": scenario.get("agents", [agent]), "seed": seed}
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("mine.py").write_text(WATCH)
        check_conserved(scenario_from(scenario), Path(folder) / "out", patch)
