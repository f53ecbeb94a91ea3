"""Moves: requests that run go elsewhere, at times or to make room; who plans it, and how a move is made."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Self, TypeAlias

from pydantic import Field, model_validator

from binwright.agents import MOVERS
from binwright.agents.world import Luck
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.feature import Feature, Point, way
from binwright.scenarios.features.moves.run import Moving
from binwright.scenarios.features.overflow import AfterRoom, Word
from binwright.scenarios.features.placement.rules import Drain
from binwright.simcore.errors import UserError
from binwright.simcore.fields import Count, DataRate, Model, PositiveTime, Shown, Time, wrong
from binwright.simcore.moves import Mover
from binwright.simcore.options import Registered
from binwright.simcore.registry import Registry
from binwright.simcore.unions import PlainOrMapping

MostMoves: TypeAlias = Annotated[Count, Field(le=1_000_000)]


class MoverSpec(Registered):
    """Who plans moves: a name, `package.module:Class` or `file.py:Class`, or one of these with its options."""

    registry: ClassVar[Registry] = MOVERS
    what: ClassVar[str] = "mover"
    by_word: ClassVar[bool] = True
    base: ClassVar[type] = Mover

    @classmethod
    def check(cls, name: str, options: Any) -> None:
        super().check(name, options)
        if MOVERS.load(name).plan is Mover.plan:
            remedy = "Write a method plan(self, view, running, moves, request=None) that returns a list of moves."
            raise wrong("plan is missing", remedy, (name,))


def usual(name: str) -> MoverSpec:
    """Name the mover that is meant without a word, and load nothing for it yet."""
    extra: dict[str, Any] = {name: {}}
    return MoverSpec.model_construct(None, **extra)


class Rescheduling(Model):
    """Requests that run are moved every so often, or when servers are to be emptied."""

    every: PositiveTime | None = Field(None, description="At multiples of this time, counted from the first request.")
    on_drain: bool = Field(False, strict=True)
    """Move off what is on servers when a rule `drain` begins to hold."""
    moves: MostMoves = Field(description="At most so many at a time.")
    mover: MoverSpec = Field(usual("agent"), description="Who plans them.", examples=["{agent: {agent: first-fit}}"])

    @model_validator(mode="after")
    def _sometime(self) -> Self:
        if self.every is None and not self.on_drain:
            remedy = "Say how often, like every: 1 h, or write on_drain: true."
            raise wrong("is missing", remedy, ("every",))
        return self


class MovesSpec(Model):
    """How a move is made. By default it takes no time. A request on its way holds both places."""

    bandwidth: DataRate | None = Field(None, examples=["10 Gbps"])
    """A move takes as long as the request's memory, `mem` or `memory`, takes at this rate."""
    downtime: Time = Field(0.0, description="Each move takes this time in addition, while the request stands still.")
    at_once: Count | None = Field(None, description="At most so many are on the way at a time.")

    def memory(self, resources: Sequence[str]) -> str | None:
        """Return the resource that moves carry, if there is one."""
        return next((name for name in ("mem", "memory") if name in resources), None)


class MakeRoom(Model):
    """Requests that run are moved to make room for one that fits nowhere."""

    moves: MostMoves = Field(description="At most so many for one request.")
    mover: MoverSpec = Field(usual("make-room"), description="Who plans them.")
    then: Annotated[
        Word | AfterRoom, PlainOrMapping(), Shown("`drop`, `wait`, `stop` or {expand: [Expand](#expand)}")
    ] = "drop"
    """What happens when no room can be made."""


class _Keys(Model):
    rescheduling: Rescheduling | None = Field(default=None, examples=["{every: 1 h, moves: 50, mover: agent}"])
    """Move running requests at times."""
    moves: MovesSpec = Field(default=MovesSpec.model_validate({}), examples=["{bandwidth: 10 Gbps, at_once: 4}"])
    """How moves are made."""


class _Way(Model):
    make_room: MakeRoom | None = Field(default=None, examples=["{moves: 3, then: wait}"])
    """Requests that run are moved to make room."""


def _keeps_off(scenario: Any) -> bool:
    """Tell whether anything may keep requests off servers; labels alone do not, until requests ask for them."""
    flavours = getattr(scenario.workload, "flavours", None)
    asking = flavours is None or any(flavour.where for flavour in flavours)
    parts = any(rules.labels for _, rules in scenario.workload.gangs)
    return bool(scenario.placement or scenario.cluster.known_servers.taints or parts or (scenario.ruled_by and asking))


def _mover_of(section: Any, scenario: Any, key: str) -> Mover:
    """Make the mover of a section that stands at a key, and refuse one that does not go with the scenario."""
    mover: Mover = section.mover.build()
    cluster, room, lifetimes = scenario.cluster, key == "overflow.make_room", scenario.knowledge.lifetimes
    taken = cluster.has_devices or cluster.network or cluster.predicted
    for is_met, problem in (
        (room and not mover.makes_room, "plans nothing where a request needs room"),
        (not room and not mover.reschedules, "plans nothing but room for a request"),
        (lifetimes == "hidden" and mover.needs_lifetimes, "asks how long requests stay, and the scenario hides it"),
        (_keeps_off(scenario) and not mover.keeps_rules, "does not look at rules of placement, and there are some"),
        (mover.only_devices and not cluster.has_devices, "chooses devices, and the servers have none"),
        (taken and not mover.reads_places, "looks at no devices, links or predicted peaks"),
    ):
        if is_met:
            remedy = "Take another mover, such as agent, here."
            raise UserError(f"{type(mover).__name__} {problem}", key=f"{key}.mover", remedy=remedy)
    return mover


class _Feature(Feature):
    key = "moves"
    keys: ClassVar = {"": _Keys, "overflow": _Way}
    learned = False
    name = "requests that are moved"
    excludes: ClassVar = {"pacing": "requests of a pace have no times at which to plan moves"}

    def section(self, scenario: Any) -> bool:
        return bool(self.at(scenario))

    def at(self, scenario: Any) -> str:
        room = way(scenario.overflow, "make_room")
        return "overflow.make_room" if room else "rescheduling" if scenario.rescheduling else ""

    def check(self, scenario: Any) -> None:
        when = scenario.rescheduling
        drains = any(isinstance(rule, Drain) and rule.at > 0 for rule in scenario.placement)
        if when and when.every is None and not drains:
            remedy = "Write a rule into `placement` like {drain: [3, 4], at: 1 d}, or say how often, like every: 1 h."
            raise wrong("no server is to be emptied while a run goes on", remedy, ("rescheduling", "on_drain"))

    def check_keys(self, scenario: Any) -> None:
        if scenario.moves.bandwidth is not None and scenario.moves.memory(scenario.resources) is None:
            remedy = "Give `downtime` instead, or call the memory that moves carry `mem`."
            raise wrong("the cluster has neither mem nor memory", remedy, ("moves", "bandwidth"))

    def begin(self, point: Point, simulation: Simulation, luck: Luck) -> None:
        scenario = point.scenario
        room, schedule = way(scenario.overflow, "make_room"), scenario.rescheduling
        makes = room and (room, _mover_of(room, scenario, "overflow.make_room"))
        moves = schedule and (schedule, _mover_of(schedule, scenario, "rescheduling"))
        for trigger, own in zip((makes, moves), luck("movers").spawn(2), strict=True):
            if trigger:
                trigger[1].start(simulation.view, own)
        Moving(simulation, scenario.moves, makes, moves)


FEATURE = _Feature()
