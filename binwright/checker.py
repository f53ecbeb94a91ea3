"""Checks an agent against the contract of `binwright.simcore.types.Agent`, as Gymnasium checks environments."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from inspect import getsourcefile
from pathlib import Path
from typing import Any, NoReturn
from warnings import catch_warnings

import numpy as np
import yaml

from binwright.agents import AGENTS
from binwright.agents.world import World
from binwright.fabric.ledger import WRITTEN
from binwright.fabric.run.play import play, play_compiled
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.agent_spec import AgentSpec, construct, defined_at
from binwright.scenarios.build.world import adapt_agent, build_world
from binwright.scenarios.run.sandbox import STARTING, TooLong, limited
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.agent_calls import WRITE_DECIDE
from binwright.simcore.errors import ExtraNeeded, InfeasiblePlacement, KernelError, RunError, UserError
from binwright.simcore.file_tracking import is_ours
from binwright.simcore.record import Record
from binwright.simcore.rng import stream
from binwright.simcore.types import Agent

SEED = 0
"""Of the requests, and of what the agent draws."""
PATIENCE = 60.0
"""Seconds that an agent may think about one decision."""
_PLACES = (
    "Return request.on(server, node), request.across(server, nodes), a Placement, a Refusal, or None. Compare with "
    "what is free now: (view.free[server, node] >= request.demand).all(), for each share its amounts. Read "
    "view.free and view.capacity at every decision: they are new arrays after the cluster has grown."
)
_KERNEL = "Let the kernel that `compiled` names follow the same rule as decide, or return None there."
_BOUND = (
    "Let the first of three costs be no more than that of any place of the server, and change no numbers in a cost."
)
_SIZES = (
    "Take the numbers of servers, nodes and resources from the view. If the agent is made for some only, raise a "
    "UserError in start for all others: these worlds are then listed as declined."
)
_RESET = "Let start(view, rng) set everything that decide changes back to how a run begins."
_STATE = "Keep what changes in the agent itself, and draw from the generator that start(view, rng) is given, alone."


@cache
def worlds() -> Mapping[str, Mapping[str, Any]]:
    """Read the small worlds that agents play, as parts of scenarios."""
    result = yaml.safe_load(files("binwright").joinpath("check_worlds.yaml").read_text("utf-8"))
    return {name: world for name, world in result.items() if not name.startswith(".")}


def scenario_of(world: str, agent: object = None, lifetimes: str = "known") -> Scenario:
    """Load a world as a scenario with this entry of `agents:` (default: some agent); `lifetimes` is what it knows."""
    scenario = {"name": "check", "overflow": "drop", "agents": ["first-fit"], **worlds()[world]}
    scenario["knowledge"] = {"lifetimes": lifetimes}
    return scenario_from(scenario | ({"agents": [agent]} if agent is not None else {}))


@dataclass(frozen=True)
class AgentCheck:
    """What `check_agent` saw of an agent that keeps the contract.

    `decisions` and `placed` count requests by world; `declined` has the worlds that the agent refuses to start in, and
    what it says, `compiled` those in which its kernel was seen to decide as `decide` does, and `warned` those in which
    Python warned, and of what.
    """

    agent: str
    decisions: dict[str, int]
    placed: dict[str, int]
    declined: dict[str, str]
    compiled: list[str]
    warned: dict[str, str]

    def __str__(self) -> str:
        lines = [f"{self.agent} keeps the contract of an agent."]
        for world, count in self.decisions.items():
            compiled = ", compiled the same" * (world in self.compiled)
            lines.append(f"  {world}: {self.placed[world]} of {count} placed{compiled}")
        for what, reasons in (("warned", self.warned), ("declined", self.declined)):
            for why in dict.fromkeys(reasons.values()):
                worlds = [world for world, reason in reasons.items() if reason == why]
                lines.append(f"  {what}: {', '.join(worlds)}\n    {why}")
        return "\n".join(lines)


def check_agent(agent: str | type[Agent], /, **options: Any) -> AgentCheck:
    """Play an agent in small worlds, and raise a `UserError` at the first thing that it does wrong.

    `agent` is a class, a registered name, `package.module:Class` or `file.py:Class`; `options` are those of its
    constructor. The error names the file and line of the class, the world and the request, and a remedy. Checked are:
    the constructor and its options; that every answer is a placement that fits, a `Refusal` or `None`; that what the
    view shows is not written to; that the same seed gives the same answers, to a new agent and to one that is started
    again; that the agent goes on when servers fail and the cluster grows (unless `any_size` is false), and with any
    number of servers, nodes and resources; that its kernel, if it has one, decides as `decide` does, also where it
    looks only at servers that changed.

    An agent that is not made for some worlds raises a `UserError` in `start` there, and these are listed as declined.
    """
    return _Check(_class_of(agent, options), agent if isinstance(agent, str) else agent.__name__, options).whole()


def agent_of(entry: object) -> AgentSpec:
    """Read an agent as a scenario's `agents:` names it, and refuse what is none or does not take its options."""
    return scenario_of(next(iter(worlds())), entry).agents[0]


