"""From a scenario to what moves requests in its runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf

import numpy as np
import numpy.typing as npt

from binwright.agents.world import World
from binwright.scenarios.schema.moves import Rescheduling
from binwright.scenarios.schema.overflow import MakeRoom, room_of
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.workload import Generated
from binwright.simcore.engine import Simulation
from binwright.simcore.errors import UserError
from binwright.simcore.moves import Mover, MoveRules, MoveTrigger
from binwright.simcore.moving import Moving
from binwright.simcore.roles import where_of
from binwright.simcore.types import QUANTUM, Workload
from binwright.workloads.changes import matching

Where = tuple[tuple[str, tuple[str, ...]], ...]


def movers_of(scenario: Scenario, world: World) -> tuple[MoveTrigger | None, MoveTrigger | None]:
    """Make the mover that makes room, and the one that reschedules, where a scenario has them.

    Raises a `UserError` for one that does not go with the scenario.
    """
    room, schedule = room_of(scenario.overflow), scenario.rescheduling
    return (
        _asked(room, scenario, world, "overflow.make_room.mover") if room else None,
        _asked(schedule, scenario, world, "rescheduling.mover") if schedule else None,
    )


def begin_moving(scenario: Scenario, world: World, simulation: Simulation, rng: np.random.Generator) -> Moving | None:
    """Have requests moved in a simulation from now on; None where the scenario does not."""
    room, schedule = movers_of(scenario, world)
    if room is None and schedule is None:
        return None
    for asked, luck in zip((room, schedule), rng.spawn(2), strict=True):
        if asked:
            asked.mover.start(simulation.view, luck)
    return Moving(simulation, rules_of(scenario), room, schedule)


def rules_of(scenario: Scenario) -> MoveRules:
    """Read how moves are made."""
    spec, memory = scenario.moves, scenario.moves.memory(scenario.resources)
    fixed = tuple(where_of(where) for where in spec.fixed)
    return MoveRules(
        inf if spec.bandwidth is None else spec.bandwidth * QUANTUM,
        -1 if memory is None else scenario.resources.index(memory),
        spec.downtime,
        spec.at_once or 0,
        spec.per_hour or 0,
        partial(_fixed, fixed) if fixed else None,
    )


def _asked(spec: MakeRoom | Rescheduling, scenario: Scenario, world: World, key: str) -> MoveTrigger:
    picky = keeps_off(scenario) or (isinstance(spec, Rescheduling) and spec.on_load is not None)
    mover = _fitted(spec.mover.build(), world, picky, isinstance(spec, MakeRoom), key)
    within = inf if spec.within is None else spec.within
    if isinstance(spec, MakeRoom):
        return MoveTrigger(mover, spec.moves, within=within)
    every, load = (inf if each is None else each for each in (spec.every, spec.on_load))
    return MoveTrigger(mover, spec.moves, every, spec.on_drain, within, load)


def keeps_off(scenario: Scenario) -> bool:
    """Tell whether anything may keep requests off servers; labels alone do not, until requests ask for them."""
    generated = scenario.workload if isinstance(scenario.workload, Generated) else None
    asking = generated is None or any(flavour.where for flavour in generated.flavours)
    taints = scenario.cluster.taints != set()
    return bool(scenario.placement) or taints or bool(scenario.ruled_by and asking)


def _fitted(mover: Mover, world: World, ruled: bool, room: bool, key: str) -> Mover:
    """Refuse a mover that does not go with a world, where rules may keep requests off servers or not.

    It is to make room, or else to reschedule.
    """
    name = type(mover).__name__
    for wrong, problem, remedy in (
        (
            not (mover.makes_room if room else mover.reschedules),
            f"{name} plans nothing {'where a request needs room' if room else 'but room for a request'}",
            f"Take {'make-room or agent' if room else 'another mover, such as agent'} here.",
        ),
        (
            world.hidden and mover.needs_lifetimes,
            f"{name} asks how long requests stay, and the scenario hides it",
            "Write `knowledge: {lifetimes: known}`, or how they are predicted, or take another mover, such as agent.",
        ),
        (
            ruled and not mover.keeps_rules,
            f"{name} does not look at rules of placement, nor at loads, and the scenario has some",
            "Take a mover that does, such as agent, or remove the rules, labels and taints, or `on_load`.",
        ),
        (
            world.devices and not mover.on_devices,
            f"{name} does not choose devices, and the servers have some",
            "Take a mover that does, such as agent, or servers without devices.",
        ),
        (
            mover.only_devices and not world.devices,
            f"{name} chooses devices, and the servers have none",
            "Give the servers `devices`, or let the mover ask another agent.",
        ),
    ):
        if wrong:
            raise UserError(problem, key=key, remedy=remedy)
    return mover


def _fixed(fixed: Sequence[Where], workload: Workload) -> npt.NDArray[np.bool_]:
    """Tell which requests may not be moved, bool [n]."""
    found = np.zeros(len(workload), np.bool_)
    for where in fixed:
        found |= matching(workload, dict(where), "moves.fixed")
    return found
