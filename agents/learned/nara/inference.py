"""Computes Nara's networks in use, as one kernel: the logits of one observation, without torch.

The same sums as in `network`, which says what they are. Torch takes many times as long, nearly all of it between its
operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from binwright.agents.environments.observation import Reals, edge_index
from binwright.agents.learned.nara.variants import CLUSTER, STAGES, Form
from binwright.fabric.reachable_servers import Flags
from binwright.fabric.topology import Topology
from binwright.simcore.jit import kernel
from binwright.simcore.types import Ints


class Wiring(NamedTuple):
    """Holds the edges of a topology, int64 [any] but `share`.

    `own` are those of servers, to racks `rack_of`; `inner` those between switches, `sender` to `receiver`, both ways.
    `share` float32 [switches] is one over the number of
    messages that a switch gets.
    """

    own: Ints
    rack_of: Ints
    inner: Ints
    sender: Ints
    receiver: Ints
    share: Reals


def wiring(topology: Topology) -> Wiring:
    """Return the edges of this topology."""
    edges, switches = edge_index(topology).astype(np.int64), topology.switches
    to_server = (edges >= switches).any(axis=1)
    own, inner = np.flatnonzero(to_server), np.flatnonzero(~to_server)
    degree = 1 + np.bincount(edges.reshape(-1), minlength=switches + topology.servers)[:switches]
    return Wiring(
        own=own[np.argsort(edges[own].max(axis=1))],
        rack_of=topology.rack_of.astype(np.int64),
        inner=np.concatenate([inner, inner]),
        sender=np.concatenate([edges[inner, 0], edges[inner, 1]]),
        receiver=np.concatenate([edges[inner, 1], edges[inner, 0]]),
        share=(1 / degree).astype(np.float32),
    )


class Layers(NamedTuple):
    """Holds the weights, float32, inputs first, and which form of the network they are of.

    They are `stage` [STAGES, rows, width] (of the first as many rows as features, of the others `width`), `stage_bias`
    and `link` [STAGES, width]; `cluster` [2, rows, CLUSTER] likewise, `cluster_bias` [2, CLUSTER]; `server` [width,
    width], `server_bias` [width], `context` [width + CLUSTER, width], `logit` [width + 1]. A `linear` readout has zeros
    for those between `link` and `logit`.
    """

    stage: Reals
    stage_bias: Reals
    link: Reals
    cluster: Reals
    cluster_bias: Reals
    server: Reals
    server_bias: Reals
    context: Reals
    logit: Reals
    linear: bool
    normalise: bool


def layers(tensors: Mapping[str, Reals], form: Form) -> Layers:
    """Make the layers from tensors with the names that torch gives them."""
    width, features = tensors["stages.0.state.weight"].shape
    stage = np.zeros((STAGES, max(features, width), width), np.float32)
    cluster = np.zeros((2, max(features, CLUSTER), CLUSTER), np.float32)
    cluster_bias = np.zeros((2, CLUSTER), np.float32)
    server, server_bias = np.zeros((width, width), np.float32), np.zeros(width, np.float32)
    context = np.zeros((width + CLUSTER, width), np.float32)
    for number in range(STAGES):
        weight = tensors[f"stages.{number}.state.weight"]
        stage[number, : weight.shape[1]] = weight.T
    if form.readout == "layers":
        for number in range(2):
            weight = tensors[f"cluster.{2 * number}.weight"]
            cluster[number, : weight.shape[1]] = weight.T
            cluster_bias[number] = tensors[f"cluster.{2 * number}.bias"]
        server[:], server_bias[:] = tensors["server.weight"].T, tensors["server.bias"]
        context[:] = tensors["context.weight"].T
    return Layers(
        stage=stage,
        stage_bias=np.stack([tensors[f"stages.{number}.state.bias"] for number in range(STAGES)]),
        link=np.stack([tensors[f"stages.{number}.link"] for number in range(STAGES)]),
        cluster=cluster,
        cluster_bias=cluster_bias,
        server=server,
        server_bias=server_bias,
        context=context,
        logit=np.concatenate([tensors["logit.weight"][0], tensors["logit.bias"]]),
        linear=form.readout == "linear",
        normalise=form.normalise,
    )


@kernel
def product(states: Reals, inputs: int, weight: Reals, bias: Reals, out: Reals) -> None:
    """Write `states` float32 [n, any], the first `inputs` of them, times `weight`, plus `bias`, to `out`."""
    fours = inputs - inputs % 4
    for n in range(len(states)):
        for unit in range(len(bias)):
            out[n, unit] = bias[unit]
        for f in range(0, fours, 4):  # four at a time is twice as fast; the order of the sum is the same
            a, b, c, d = states[n, f], states[n, f + 1], states[n, f + 2], states[n, f + 3]
            for unit in range(len(bias)):
                total = out[n, unit] + a * weight[f, unit] + b * weight[f + 1, unit]
                out[n, unit] = total + c * weight[f + 2, unit] + d * weight[f + 3, unit]
        for f in range(fours, inputs):
            state = states[n, f]
            for unit in range(len(bias)):
                out[n, unit] += state * weight[f, unit]


@kernel
def infer(
    wires: Wiring,
    weights: Layers,
    nodes: Reals,
    edges: Reals,
    cluster: Reals,
    states: Reals,
    sent: Reals,
    logits: Reals,
) -> None:
    """Write `logits` float32 [servers] of an observation.

    That is `nodes` float32 [vertices, features], `edges` float32 [any] and `cluster` float32 [features]; `states` and
    `sent`, float32 [vertices, width], are scratch.
    """
    width = weights.link.shape[1]
    switches, servers, zero = len(wires.share), len(wires.own), np.float32(0)
    own, rack_of, inner, sender, receiver = wires.own, wires.rack_of, wires.inner, wires.sender, wires.receiver
    for stage in range(STAGES):
        link = weights.link[stage]
        if stage == 0:
            product(nodes, nodes.shape[1], weights.stage[stage], weights.stage_bias[stage], sent)
        else:
            product(states, width, weights.stage[stage], weights.stage_bias[stage], sent)
        for server in range(servers):
            edge, rack, vertex = edges[own[server]], rack_of[server], switches + server
            for unit in range(width):
                heard = max(zero, sent[rack, unit] + edge * link[unit])
                states[vertex, unit] = (max(zero, sent[vertex, unit]) + heard) * np.float32(0.5)
        if stage == STAGES - 1:  # what switches would hear, no server hears any more
            break
        for switch in range(switches):
            for unit in range(width):
                states[switch, unit] = max(zero, sent[switch, unit])
        for server in range(servers):
            edge, rack, vertex = edges[own[server]], rack_of[server], switches + server
            for unit in range(width):
                states[rack, unit] += max(zero, sent[vertex, unit] + edge * link[unit])
        for place in range(len(inner)):
            edge, one, other = edges[inner[place]], sender[place], receiver[place]
            for unit in range(width):
                states[other, unit] += max(zero, sent[one, unit] + edge * link[unit])
        for switch in range(switches):
            for unit in range(width):
                states[switch, unit] *= wires.share[switch]
    if weights.normalise:
        _normalise(states[switches:])
    if weights.linear:
        for server in range(servers):
            total = weights.logit[width]
            for unit in range(width):
                total += states[switches + server, unit] * weights.logit[unit]
            logits[server] = total
        return
    common = _common(weights, nodes[switches:, nodes.shape[1] - 1], states[switches:], cluster)
    product(states[switches:], width, weights.server, common, sent)
    for server in range(servers):
        total = weights.logit[width]
        for unit in range(width):
            total += max(zero, sent[server, unit]) * weights.logit[unit]
        logits[server] = total


@kernel
def infer_all(
    wires: Wiring,
    weights: Layers,
    going: Flags,
    nodes: Reals,
    edges: Reals,
    cluster: Reals,
    states: Reals,
    sent: Reals,
    logits: Reals,
) -> None:
    """Write the `logits` float32 [s, servers] of those observations, each [s, ...], whose simulation is `going`."""
    for i in range(len(going)):
        if going[i]:
            infer(wires, weights, nodes[i], edges[i], cluster[i], states, sent, logits[i])


@kernel
def _normalise(states: Reals) -> None:
    """Give every row of `states` float32 [n, width] the length 1, unless it is 0."""
    width = states.shape[1]
    for n in range(len(states)):
        square = np.float32(0)
        for unit in range(width):
            square += states[n, unit] * states[n, unit]
        length = max(np.sqrt(square), np.float32(1e-12))
        for unit in range(width):
            states[n, unit] /= length


@kernel
def _common(weights: Layers, chosen: Reals, states: Reals, cluster: Reals) -> Reals:
    """Return what all servers of these `states` have in common before the last layer, float32 [width]."""
    width = len(weights.server_bias)
    zero, context = np.float32(0), np.zeros(width + CLUSTER, np.float32)
    taken = 0
    for server in range(len(states)):
        if chosen[server] > 0:
            taken += 1
            for unit in range(width):
                context[unit] += states[server, unit]
    for unit in range(width):
        context[unit] /= np.float32(max(1, taken))
    first = np.zeros(CLUSTER, np.float32)
    for unit in range(CLUSTER):
        first[unit] = weights.cluster_bias[0, unit]
        for f in range(len(cluster)):
            first[unit] += cluster[f] * weights.cluster[0, f, unit]
    for unit in range(CLUSTER):
        excited = weights.cluster_bias[1, unit]
        for f in range(CLUSTER):
            excited += max(zero, first[f]) * weights.cluster[1, f, unit]
        context[width + unit] = max(zero, excited)
    common = weights.server_bias.copy()
    for f in range(len(context)):
        for unit in range(width):
            common[unit] += context[f] * weights.context[f, unit]
    return common