def _class_of(agent: object, options: Mapping[str, Any]) -> type[Agent]:
    """Load what is to be checked, and refuse what is not an agent."""
    kind: Any = AGENTS.load(agent_of({"name": agent, "options": options}).name) if isinstance(agent, str) else agent
    if not (isinstance(kind, type) and issubclass(kind, Agent)):
        raise UserError("is not an agent", value=agent, remedy="Give a subclass of binwright.Agent, or its name.")
    if kind.decide is Agent.decide and kind.decide_line is Agent.decide_line:
        raise UserError("decide is missing", key=kind.__name__, remedy=WRITE_DECIDE, **defined_at(kind))
    return kind


class _Check:
    """One agent, while it is checked."""

    def __init__(self, kind: type[Agent], name: str, options: Mapping[str, Any]) -> None:
        self.kind, self.name, self.options = kind, name, options

    def whole(self) -> AgentCheck:
        """Play all worlds."""
        lifetimes = "known" if construct(self.kind, self.options).needs_lifetimes else "hidden"
        check = AgentCheck(self.name, {}, {}, {}, [], {})
        for world in worlds():
            with catch_warnings(record=True) as warned:
                self._play_world(world, lifetimes, check)
            texts = (f"{each.category.__name__}: {each.message} ({each.filename}:{each.lineno})" for each in warned)
            if warned:
                check.warned[world] = "\n    ".join(dict.fromkeys(texts))
        if not check.decisions:
            reason = next(iter(check.declined.values()))
            self._wrong(
                f"starts in no world at all: {reason}", "", "Raise a UserError in start only where it has to be."
            )
        if not any(check.placed.values()):
            self._wrong("has placed nothing in any world", "", "Return a placement where a request fits.")
        return check

    def _play_world(self, world: str, lifetimes: str, check: AgentCheck) -> None:
        """Play a world, and note in `check` what became of it."""
        form = next(iter(worlds()[world]["workload"].get("networks", ())), None)
        if form is not None and form not in self.kind.embeds:
            return
        point = build_world(scenario_of(world, lifetimes=lifetimes))
        agent = construct(self.kind, self.options)
        try:
            if point.grows_by and not self.kind.any_size:
                raise _Declined("it is for one number of servers")
            if self.kind.on_devices and not point.devices:
                raise _Declined("it chooses devices, and the servers have none")
            first = self._played(agent, point, world)
        except _Declined as why:
            check.declined[world] = str(why)
            return
        problem = "the same seed gives other answers the second time"
        self._same(first, self._played(construct(self.kind, self.options), point, world), world, problem, _STATE)
        problem = "started again with the same seed, it gives other answers"
        self._same(first, self._played(agent, point, world), world, problem, _RESET)
        if self._compiled(agent, point, world, first):
            check.compiled.append(world)
            if not is_ours(Path(getsourcefile(self.kind) or "")):  # of the shipped ones our tests know it
                self._compiled(agent, point, world, first, follows=True)
        check.decisions[world] = len(first.sequence)
        check.placed[world] = int((first.server >= 0).sum())

    def _wrong(self, problem: str, world: str, remedy: str, cause: BaseException | None = None) -> NoReturn:
        where = f"{self.kind.__name__}, {world}" if world else self.kind.__name__
        raise UserError(problem, key=where, remedy=remedy, **defined_at(self.kind)) from cause

    def _played(self, agent: Agent, point: World, world: str) -> Record:
        """Start an agent in a world and play it to the end."""
        agent, ledger = adapt_agent(point, agent), point.ledger(0)
        simulation = point.simulation(SEED, ledger)
        resources = simulation.view.resources

        def watch() -> int:
            """Look after every decision whether the agent has kept its hands off the view."""
            ledger.confirm()
            if simulation.view.now != simulation.now or simulation.view.resources != resources:
                raise RunError(WRITTEN)
            return 1

        try:
            with limited(STARTING):
                self._start(agent, simulation, world)
            with limited(PATIENCE, lambda: len(simulation.record.sequence)):
                play(simulation, agent, watch)
        except RunError as error:
            remedy = _PLACES if isinstance(error, InfeasiblePlacement) else _remedy(error)
            self._wrong(str(error), world, remedy, error)
        except TooLong as error:
            many = f"{PATIENCE:g} s about one decision, or {STARTING:g} s to start"
            self._wrong(f"thinks for longer than {many}", world, "Bound the search.", error)
        except SystemExit as error:
            self._wrong(f"calls sys.exit({error.code!r})", world, "Raise an exception that says what is wrong.", error)
        return simulation.record

    def _start(self, agent: Agent, simulation: Simulation, world: str) -> None:
        try:
            agent.start(simulation.view, stream(SEED, "agent"))
        except (KernelError, ExtraNeeded):
            raise
        except UserError as error:
            raise _Declined(error.problem) from None
        except Exception as error:
            self._wrong(f"start raised {error!r}", world, f"Mend that line. {_SIZES}", error)

    def _same(self, mine: Record, other: Record, world: str, problem: str, remedy: str) -> None:
        """Refuse two records of a world that differ, naming the first request in which they do."""
        for name in ("outcome", "server", "node", "decided"):
            before, after = (np.asarray(getattr(record, name), np.float64) for record in (mine, other))
            if len(before) != len(after) or not np.array_equal(before, after, equal_nan=True):
                both = min(len(before), len(after))
                differ = np.flatnonzero(~np.isclose(before[:both], after[:both], rtol=0, atol=0, equal_nan=True))
                row = int(differ[0]) if len(differ) else both
                self._wrong(f"{problem}: {name} of request {row} differs", world, remedy)

    def _compiled(self, agent: Agent, point: World, world: str, played: Record, follows: bool = False) -> bool:
        """Play the agent's kernel, if the world can use it, and compare; if it `follows`, by what changed only."""
        agent.start(point.simulation(SEED).view, stream(SEED, "agent"))
        if not point.compiles(agent, None):
            return False
        simulation = point.simulation(SEED, compiled=True)
        assert isinstance(simulation, Simulation)
        simulation.loop.follows = follows
        agent.start(simulation.view, stream(SEED, "agent"))
        how, remedy = ("looking only at servers that changed", _BOUND) if follows else ("compiled", _KERNEL)
        try:
            play_compiled(simulation, agent)
            simulation.ledger.confirm()
        except RunError as error:
            self._wrong(f"{how}, {error}", world, remedy, error)
        self._same(played, simulation.record, world, f"{how}, it gives other answers than decide", remedy)
        return True


class _Declined(Exception):
    """The agent refuses to start in a world, and says why."""


def _remedy(error: RunError) -> str:
    """Say what to do about an exception that the agent raised, or about what it wrote."""
    if str(error) == WRITTEN or "read-only" in str(error):
        return "Work on a copy: free = view.free.copy()."
    if isinstance(error.__cause__, UserError):
        return error.__cause__.remedy
    if error.__cause__ is None:
        return "Let decide_line yield every one of the requests at most once."
    return f"Mend that line. Let decide return None where a request fits nowhere. {_SIZES}"
