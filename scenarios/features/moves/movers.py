"""Makes the movers of a scenario, and refuses those that do not go with it."""

from typing import Any

from binwright.simcore.errors import UserError
from binwright.simcore.moves import Mover


def keeps_off(scenario: Any) -> bool:
    """Tell whether anything may keep requests off servers; labels alone do not, until requests ask for them."""
    flavours = getattr(scenario.workload, "flavours", None)
    asking = flavours is None or any(flavour.where for flavour in flavours)
    taints = scenario.cluster.taints != set()
    parts = any(rules.labels for _, rules in scenario.workload.gangs)
    return bool(scenario.placement) or taints or parts or bool(scenario.ruled_by and asking)


def fitted(section: Any, scenario: Any, key: str) -> Mover:
    """Make the mover of a section that stands at a key, and refuse one that does not go with the scenario."""
    mover: Mover = section.mover.build()
    name, devices = type(mover).__name__, scenario.cluster.has_devices
    room = key == "overflow.make_room"
    for wrong, problem, remedy in (
        (
            not (mover.makes_room if room else mover.reschedules),
            f"{name} plans nothing {'where a request needs room' if room else 'but room for a request'}",
            f"Take {'make-room or agent' if room else 'another mover, such as agent'} here.",
        ),
        (
            scenario.knowledge.lifetimes == "hidden" and mover.needs_lifetimes,
            f"{name} asks how long requests stay, and the scenario hides it",
            "Write `knowledge: {lifetimes: known}`, or how they are predicted, or take another mover, such as agent.",
        ),
        (
            keeps_off(scenario) and not mover.keeps_rules,
            f"{name} does not look at rules of placement, and the scenario has some",
            "Take a mover that does, such as agent, or remove the rules, labels and taints.",
        ),
        (
            devices and not mover.on_devices,
            f"{name} does not choose devices, and the servers have some",
            "Take a mover that does, such as agent, or servers without devices.",
        ),
        (
            scenario.cluster.network and not mover.reads_places,
            f"{name} reserves no links, and the servers are in a network",
            "Take a mover that does, such as agent, or servers without a network.",
        ),
        (
            room and scenario.workload.gangs and not mover.reads_places,
            f"{name} makes room for single requests, and some have parts",
            "Take a mover that makes room for gangs, such as agent.",
        ),
        (
            scenario.cluster.predicted and not mover.reads_places,
            f"{name} goes by what is requested, and predicted peaks leave more",
            "Take a mover that goes by what is held, such as agent, or a number in `overcommit`.",
        ),
        (
            mover.only_devices and not devices,
            f"{name} chooses devices, and the servers have none",
            "Give the servers `devices`, or let the mover ask another agent.",
        ),
    ):
        if wrong:
            raise UserError(problem, key=f"{key}.mover", remedy=remedy)
    return mover
