"""Shipped weights decide as they did when their digests were taken, in 10,000 states each."""

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binwright.agents import AGENTS
from binwright.agents.learned.weights import SHIPPED
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.play import play
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build.world import build_world
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.rng import stream

pytestmark = pytest.mark.long

pytest.importorskip("safetensors")

BY_WORD: dict[Any, Any] = {
    "best-fit": lambda k: {"best-fit": k},
    "internal": lambda k: {"internal": k},
    "both": lambda k: {"best-fit": k * 2 // 5, "internal": k - k * 2 // 5},
}
STATES, UNIT = 10_000, 1_000_000
OF_WEIGHTS = "lookahead", "decomposition", "filter"
"""Notes of cvd-rl's weights that are options of the agent."""


def decisions(agent: Any, servers: int, alike: bool) -> bytes:
    """Its choices, int64 [states], for random requests on servers of which more and less is free."""
    rng = np.random.default_rng(8)
    capacity = np.tile(np.array([40, 40 if alike else 90]) * UNIT, (servers, 2, 1))
    view = Ledger(Cluster(("cpu", "mem"), capacity, (NEVER, NEVER), capacity[0])).view
    agent.start(view, stream(0, "agent"))
    rule = agent.compiled
    codes = np.empty(STATES, np.int64)
    for state in range(STATES):
        full = rng.random()
        free = (rng.integers(0, 41, capacity.shape) * rng.random(capacity.shape) * full).astype(np.int64) * UNIT
        free += (rng.random((servers, 1, 1)) < 0.2) * (capacity - free)
        free = np.minimum(free, capacity)
        demand = int(rng.integers(1, 17)) * UNIT, int(rng.integers(1, 33)) * UNIT
        codes[state] = rule.scan(free, capacity, demand, bool(rng.random() < 0.3), *rule.weights)
    return codes.tobytes()


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("cvd-rl", "55ca9ff6a9ad0075"),
        ("hindsight", "33dd324325aebf42"),
        ("padrl", "d8ab0cd10ac3dc8b"),
        ("sched-rl", "bbb0037f13d8a82b"),
        ("value-es", "0fefcb629bb20505"),
    ],
)
def test_choices_of_places_are_as_recorded(name: str, digest: str) -> None:
    digests = blake2b(digest_size=8)
    for file in sorted(SHIPPED.glob(f"{name}-*.safetensors")):
        notes = json.loads(file.with_suffix(".json").read_text())
        options = {key: notes[key] for key in OF_WEIGHTS if key in notes} if name == "cvd-rl" else {}
        if isinstance(options.get("filter"), str) and options["filter"] != "none":  # so these were written
            options["filter"] = BY_WORD[options["filter"]](notes["k"])
        agent = AGENTS.load(name)(weights=file.stem.removeprefix(f"{name}-"), **options)
        digests.update(blake2b(decisions(agent, notes.get("servers", 10), name == "sched-rl"), digest_size=8).digest())
    assert digests.hexdigest() == digest


def noting(agent: Any, digest: Any, chosen: list[int]) -> Any:
    """The agent, whose answers go into the digest, and the servers that it chose into the list."""
    decide = agent.decide

    def noted(view: Any, request: Any) -> Any:
        answer = decide(view, request)
        digest.update(repr(answer).encode())
        chosen.extend(getattr(answer, "chosen", ()))
        return answer

    agent.decide = noted
    return agent


def test_choices_of_servers_in_a_network_are_as_recorded() -> None:
    """Every fourth run chooses among those with a route only."""
    world, digests = build_world(load_scenario("nara/table1")), blake2b(digest_size=8)
    for file in sorted(SHIPPED.glob("nara-*.safetensors")):
        digest, chosen, seed = blake2b(digest_size=8), list[int](), 0
        while len(chosen) < STATES:
            simulation, mask = world.simulation(seed), "feasible" if seed % 4 == 3 else "any"
            agent = noting(AGENTS.load("nara")(file.stem.removeprefix("nara-"), mask=mask), digest, chosen)
            agent.start(simulation.view, stream(seed, "agent"))
            play(simulation, agent)
            seed += 1
        digests.update(digest.digest())
    assert digests.hexdigest() == "98310db19c782272"


@pytest.mark.parametrize(
    ("agent", "servers"), [("cvd-rl", 3), ("hindsight", 3), ("padrl", 3), ("sched-rl", 10), ("value-es", 3)]
)
def test_shipped_weights_run_compiled(agent: str, servers: int, tmp_path: Path) -> None:
    sets = [f"agents=[{agent}]", "workload.requests=80", "replications=1", f"cluster.servers={servers}"]
    results = Batch(load_scenario("quickstart", sets), tmp_path).run()
    assert not len(results.failed), results.failed["error"][0]
    assert results.runs["compiled"].to_list() == [True]
