"""The world of a run: everything that agents meet, whoever they are and whatever the seed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal, Protocol, TypeAlias

import numpy as np

from binwright.fabric.compiled.many_networks import NetworkEpisodes
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.simulation import Simulation
from binwright.simcore.errors import UserError
from binwright.simcore.faults import Faults
from binwright.simcore.rules import Overflow, Pacing
from binwright.simcore.types import Agent
from binwright.simcore.workload import Workload

Luck: TypeAlias = Callable[[str], np.random.Generator]
"""Returns the random stream of a name."""


class Requests(Protocol):
    """What draws the requests of a world."""

    @property
    def drawn(self) -> bool:
        """Whether the requests depend on the seed."""

    def draw(self, seed: int) -> Workload:
        """Draw the requests of a seed."""

    def windows(self, seed: int, requests: int | None = None, met: float = 1.0) -> list[tuple[int, int]] | None:
        """Find the first row of each of a seed's windows of a trace, and the row after its last one.

        None where all seeds meet the same. Windows that end with the trace have so many `requests` in all, and of each
        window the share `met` counts.
        """


@dataclass(frozen=True, slots=True)
class WarmStart:
    """Requests that are placed before a run counts: until this share of a resource is allocated.

    `agent()`, a new agent, places them for all; None where each agent does so itself.
    """

    resource: str
    until: float
    agent: Callable[[], Agent] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One point of a scenario, ready to be played: its cluster, its requests, its rules. Nothing changes during a run.

    `ledger(seed)` makes the empty cluster, `faults(seed)` its failures, `expansion` lists (time, servers to add), and
    `grows_by` is the key by which servers may be added. `numbered` tells whether seeds number the servers, `ruled`
    names what says where requests may lie, `gangs` whether requests have several parts, `timed` whether single
    decisions are timed, and `hidden` whether agents are told nothing of how long requests stay.

    `stepped` tells whether other features keep machine code from running it. `attach` has a simulation of a seed keep
    these, `begin` does so once the warm start is over, `suits` refuses an agent that does not go with them, and
    `prepare` has the agent of the warm start answer first.
    """

    ledger: Callable[[int], Ledger]
    requests: Requests
    overflow: Overflow
    pacing: Pacing | None = None
    expansion: Sequence[tuple[float, int]] = ()
    grows_by: str = ""
    faults: Callable[[int], Sequence[Faults]] = lambda seed: ()
    warm_start: WarmStart | None = None
    networked: bool = False
    virtual: bool = False
    devices: bool = False
    numbered: bool = False
    ruled: str = ""
    gangs: Literal["", "plain", "ruled"] = ""
    timed: bool = False
    hidden: bool = False
    stepped: bool = False
    attach: Callable[[Simulation, int], None] = lambda simulation, seed: None
    begin: Callable[[Simulation, int, Luck], None] = lambda simulation, seed, luck: None
    suits: Callable[[Agent], None] = lambda agent: None
    prepare: Callable[[Simulation, Agent, Callable[..., int]], None] = lambda simulation, agent, play: None

    def draw(self, seed: int) -> Workload:
        return self.requests.draw(seed)

    @property
    def drawn(self) -> bool:
        """Whether the requests or the failures of a run depend on its seed."""
        return any(faults.mtbf < inf for faults in self.faults(0)) or self.requests.drawn or self.numbered

    def compiles(self, agent: Agent, warm: Agent | None) -> bool:
        """Whether machine code can run all: `agent`, which answers, and `warm`, which fills the cluster before."""
        rule = agent.compiled
        in_python = rule and rule.in_order is None and type(agent).decide_line is not Agent.decide_line
        return not (
            self.stepped
            or self.networked  # links are reserved
            or self.devices
            or self.overflow.one_by_one  # requests are offered after every single event
            or self.timed  # single decisions are
            or self.gangs == "ruled"
            or (self.overflow.together and (self.ruled or in_python))
            or any(each.compiled is None or (self.grows_by and not each.any_size) for each in (agent, warm) if each)
        )

    def simulation(self, seed: int, ledger: Ledger | None = None, *, compiled: bool = False) -> Simulation:
        """Set up the run of a seed on an empty cluster, by default a new one; `compiled` in machine code."""
        ledger = ledger or self.ledger(seed)
        workload = self.draw(seed)
        simulation = Simulation(
            workload,
            ledger,
            self.overflow,
            expansion=self.expansion,
            faults=self.faults(seed),
            pacing=self.pacing,
            compiled=compiled,
        )
        self.attach(simulation, seed)
        return simulation

    def episodes(self, count: int, *, feasible: bool = False) -> NetworkEpisodes:
        """Set up so many simulations of the network, stepped together; `feasible` masks what cannot be reached."""
        ledger = self.ledger(0)  # servers of a network are numbered by its topology
        hides = "observations of a network tell how long requests stay, and the scenario hides it"
        for key, is_met, problem, remedy in (
            ("cluster.network", ledger.network is None, "servers are chosen one by one in a network", "Give it one."),
            ("placement", self.ruled, "episodes in a network keep no rules of placement", "Take the rules out."),
            ("knowledge.lifetimes", self.hidden, hides, "Write `known`, or how they are predicted."),
            ("overflow", self.overflow.mode != "drop", "what fits nowhere must be dropped here", "Write `drop`."),
        ):
            if is_met:
                raise UserError(problem, key=key, remedy=remedy)
        return NetworkEpisodes(ledger, self.pacing, count, feasible=feasible)
