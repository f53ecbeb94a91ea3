"""Passes the messages of one stage of Nara's network on the CPU, and their gradients back, in one kernel each.

The same sums as in `network.Stage.messages`, where torch takes several times as long: it goes through memory once for
every operation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from binwright.agents.environments.observation import Reals
from binwright.agents.learned.nara.inference import Wiring
from binwright.simcore.jit import kernel


@kernel
def forth(
    wires: Wiring, servers: Reals, switches: Reals, edges: Reals, link: Reals, to_servers: Reals, to_switches: Reals
) -> None:
    """Write the next states from W [state], `servers` float32 [servers, b, width] and `switches` likewise.

    `edges` float32 [edges, b] are the features of links, `link` float32 [width] what they are multiplied with. Writes
    `to_servers` and `to_switches`, shaped as the states.
    """
    zero, half, width = np.float32(0), np.float32(0.5), len(link)
    for switch in range(len(switches)):
        for b in range(switches.shape[1]):
            for unit in range(width):
                to_switches[switch, b, unit] = max(zero, switches[switch, b, unit])
    for server in range(len(servers)):
        edge, rack = wires.own[server], wires.rack_of[server]
        for b in range(servers.shape[1]):
            feature = edges[edge, b]
            for unit in range(width):
                along, mine = feature * link[unit], servers[server, b, unit]
                to_switches[rack, b, unit] += max(zero, mine + along)
                to_servers[server, b, unit] = half * (max(zero, mine) + max(zero, switches[rack, b, unit] + along))
    for place in range(len(wires.inner)):
        edge, one, other = wires.inner[place], wires.sender[place], wires.receiver[place]
        for b in range(switches.shape[1]):
            feature = edges[edge, b]
            for unit in range(width):
                to_switches[other, b, unit] += max(zero, switches[one, b, unit] + feature * link[unit])
    for switch in range(len(switches)):
        share = wires.share[switch]
        for b in range(switches.shape[1]):
            for unit in range(width):
                to_switches[switch, b, unit] *= share


@kernel
def back(
    wires: Wiring,
    servers: Reals,
    switches: Reals,
    edges: Reals,
    link: Reals,
    to_servers: Reals,
    to_switches: Reals,
    of_servers: Reals,
    of_switches: Reals,
    of_link: Reals,
) -> None:
    """Write the gradients of what `forth` was given from those of what it wrote.

    The first five are what it was given, then come the gradients of what it wrote; `of_servers`, `of_switches` and
    `of_link` are written, the last two from zeros on.
    """
    zero, half, width = np.float32(0), np.float32(0.5), len(link)
    for switch in range(len(switches)):
        share = wires.share[switch]
        for b in range(switches.shape[1]):
            for unit in range(width):
                passed = share * to_switches[switch, b, unit]
                of_switches[switch, b, unit] += passed if switches[switch, b, unit] > 0 else zero
    for server in range(len(servers)):
        edge, rack = wires.own[server], wires.rack_of[server]
        share = wires.share[rack]
        for b in range(servers.shape[1]):
            feature = edges[edge, b]
            for unit in range(width):
                along, mine = feature * link[unit], servers[server, b, unit]
                down, up = half * to_servers[server, b, unit], share * to_switches[rack, b, unit]
                up = up if mine + along > 0 else zero
                of_servers[server, b, unit] = up + (down if mine > 0 else zero)
                down = down if switches[rack, b, unit] + along > 0 else zero
                of_switches[rack, b, unit] += down
                of_link[unit] += feature * (up + down)
    for place in range(len(wires.inner)):
        edge, one, other = wires.inner[place], wires.sender[place], wires.receiver[place]
        share = wires.share[other]
        for b in range(switches.shape[1]):
            feature = edges[edge, b]
            for unit in range(width):
                passed = share * to_switches[other, b, unit]
                passed = passed if switches[one, b, unit] + feature * link[unit] > 0 else zero
                of_switches[one, b, unit] += passed
                of_link[unit] += feature * passed


class Messages(torch.autograd.Function):
    """Passes messages with a gradient: (wires, servers, switches, edges, link) -> the next states of both."""

    @staticmethod
    def forward(
        context: Any, wires: Wiring, servers: Tensor, switches: Tensor, edges: Tensor, link: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Pass messages along `wires` from states [vertices, b, width] with the features [edges, b] of links."""
        given = [part.contiguous() for part in (servers, switches, edges, link)]
        found = torch.empty_like(given[0]), torch.empty_like(given[1])
        forth(wires, *(part.detach().numpy() for part in (*given, *found)))
        context.wires = wires
        context.save_for_backward(*given)
        return found

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[None, Tensor, Tensor, None, Tensor]:
        """Return the gradients of servers, switches and link; those of features are not needed."""
        given = context.saved_tensors
        servers, switches, _, link = given
        found = torch.empty_like(servers), torch.zeros_like(switches), torch.zeros_like(link)
        parts = (*given, *(part.contiguous() for part in gradients), *found)
        back(context.wires, *(part.detach().numpy() for part in parts))
        return None, found[0], found[1], None, found[2]
