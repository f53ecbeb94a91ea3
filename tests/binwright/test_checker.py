"""`check_agent` passes every agent that is shipped, and says of each wrong one what is wrong with it."""

import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binwright import Agent, Placement, Request, UserError, View, check_agent, checker, cli
from binwright.agents import AGENTS
from binwright.agents.heuristics.servers.costs import best_fit, best_fit_loose
from binwright.agents.rules.cheapest_place import cheapest
from binwright.agents.rules.scan import ScanAgent
from binwright.simcore.types import Compiled
from tests.support.properties import first

SLOW = ["solver"]


@pytest.mark.long
@pytest.mark.parametrize("name", first(6, sorted(AGENTS, key=lambda name: name in SLOW)))
def test_every_agent_that_is_shipped_keeps_the_contract(name: str) -> None:
    check = check_agent(name)
    assert check.agent == name
    assert sum(check.placed.values()) > 0
    assert check.placed.keys() == check.decisions.keys()


@pytest.mark.long
def test_a_check_tells_what_it_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    check_agent(Right)
    few = {name: checker.worlds()[name] for name in ("servers of one node", "servers of two nodes", "a network")}
    monkeypatch.setattr(checker, "worlds", lambda: few)
    text = str(check_agent("best-fit", node="loose"))
    assert text.startswith("best-fit keeps the contract of an agent.\n  servers of one node: 4")
    assert " placed, compiled the same" in text
    assert "declined: servers of one node, " in str(check_agent("tetris"))


class Right(Agent):
    """The first place that fits."""

    def decide(self, view: View, request: Request) -> Any:
        for server in range(len(view.free)):
            if placement := placed(view, request, server):
                return placement
        return None


def placed(view: View, request: Request, server: int) -> Placement | None:
    """Find a place for a request on a server."""
    nodes = view.free.shape[1]
    choices = [request.across(server, nodes)] if request.spread else [request.on(server, n) for n in range(nodes)]
    for choice in choices:
        if all((view.free[s, n] >= amounts).all() for s, n, amounts in choice.shares):
            return choice
    return None


class Warned(Right):
    def decide(self, view: View, request: Request) -> Any:
        _ = np.ones(1) / view.capacity.min()  # some have no GPU
        return super().decide(view, request)


@pytest.mark.filterwarnings("default")
def test_warnings_of_python_name_the_world(monkeypatch: pytest.MonkeyPatch) -> None:
    few = dict(list(checker.worlds().items())[4:6])
    monkeypatch.setattr(checker, "worlds", lambda: few)
    warned = "  warned: servers of three resources, some without GPUs\n"
    warned += f"    RuntimeWarning: divide by zero encountered in divide ({__file__}:"
    text = str(check_agent(Warned))
    assert text.count(warned) == text.count("warned") == 1


class NoDecision(Agent):
    pass


class Pair(Right):
    def decide(self, view: View, request: Request) -> Any:
        return (0, 0)


class Full(Right):
    def decide(self, view: View, request: Request) -> Any:
        return request.across(0, view.free.shape[1]) if request.spread else request.on(0, 0)


class AlwaysWhole(Right):
    def decide(self, view: View, request: Request) -> Any:
        for server in range(len(view.free)):
            for node in range(view.free.shape[1]):
                if (view.free[server, node] >= request.demand).all():
                    return request.on(server, node)
        return None


class Writer(Right):
    def decide(self, view: View, request: Request) -> Any:
        view.free[0] -= 1
        return None


class Forger(Right):
    def decide(self, view: View, request: Request) -> Any:
        view.free = view.free.copy() + 1
        return None


class GlobalChance(Right):
    def decide(self, view: View, request: Request) -> Any:
        return None if random.random() < 0.5 else super().decide(view, request)


class SharedState(Right):
    asked: list[int] = []  # noqa: RUF012 (that is what is wrong with it)

    def decide(self, view: View, request: Request) -> Any:
        self.asked.append(request.index)
        return None if len(self.asked) < 10 else super().decide(view, request)


class NoReset(Right):
    def __init__(self) -> None:
        self.asked = 0

    def decide(self, view: View, request: Request) -> Any:
        self.asked += 1
        return None if self.asked < 10 else super().decide(view, request)


class FourServers(Right):
    def decide(self, view: View, request: Request) -> Any:
        return placed(view, request, 3)


class BadStart(Right):
    def start(self, view: View, rng: np.random.Generator) -> None:
        self.mem = view.free[0, 1]


class Stale(Right):
    def start(self, view: View, rng: np.random.Generator) -> None:
        self.view = View(view.resources, view.capacity, view.free)

    def decide(self, view: View, request: Request) -> Any:
        return super().decide(self.view, request)


class OtherKernel(ScanAgent):
    scan = staticmethod(best_fit)

    @property
    def compiled(self) -> Compiled:
        return Compiled(best_fit_loose)


