"""Runs on SimPy's clock that are interrupted go on in their middle, whatever they are of."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.batch.journal import rows_of
from binwright.scenarios.build.plan import plan
from binwright.scenarios.run.execute import execute
from binwright.scenarios.run.progress import RunProgress
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from tests.support.long_runs import asked, contents, kept_often
from tests.support.mixed import MIXED
from tests.support.properties import first

TIMED = ("seconds", "decision_us")
FAILS = {"cluster.failures": {"mtbf": 300, "mttr": 50, "on_failure": "requeue"}, "overflow": "wait"}
TOGETHER = {"overflow": {"wait": {"together": 3, "window": 10}}}
WARM = {"warm_start": {"resource": "cpu", "until": 0.5, "with": {"random-top": {"k": 2}}}}
STATES = {"record": ["requests", "samples", "states"]}
FABRIC: dict[str, Any] = {
    "name": "fabric",
    "cluster": {"network": {"topology": "alpha"}, "node": {"cpu": 10, "mem": 10}},
    "workload": {"demand": "uniform", "requests": 60, "holding": 20},
    "pacing": {"step": 1, "await_room": True},
    "knowledge": {"lifetimes": "known"},
    "record": ["requests", "samples"],
}
LINKS = {**FABRIC["cluster"], "failures": {"links": {"mtbf": 200, "mttr": 5}, "mtbf": 200, "mttr": 5}}
RULED = {
    "workload.flavours": [{"cpu": 1, "mem": 2, "group": "web"}, {"cpu": 3, "mem": 5}, {"cpu": 4, "mem": 12}],
    "placement": [{"at_most": 2, "of": "web", "per": "server"}],
}
BOTH = ["requests", "samples"]

SIZES = {"machines": {"uniform": [2, 9]}, "machine": {"slots": 1, "mem": "256 MB"}}
RACKS: dict[str, Any] = {
    **FABRIC,
    "workload": {**FABRIC["workload"], "roles": [{"group": "web", "weight": 3}, {"group": "db"}]},
    "placement": [{"at_most": 1, "of": "web", "per": "rack"}, {"spread": "*", "over": "pod", "skew": 2}],
}


def tenants(form: str, topology: dict[str, Any], bandwidth: Any, agent: str) -> Scenario:
    """Make a scenario of virtual networks."""
    node = {"slots": 4, "mem": "8 GB"}
    networks = {form: {**SIZES, "bandwidth": bandwidth}}
    workload = {"networks": networks, "requests": 60, "lifetimes": {"exponential": {"mean": "10 s"}}}
    return other({"cluster": {"network": {"topology": topology}, "node": node}, "workload": workload}, agent)


def fabric(agent: Any, **changed: Any) -> Scenario:
    """Make a scenario in a network."""
    return scenario_from({**FABRIC, "agents": [agent], **changed})


def other(data: dict[str, Any], agent: Any) -> Scenario:
    """Make a scenario with one agent."""
    return scenario_from({**data, "name": "other", "agents": [agent], "record": BOTH})


OF = {
    "a": {"nominal": {"cpu": 9}, "cohort": "all"},
    "b": {"nominal": {"cpu": 6}, "cohort": "all", "lend": {"cpu": 4}},
}
TENANTS = {
    "workload.flavours": [{"cpu": 1, "mem": 2, "group": "a"}, {"cpu": 3, "mem": 5, "group": "b"}],
    "quotas": {"of": OF, "reclaim": "any", "checkpoint": 7},
}
REFUSED = {**TENANTS, "quotas": {"of": OF, "above": "refuse", "reclaim": "any"}}

CASES: dict[str, Scenario] = {
    "quotas": asked({**FAILS, **TENANTS}, "random"),
    "quotas that refuse": asked({**FAILS, **REFUSED}, "random"),
    "quotas of those offered together": asked({**FAILS, **TOGETHER, **REFUSED}, "random"),
    "failures": asked({**FAILS, **WARM}, {"random-top": {"k": 3}}),
    "together": asked(TOGETHER | STATES, {"in-line": {"agent": "random", "order": "random", "backfilling": "any"}}),
    "learned": fabric("cheapest-candidate"),
    "devices": other(MIXED, "gpu-random"),
    "pairs": tenants("pairs", {"fat-tree": {"k": 4}}, "2 Gbps", "vm-random"),
    "solver": asked(TOGETHER | FAILS | TOGETHER, {"solver": {"attempts": 4, "fallback": "random"}}),
    "random": asked({**FAILS, **STATES}, "random"),
    "expanding": asked(
        {**FAILS, "overflow": {"expand": {"by": 1, "limit": 5, "then": "drop"}}}, {"in-line": {"agent": "internal"}}
    ),
    "ruled": asked({**TOGETHER, **FAILS, **TOGETHER, **RULED}, "random"),
    "predicted": asked({**FAILS, "knowledge": {"lifetimes": {"predicted": {"noise": {"sigma": 1}}}}}, "random"),
    "nilas": asked({**FAILS, "knowledge": {"lifetimes": "known"}}, "nilas"),
    "stopping": asked({**FAILS, "overflow": "stop"}, "worst-fit"),
    "tetris": fabric("tetris", cluster=LINKS, record=[*BOTH, "states"]),
    "nara": fabric({"nara": {"mask": "feasible"}}),
    "declining": fabric({"best-home": {"reject": 1.5}}),
    "blind": fabric({"feasible": {"agent": "random"}}, cluster=LINKS),
    "nalb": fabric("nalb"),
    "solver in a network": fabric({"solver": {"attempts": 4}}),
    "ruled network": other(RACKS, "nulb"),
    "lookahead": other(MIXED, "gpu-lookahead"),
    "fgd": other(MIXED, "fgd"),
    "any agent on devices": other(MIXED, "best-fit"),
    "secondnet": tenants("pairs", {"fat-tree": {"k": 4}}, "2 Gbps", "secondnet"),
    "oktopus": tenants("hose", {"tree": {"fanouts": [4, 3, 2], "capacities": [1, 1, 1]}}, "50 Mbps", "oktopus"),
}


@pytest.mark.parametrize("name", first(2, CASES))
def test_an_interrupted_run_comes_to_the_same_bytes(tmp_path: Path, name: str) -> None:
    (run,) = plan(CASES[name])
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    expected = execute(run, whole, "simpy")
    draw, seen, found = random.Random(7), Counter[int](), None
    ends = 0
    while found is None:
        left = draw.randint(2, 15)

        def tell(told: RunProgress) -> None:
            nonlocal left
            assert told.kept
            assert not told.lost
            seen[told.requests] += 1
            left -= 1
            if not left:
                raise KeyboardInterrupt

        try:
            with kept_often():
                found = execute(run, parts, "simpy", on_progress=tell)
        except KeyboardInterrupt:
            ends += 1
            assert list(seen) == sorted(seen)  # nothing was done again
    for key in TIMED:
        found.pop(key, None), expected.pop(key, None)
    assert ends > 2
    assert found == expected
    assert contents(parts) == contents(whole)


COUNTS = """
from pathlib import Path

