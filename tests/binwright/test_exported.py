"""What `import binwright` offers: a change of its names is a change for everybody."""

import subprocess
import sys
from importlib.metadata import version
from typing import Any

import pytest

import binwright
import binwright as bw
from binwright.agents.heuristics.servers.costs import BestFit
from binwright.simcore.errors import UserError

EXPORTED = binwright.__all__
HEAVY = {"numba", "polars", "pydantic", "numpy", "scipy", "simpy", "yaml", "rich", "matplotlib", "llvmlite"}


def test_public_names_are_listed_in_order() -> None:
    assert dir(binwright) == sorted(binwright._homes()) == EXPORTED


@pytest.mark.parametrize("name", EXPORTED)
def test_every_name_resolves_and_says_what_it_is(name: str) -> None:
    exported = getattr(binwright, name)
    assert callable(exported)
    assert exported.__doc__
    assert getattr(binwright, name) is exported


def loaded_after(code: str) -> set[str]:
    """The heavy modules that a fresh Python has after some code."""
    program = f"{code}\nimport sys\nprint(*(name for name in sys.modules if '.' not in name))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split()) & HEAVY


def test_importing_costs_nothing() -> None:
    assert loaded_after("import binwright; dir(binwright)") == set()
    assert loaded_after("from binwright import UserError, BinwrightError") == set()
    assert loaded_after("from binwright import Agent, Placement, Request, View") == {"numpy"}


def test_version_is_that_of_the_installation() -> None:
    assert binwright.__version__ == version("binwright")


def test_agents_are_listed_and_made() -> None:
    assert {"best-fit", "nara", "fgd"} < set(bw.list_agents())
    assert isinstance(bw.agent("best-fit"), BestFit)
    assert isinstance(bw.agent({"best-fit": {"node": "loose"}}), BestFit)
    with pytest.raises(UserError, match="best-fit"):
        bw.agent("best-fitt")


@pytest.mark.parametrize(
    "overrides",
    [
        ["cluster.servers=20", "agents=[best-fit]"],
        [{"cluster.servers": 20, "agents": ["best-fit"]}],
        ["cluster.servers=20", {"agents": "best-fit"}],
        [{"cluster.servers": 20, "agents": [{"best-fit": {}}]}],
    ],
)
def test_overrides_are_texts_and_mappings(overrides: list[Any]) -> None:
    result = bw.scenario("quickstart", *overrides)
    assert result.cluster.servers == 20
    assert [agent.name for agent in result.agents] == ["best-fit"]
