"""Takes the trained network's favourite server, again and again: Nara; and trains it by PPO.

In use its network is computed as one kernel, with the same sums as in `nara_network`, which says what they are. Torch
takes many times as long, nearly all of it between its operations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from binwright.agents.environments.observation import Observation, Observer, observe, shown
from binwright.agents.heuristics.networks.common import NetworkAgent, one_by_one
from binwright.agents.learned.loop import TRAINING, Count, Share, Trainer, arrays_of
from binwright.agents.learned.mlp import add_products, dense, flatten
from binwright.agents.learned.ppo import Batch, Proximal, masked, returns_of
from binwright.agents.learned.weights import Tensors, described, extra, find, fitting, read
from binwright.agents.world import World
from binwright.fabric.multi_server import Filling, allow
from binwright.fabric.network import NetworkView
from binwright.fabric.topology import Topology
from binwright.simcore.jit import allocating, inlined, kernel, lean
from binwright.simcore.rng import stream
from binwright.simcore.types import Flags, Floats, Ints, Placement, Reals, Refusal, Request, View

STAGES, WIDTH, CLUSTER = 3, 16, 8
"""Rounds of messages; numbers that embed a vertex, and units of our hidden layer; units of the cluster's layers."""
REWARDS = np.array([10.0, -10.0])
"""For a request that gets its place, and for one that does not."""