class Counts(ScanAgent):
    def __init__(self) -> None:
        self.numbers = (np.zeros(1),)

    @staticmethod
    @cheapest
    def scan(free: Any, capacity: Any, taken: Any, node: int, own: Any) -> Any:
        own[0] += 1.0
        return own[0]


class Exits(Right):
    def decide(self, view: View, request: Request) -> Any:
        sys.exit("enough")


class Twice(Right):
    def decide_line(self, view: View, requests: Sequence[Request]) -> Iterator[tuple[Request, Any]]:
        for request in requests:
            yield request, self.decide(view, request)
            yield request, None


class Slow(Right):
    def decide(self, view: View, request: Request) -> Any:
        time.sleep(5)


class Asks(Right):
    def decide(self, view: View, request: Request) -> Any:
        return super().decide(view, request) if request.duration > 9 else None


class Nowhere(Right):
    def start(self, view: View, rng: np.random.Generator) -> None:
        raise UserError("weights are missing")


SIZES = (
    "Take the numbers of servers, nodes and resources from the view. If the agent is made for some only, raise a "
    "UserError in start for all others: these worlds are then listed as declined."
)
WRONG = [
    (NoDecision, "NoDecision: decide is missing", "Write a method decide"),
    (Pair, "Pair, servers of one node: request 0 (", "Return request.on(server, node)"),
    (Full, "it does not fit on node 0 of server 0, which has", "Compare with what is free now"),
    (AlwaysWhole, "AlwaysWhole, servers of two nodes: request", "answer request.across("),
    (Writer, "Writer raised ValueError('output array is read-only')", "Work on a copy"),
    (Forger, "the agent has written to what it was shown", "Work on a copy"),
    (GlobalChance, "the same seed gives other answers the second time", "draw from the generator that start"),
    (SharedState, "the same seed gives other answers the second time: outcome of request 0", "in the agent itself"),
    (NoReset, "started again with the same seed, it gives other answers", "Let start(view, rng) set everything"),
    (FourServers, "FourServers raised IndexError", SIZES),
    (BadStart, "BadStart, servers of one node: start raised IndexError", f"Mend that line. {SIZES}"),
    (Stale, "Stale, a cluster that grows: ", "they are new arrays after the cluster has grown"),
    (Exits, "calls sys.exit('enough')", "Raise an exception"),
    (Twice, "which is not offered or has its answer", "at most once"),
    (Asks, "Asks raised AgentError('how long requests stay is hidden", "`needs_lifetimes = True` into the agent"),
    (Nowhere, "starts in no world at all: weights are missing", "only where it has to be"),
    (OtherKernel, "compiled, it gives other answers than decide: ", "the same rule as decide"),
    (Counts, "looking only at servers that changed, it gives other answers than decide: ", "the first of three"),
]  # fmt: skip
"""The last two compile kernels that no other fast test needs."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "problem", "remedy"), first(len(WRONG) - 2, WRONG), ids=[kind.__name__ for kind, _, _ in WRONG]
)
def test_each_breach_of_the_contract_is_named_with_its_remedy(kind: type[Agent], problem: str, remedy: str) -> None:
    with pytest.raises(UserError) as caught:
        check_agent(kind)
    text = str(caught.value)
    assert problem in text
    assert remedy in text
    assert "test_checker.py:" in text


def test_an_agent_that_thinks_for_ever_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checker, "PATIENCE", 0.1)
    with pytest.raises(UserError, match=r"thinks for longer than 0\.1 s about one decision"):
        check_agent(Slow)


def test_only_agents_are_checked() -> None:
    for what in (Right(), int, None):
        with pytest.raises(UserError, match=r"is not an agent.*\n  Give a subclass of binwright\.Agent"):
            check_agent(what)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="unknown agent"):
        check_agent("best")
    with pytest.raises(UserError, match=r"unknown option"):
        check_agent("best-fit", nod="loose")
    with pytest.raises(UserError, match=r"\.py:\d+: Right: its constructor raised TypeError.*\n  Check arguments"):
        check_agent(Right, speed=3)


def test_agents_check_checks_an_agent_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    text = (
        "from binwright import Agent\n\n\nclass Mine(Agent):\n    def decide(self, view, request):\n        return {}\n"
    )
    file.write_text(text.format("None"))
    assert cli.main(["agents", "check", f"{file}:Mine"]) == 2
    assert f"{file}:4: Mine: has placed nothing in any world\n  Return a placement" in capsys.readouterr().err
    fitting = "request.on(0, 0) if not request.spread and (view.free[0, 0] >= request.demand).all() else None"
    file.write_text(text.format(fitting))
    assert cli.main(["agents", "check", f"{{{file}:Mine: {{}}}}"]) == 0
    assert "Mine keeps the contract of an agent.\n  servers of one node: " in capsys.readouterr().out
