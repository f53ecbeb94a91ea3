"""Rules made of what a place costs: those in a file of one's own run compiled, and an edit of them is seen."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from binwright.agents.rules.scan import ScanAgent
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import load_scenario
from tests.reference.agents import Where, after, feasible
from tests.support.batches import numbers
from tests.support.costs import bounded, choosy, dear, even, picky
from tests.support.properties import scaled
from tests.support.scenarios import run_as
from tests.support.views import ask, view_of

MINE = """
from binwright import ScanAgent, cheapest
from binwright.simcore.jit import kernel

SIGN = 1


@kernel
def worth(amount):
    return SIGN * amount


class Tight(ScanAgent):
    \"\"\"Best-Fit once more.\"\"\"

    reference = "mine"

    @staticmethod
    @cheapest
    def scan(free, capacity, taken, node):
        return worth(free[:, 0].sum()), worth(free[node, 0])
"""


def runs(folder: Path, agents: list[Any], engine: Any, out: str) -> Any:
    """Run a small scenario with these agents, and return the numbers of its runs but for who made them."""
    scenario = load_scenario("quickstart", ["workload.requests=500", "replications=1", "agents=[first-fit]"])
    scenario = scenario.model_validate({**scenario.model_dump(mode="json", exclude_unset=True), "agents": agents})
    results = run_as(engine, Batch(scenario, folder / out))
    assert results.runs["status"].unique().to_list() == ["done"]
    return numbers(results).drop("run", "agent", "options", "compiled", strict=False)


def test_a_rule_in_a_file_of_ones_own_runs_compiled_and_its_edits_are_seen(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    mine = f"{file}:Tight"
    best, worst = runs(tmp_path, ["best-fit"], "compiled", "best"), runs(tmp_path, ["worst-fit"], "compiled", "worst")
    assert not best.equals(worst)
    for engine in ("python", "compiled"):
        file.write_text(MINE)
        assert_frame_equal(runs(tmp_path, [mine], engine, f"{engine}-1"), best)
        file.write_text(MINE.replace("SIGN = 1", "SIGN = -1"))  # a constant that only a function it calls names
        assert_frame_equal(runs(tmp_path, [mine], engine, f"{engine}-2"), worst)


def expected(scan: Any, free: Any, demand: Any, spread: bool) -> Where | None:
    """Say the rule again in plain Python: the first of the cheapest places."""
    costs: dict[Where, Any] = {}
    for server, node in feasible(free, demand, spread):
        amount, other = free[server][node][0], free[server][0][1]
        if scan is picky:
            cost = (3 * node + amount + other) % 4
            allowed, key = cost != 3, (cost, server, 0)
        elif scan is choosy:
            local = (2 * node + amount) % 3
            allowed = other != 4 and (spread or local != 2)
            key = other % 2, server, 0 if spread else local
        elif scan is dear:
            cost = (amount + node) % 4
            allowed, key = cost != 3, (cost, server, 0)
        elif scan is even:
            left = after(free, demand, spread, (server, node))
            allowed, key = True, (max(amount for each in left for amount in each), server, 0)
        else:
            bound = sum(each[0] for each in free[server]) // 4
            allowed, key = True, (bound + (free[server][node][1] + node) % 3, server, -amount)
        if allowed:
            costs[server, node] = key
    return min(costs, key=lambda where: costs[where], default=None)


@pytest.mark.parametrize("scan", [dear, even, choosy, bounded, pytest.param(picky, marks=pytest.mark.long)])
@given(st.data())
@scaled(2)
def test_cheapest_takes_the_first_of_the_cheapest_places(scan: Any, data: st.DataObject) -> None:
    servers, nodes = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 3))
    free = data.draw(
        st.lists(
            st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=nodes, max_size=nodes),
            min_size=servers,
            max_size=servers,
        )
    )
    room = [[list(node) for node in server] for server in free]
    demand, spread = data.draw(st.tuples(st.integers(0, 6), st.integers(0, 6))), data.draw(st.booleans())
    agent = ScanAgent()
    agent.scan = scan
    view = view_of(room, [[[5, 5]] * nodes] * servers)
    assert ask(agent, view, demand, spread) == expected(scan, room, demand, spread)