def shapes(resources: int, text: bool) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the tensors of such a network, without those of the value.

    As the `text` of the publication can be read, a linear layer over a server's embedding, of length 1, makes its
    logit, and values come from the state of the cluster alone. What all servers share would shift all logits of a
    linear layer alike and change no choice, so it isn't there. Older weights make logits by two layers over a server's
    embedding, the mean embedding of the servers chosen and the state of the cluster. What is observed differs, too
    (`agents.environments.observation`).
    """
    tensors: dict[str, tuple[int, ...]] = {}
    for stage in range(STAGES):
        tensors[f"stages.{stage}.state.weight"] = WIDTH, resources + 1 if stage == 0 else WIDTH
        tensors[f"stages.{stage}.state.bias"] = tensors[f"stages.{stage}.link"] = (WIDTH,)
    if not text:
        for layer, inputs in ((0, resources + 1), (2, CLUSTER)):
            tensors[f"cluster.{layer}.weight"], tensors[f"cluster.{layer}.bias"] = (CLUSTER, inputs), (CLUSTER,)
        tensors |= {"server.weight": (WIDTH, WIDTH), "server.bias": (WIDTH,)}
        tensors["context.weight"] = WIDTH, WIDTH + CLUSTER
    return {**tensors, "logit.weight": (1, WIDTH), "logit.bias": (1,)}


class Wiring(NamedTuple):
    """Holds the edges of a topology, int64 [any] but `share`, as arrays or as tensors.

    The first are those of servers, to racks `rack_of`; `inner` are those between switches, `sender` to `receiver`, both
    ways. `share` float32 [switches] is one over the number of messages that a switch gets.
    """

    rack_of: Any
    inner: Any
    sender: Any
    receiver: Any
    share: Any


def wiring(topology: Topology) -> Wiring:
    """Return the edges of this topology."""
    edges, servers, switches = topology.link_ends.astype(np.int64), topology.servers, topology.switches
    inner = np.arange(servers, len(edges))
    degree = 1 + np.bincount(edges.reshape(-1), minlength=switches + servers)[:switches]
    return Wiring(
        rack_of=topology.rack_of.astype(np.int64),
        inner=np.concatenate([inner, inner]),
        sender=np.concatenate([edges[inner, 0], edges[inner, 1]]),
        receiver=np.concatenate([edges[inner, 1], edges[inner, 0]]),
        share=(1 / degree).astype(np.float32),
    )


def joined(tensors: Mapping[str, Reals], text: bool) -> Reals:
    """Join tensors with the names that torch gives them, float32 [any], in the order of `shapes`, inputs first."""
    return flatten(tensors, shapes(tensors["stages.0.state.weight"].shape[1] - 1, text))


@inlined
def hear(states: Reals, target: int, sent: Reals, source: int, edge: float, link: Reals) -> None:
    """Add to the state of a vertex the message that another one sends it."""
    for unit in range(WIDTH):
        states[target, unit] += max(np.float32(0), sent[source, unit] + edge * link[unit])


@allocating
def infer(
    wires: Wiring, weights: Reals, text: bool, nodes: Reals, edges: Reals, cluster: Reals, scratch: Reals, logits: Reals
) -> None:
    """Write `logits` float32 [servers] of an observation.

    That is `nodes` float32 [vertices, features], `edges` float32 [any] and `cluster` float32 [features]. `scratch` is
    float32 [2, vertices, WIDTH].
    """
    states, sent, at = scratch[0], scratch[1], 0
    switches, servers, zero = len(wires.share), len(wires.rack_of), np.float32(0)
    rack_of, inner, sender, receiver = wires.rack_of, wires.inner, wires.sender, wires.receiver
    for stage in range(STAGES):
        seen, inputs = (nodes, nodes.shape[1]) if stage == 0 else (states, WIDTH)
        bias = at + (inputs + 1) * WIDTH
        for vertex in range(switches + servers):
            dense(seen[vertex], inputs, weights, at, sent[vertex], WIDTH, False)
            for unit in range(WIDTH):
                states[vertex, unit] = max(zero, sent[vertex, unit])
        at = bias + WIDTH
        link = weights[bias:at]
        for server in range(servers):
            hear(states, switches + server, sent, rack_of[server], edges[server], link)
            hear(states, rack_of[server], sent, switches + server, edges[server], link)
        for place in range(len(inner)):
            hear(states, receiver[place], sent, sender[place], edges[inner[place]], link)
        for vertex in range(switches + servers):
            share = wires.share[vertex] if vertex < switches else np.float32(0.5)
            for unit in range(WIDTH):
                states[vertex, unit] *= share
    for server in range(switches, switches + servers if text else 0):  # to the length 1, unless it is 0
        square = np.float32(0)
        for unit in range(WIDTH):
            square += states[server, unit] * states[server, unit]
        length = max(np.sqrt(square), np.float32(1e-12))
        for unit in range(WIDTH):
            states[server, unit] /= length
    last, readout = states[switches:], weights[len(weights) - WIDTH - 1 :]
    if not text:
        common = _common(weights, at, nodes[switches:, nodes.shape[1] - 1], last, cluster)
        at += CLUSTER * (len(cluster) + CLUSTER + 2)
        for server in range(servers):
            sent[server] = common
            add_products(last[server], WIDTH, weights, at, sent[server], WIDTH)
        last = np.maximum(sent[:servers], zero)
    for server in range(servers):
        total = readout[WIDTH]
        for unit in range(WIDTH):
            total += last[server, unit] * readout[unit]
        logits[server] = total


@kernel
def _common(weights: Reals, at: int, chosen: Reals, states: Reals, cluster: Reals) -> Reals:
    """Return what all servers of these `states` have in common before the last layer, float32 [WIDTH]."""
    context = np.zeros(WIDTH + CLUSTER, np.float32)
    taken = 0
    for server in range(len(states)):
        if chosen[server] > 0:
            taken += 1
            context[:WIDTH] += states[server]
    context[:WIDTH] /= np.float32(max(1, taken))
    first, second = np.empty(CLUSTER, np.float32), context[WIDTH:]
    at = dense(cluster, len(cluster), weights, at, first, CLUSTER, True)
    at = dense(first, CLUSTER, weights, at, second, CLUSTER, True) + WIDTH * WIDTH  # the servers' own weights
    common = weights[at : at + WIDTH].copy()
    add_products(context, len(context), weights, at + WIDTH, common, WIDTH)
    return common


class Scoring(NamedTuple):
    """Holds what Nara looks at, its network, and scratch.

    `allowed` bool [servers] is scratch. `feasible` says that only servers with a working route to all chosen are taken.
    `total` int64 [resources] is what all servers have, `duration` float64 [1] how long the request stays.
    """

    room: Filling
    allowed: Flags
    feasible: bool
    total: Ints
    duration: Floats
    seen: Observation
    text: bool
    wires: Wiring
    weights: Reals
    scratch: Reals
    logits: Reals


@lean
def nara(of: Scoring, free: Ints, link_free: Ints, bandwidth: int, masked: bool) -> int:
    """Take the allowed server with the largest logit, the first of equals; -1 for none.

    Where none can be reached it is the first that has anything free, which tells for want of what.
    """
    room, seen = of.room, of.seen
    best, highest = -1, np.float32(-np.inf)
    if not allow(room, free, link_free, bandwidth, masked, of.allowed):
        return best
    if masked or not of.feasible:
        observe(of.total, free, link_free, room, bandwidth, of.duration[0], of.text, seen)
        infer(of.wires, of.weights, of.text, seen.nodes, seen.edges, seen.cluster, of.scratch, of.logits)
    for server in range(len(of.allowed)):
        if of.allowed[server] and (best < 0 or of.logits[server] > highest):
            best, highest = server, of.logits[server]
            if of.feasible and not masked:
                break
    return best


class Nara(NetworkAgent):
    """A graph neural network over servers, switches and links, trained with PPO.

    It takes servers one by one, each time the one with the largest score, and scores again after every choice.
    `weights` names shipped ones, `path` is a file that `binwright train` wrote. `mask` is "any" as published, to choose
    from all servers that have anything free and are not chosen, or "feasible" for those that also have a route to all
    chosen.
    """

    reference = "Shabka, Zervas 2021, Nara, arXiv:2106.02412"
    rule = staticmethod(one_by_one(nara))
    needs_lifetimes = True

    def __init__(
        self, weights: str = "alpha-uniform", path: str | None = None, mask: Literal["any", "feasible"] = "any"
    ) -> None:
        self.masked = mask == "feasible"
        self._file = find("nara", weights, path)

    def scratch(self, view: NetworkView, room: Filling) -> Scoring:
        topology, resources = view.topology, len(view.resources)
        text = read(self._file)[1].get("form") == "text"
        tensors = fitting(self._file, shapes(resources, text), described("nara", view))
        servers, switches = topology.servers, topology.switches
        self._duration = np.zeros(1)
        return Scoring(
            room=room,
            allowed=np.zeros(servers, np.bool_),
            feasible=self.masked,
            total=view.capacity.sum(axis=(0, 1)),
            duration=self._duration,
            seen=Observation(*(array[0] for array in shown(topology, resources, 1, text))),
            text=text,
            wires=wiring(topology),
            weights=joined(tensors, text),
            scratch=np.zeros((2, switches + servers, WIDTH), np.float32),
            logits=np.zeros(servers, np.float32),
        )

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        self._duration[0] = request.duration
        return super().decide(view, request)


@dataclass
class NaraTrainer(Proximal, Trainer):
    """PPO with the settings of the publication, and RLlib's defaults of its time where it gives none.

    `episodes` are played whole in every iteration: 16 of 32 requests are about the published 2,048 decisions.
    The network has the form of the publication's text (`binwright.agents.learned.nara`).
    """

    episodes: Count = 16
    discount: Share = 0.99
    mask: Literal["any", "feasible"] = "any"
    state = "policy", "optimiser", "kl_weight"

    def begin(self, training: World, validation: World, seed: int) -> None:
        torch, network = extra("torch"), extra("binwright.agents.learned.nara_network")
        self._seed, self._training = seed, training
        self._playing = training.episodes(self.episodes, feasible=self.mask == "feasible")
        view = self._playing.view
        self._look = Observer(self._playing, True)
        self._wires = Wiring(*map(torch.from_numpy, wiring(view.topology)))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(stream(seed, "train", "weights").integers(2**62)))
            self.policy = network.PolicyNetwork(len(view.resources))
        self.optimiser = torch.optim.Adam(self.policy.parameters(), lr=self.rate, fused=True)

    def iterate(self, iteration: int) -> dict[str, float]:
        rng = stream(self._seed, "train", iteration)
        for i in range(self.episodes):
            self._playing.reset(i, self._training.draw(TRAINING + int(rng.integers(2**40))))
        batch, metrics = self._play(rng)
        return metrics | self.improve(partial(self.policy, self._wires), self.optimiser, batch, rng)

    def _play(self, rng: np.random.Generator) -> tuple[Batch, dict[str, float]]:
        torch, episodes = extra("torch"), self._playing
        draws = torch.Generator().manual_seed(int(rng.integers(2**62)))
        steps: list[tuple[Any, ...]] = []
        rewards, active = [], []
        results = np.zeros(2)
        with torch.inference_mode():
            while not episodes.over.all():
                seen = [torch.from_numpy(part.copy()) for part in self._look()[:3]]
                mask = torch.from_numpy(episodes.state.mask.copy())
                logits, values = self.policy(self._wires, *seen)
                logits = masked(logits, mask)
                actions = torch.multinomial(torch.softmax(logits, 1), 1, generator=draws).squeeze(1)
                active.append(~episodes.over)
                episodes.step(actions.numpy())
                result = episodes.many.result * active[-1][:, None]
                rewards.append(result @ REWARDS)
                results += result.sum(axis=0)
                steps.append((*seen, actions, mask, logits, values))
        decided, earned = torch.from_numpy(np.array(active)), np.array(rewards)
        parts = (torch.stack(column)[decided] for column in zip(*steps, strict=True))
        *observed, actions, mask, logits, values = parts
        returns = torch.from_numpy(returns_of(earned, self.discount).astype(np.float32))[decided]
        advantages = returns - values
        advantages = (advantages - advantages.mean()) / advantages.std(correction=0).clamp(min=1e-4)
        batch = Batch(observed, actions, mask, logits, values, returns, advantages)
        metrics = {
            "acceptance": float(results[0] / results.sum()),
            "reward": float(earned.sum() / self.episodes),
            "decisions": float(decided.sum()),
        }
        return batch, metrics

    def validate(self, world: World, seeds: Sequence[int]) -> dict[str, float]:
        """Take the best choice every time, as in use: without torch."""
        episodes = world.episodes(len(seeds), feasible=self.mask == "feasible")
        look = Observer(episodes, True)
        for i, seed in enumerate(seeds):
            episodes.reset(i, world.draw(seed))
        results, topology = np.zeros(2), episodes.view.topology
        wires, weights = wiring(topology), joined(self.weights()[0], True)
        scratch = np.zeros((2, topology.switches + topology.servers, WIDTH), np.float32)
        logits = np.zeros((len(seeds), topology.servers), np.float32)
        while not episodes.over.all():
            going, (nodes, edges, cluster, _) = ~episodes.over, look()
            for i in np.flatnonzero(going).tolist():
                infer(wires, weights, True, nodes[i], edges[i], cluster[i], scratch, logits[i])
            episodes.step(np.where(episodes.state.mask, logits, -np.inf).argmax(axis=1))
            results += episodes.many.result[going].sum(axis=0)
        return {"acceptance": float(results[0] / results.sum())}

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        return arrays_of(self.policy.state_dict()), described("nara", self._playing.view, form="text")
