"""What agents see of servers, and where they put a request."""

import numpy as np

from binwright.simcore.types import Agent, Placement, Request, View
from tests.reference.agents import Demand, Room, Where


def ask(agent: Agent, view: View, demand: Demand, spread: bool) -> Where | None:
    """Return where the agent puts a request, after checking that it puts all of it there."""
    request = Request(0, 0.0, 1.0, demand, spread)
    placement = agent.decide(view, request)
    if placement is None:
        return None
    assert isinstance(placement, Placement)
    server, node, _ = placement.shares[0]
    assert placement == (request.across(server, view.free.shape[1]) if spread else request.on(server, node))
    return server, node


def view_of(free: Room, capacity: Room) -> View:
    """Build a view, read-only as agents get it."""
    arrays = [np.array(room, np.int64) for room in (free, capacity)]
    for array in arrays:
        array.flags.writeable = False
    return View(tuple("abc"[: arrays[0].shape[2]]), arrays[1], arrays[0])