from binwright.agents.heuristics.servers.first_fit import FirstFit
from binwright.simcore.types import Agent

class Counts(Agent):
    {remembers}

    def start(self, view, rng):
        self.inner, self.asked = FirstFit(), 0
        self.inner.start(view, rng)

    def decide(self, view, request):
        self.asked += 1
        with Path({log!r}).open("a") as file:
            file.write(f"{{request.index}} {{self.asked}}\\n")
        return self.inner.decide(view, request) if self.asked % 3 else None
"""


def interrupted(scenario: Scenario, folder: Path, after: int) -> list[RunProgress]:
    """Begin the run of a scenario, and end it after it was told so often how far it is."""
    heard: list[RunProgress] = []

    def tell(told: RunProgress) -> None:
        heard.append(told)
        if len(heard) == after:
            raise KeyboardInterrupt

    with kept_often(), pytest.raises(KeyboardInterrupt):
        Batch(scenario, folder).run(jobs=1, on_progress=tell)
    return heard


@pytest.mark.parametrize("remembers", ['remembers = ("asked",)', ""])
def test_an_agent_of_ones_own_goes_on_if_it_says_what_it_remembers(tmp_path: Path, remembers: str) -> None:
    log = tmp_path / "asked"
    (tmp_path / "mine.py").write_text(COUNTS.format(remembers=remembers, log=str(log)))
    scenario = asked({"record": [*BOTH, "times"]}, f"{tmp_path / 'mine.py'}:Counts")
    heard = interrupted(scenario, tmp_path / "parts", 40)
    before = log.read_text().splitlines()
    lost = f"{scenario.agents[0].label} does not say what it remembers"
    assert {told.lost for told in heard} == {"" if remembers else lost}
    Batch(scenario, tmp_path / "parts").run()
    after = log.read_text().splitlines()[len(before) :]
    assert len(after) == (150 - len(before) if remembers else 150)
    assert after[0] == (f"{len(before)} {len(before) + 1}" if remembers else "0 1")
    log.unlink()
    Batch(scenario, tmp_path / "whole").run()
    found, expected = contents(tmp_path / "parts"), contents(tmp_path / "whole")
    (times,) = [name for name in found if "times" in name]
    rows = [pl.read_parquet(tmp_path / folder / "details" / times)["row"].to_list() for folder in ("parts", "whole")]
    assert rows[0] == rows[1]
    (row,) = (row for row in rows_of(tmp_path / "parts" / "journal.jsonl")[0] if row["status"] == "done")
    took = pl.read_parquet(tmp_path / "parts" / "details" / times)["seconds"]
    assert row["decision_us"] == pytest.approx(1e6 * np.mean(took.to_numpy()))  # of both starts
    del found[times], expected[times]
    assert found == expected
