"""Trains vmr by PPO on snapshots of clusters in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator

from binwright.agents import AGENTS
from binwright.agents.learned.common.proximal import Proximal, averages, put_averages
from binwright.agents.learned.common.tensors import Tensors, extra
from binwright.agents.learned.common.trainer import TRAINING, Count, Positive, Share, Trainer
from binwright.agents.learned.vmr.agent import described, untrained
from binwright.agents.learned.vmr.episodes import Episodes, Seen
from binwright.agents.learned.vmr.form import Forward
from binwright.agents.learned.vmr.planning import follow
from binwright.agents.rules.moving import Standing, fragment_rate, standing
from binwright.agents.world import World
from binwright.simcore.engine import Simulation
from binwright.simcore.errors import UserError
from binwright.simcore.moves import Running
from binwright.simcore.play import play
from binwright.simcore.rng import stream
from binwright.simcore.types import QUANTUM, Floats, View

BEGIN = 0.5
"""Snapshots are taken after this share of a run's requests."""


def running_in(simulation: Simulation) -> Running:
    """List what runs in a simulation now."""
    rows = np.array(sorted(simulation.ledger.running), np.int64)
    record, workload = simulation.record, simulation.workload
    ends = record.decided[rows] + workload.expected[rows] - simulation.now
    return Running(
        rows,
        record.server[rows].astype(np.int64),
        record.node[rows].astype(np.int64),
        workload.demand[rows],
        np.maximum(ends, 0.0),
        simulation.request,
    )


def snapshots(world: World, seed: int, agent: str, count: int) -> Iterator[tuple[View, Running]]:
    """Yield the cluster at so many moments of a run, evenly spaced over its later part; valid until the next one."""
    simulation = world.simulation(seed)
    rows = len(simulation.workload)
    times = simulation.workload.arrival[np.linspace(BEGIN * rows, rows - 1, count).astype(np.int64)]
    filler = AGENTS.load(agent)()
    filler.start(simulation.view, stream(seed, "agent"))
    for time in times.tolist():
        play(simulation, filler, _until(simulation, time))
        yield simulation.view, running_in(simulation)


def _until(simulation: Simulation, time: float) -> Callable[[], int]:
    return lambda: int(simulation.now < time)


def standings(world: World, seed: int, agent: str, count: int) -> list[Standing]:
    """Copy what runs at so many moments of a run."""
    return [standing(view, running) for view, running in snapshots(world, seed, agent, count) if len(running.row)]


def _ascending(moves: tuple[int, int]) -> tuple[int, int]:
    if moves[0] > moves[1]:
        raise UserError("the fewest moves come first", remedy="Write fewest and most, such as [4, 16].")
    return moves


@dataclass
class VmrTrainer(Proximal, Trainer):
    """PPO with two choices per move; the reward is how many more usual requests of `size` units there is room for.

    A pool of `pool` seeds is played by each of `fillers`, and `snapshots` are taken of each run. In every iteration
    `episodes` of these are given a number of moves from the range `moves`. What is validated is by how much the rate of
    fragments falls, on average, with `limit` moves.
    """

    score = "fall"
    moves: Annotated[tuple[Count, Count], AfterValidator(_ascending)] = (4, 16)
    limit: Count = 50
    size: Positive = 16
    pool: Count = 40
    snapshots: Count = 4
    fillers: tuple[str, ...] = ("best-fit", "first-fit")
    episodes: Count = 64
    epochs: Count = 6
    rate: Positive = 1e-3
    discount: Share = 0.95
    clip: Positive = 0.2
    kl_target: Positive = 0.02

    def begin(self, training: World, validation: World, seed: int, device: str) -> None:
        """Take the snapshots and make the network."""
        self.begin_ppo()
        for world in (training, validation):
            check_world(world)
        torch, self._seed = self._torch, seed
        self._device, self._quanta = torch.device(device), round(self.size * QUANTUM)
        self._validation, self._held_out = validation, dict[int, list[Standing]]()
        seeds = TRAINING + stream(seed, "train", "episodes").integers(2**40, size=self.pool)
        self._pool = [
            one
            for each in seeds.tolist()
            for filler in self.fillers
            for one in standings(training, each, filler, self.snapshots)
        ]
        if not self._pool:
            raise UserError("nothing runs in any snapshot", key="train.episodes", remedy="Give more requests.")
        self._policy = extra("binwright.agents.learned.vmr.network").Policy().to(self._device)
        self._policy.put(untrained(seed))
        self._optimiser = torch.optim.Adam(self._policy.parameters(), lr=self.rate)

    def iterate(self, iteration: int) -> dict[str, float]:
        """Play some episodes and learn from them."""
        rng = stream(self._seed, "train", iteration)
        chosen = rng.integers(len(self._pool), size=self.episodes)
        moves = rng.integers(self.moves[0], self.moves[1] + 1, size=self.episodes)
        playing = Episodes([self._pool[i] for i in chosen.tolist()], moves, self._quanta)
        steps, metrics = self._play(playing, rng)
        batch, evaluate = self._batch(steps, playing)
        return metrics | self.improve(evaluate, self._optimiser, self._policy.parameters(), batch, rng)

    def _play(self, playing: Episodes, rng: np.random.Generator) -> tuple[list[_Step], dict[str, float]]:
        torch, library, policy = self._torch, self._library, self._policy
        draws = torch.Generator(self._device).manual_seed(int(rng.integers(2**62)))
        steps: list[_Step] = []
        with torch.inference_mode():
            while (seen := playing.look()) is not None:
                tensors = self._tensors(seen)
                node, request, pooled, values = policy.see(*tensors[:3])
                first = library.masked(policy.which(node, request, pooled, tensors[3]), tensors[4])
                which = torch.multinomial(torch.softmax(first, 1), 1, generator=draws).squeeze(1)
                places, fitting = playing.look_there(which.cpu().numpy())
                there = torch.from_numpy(places).to(self._device), torch.from_numpy(fitting).to(self._device)
                second = library.masked(policy.where(node, request, there[0], which), there[1])
                where = torch.multinomial(torch.softmax(second, 1), 1, generator=draws).squeeze(1)
                rewards = playing.move(which.cpu().numpy(), where.cpu().numpy())
                steps.append(_Step(seen.number, rewards, tensors, there, which, where, first, second, values))
        total = sum(float(step.rewards.sum()) for step in steps)
        moves = sum(len(step.rewards) for step in steps)
        return steps, {"gain": total / self.episodes, "gain_per_move": total / max(moves, 1)}

    def _tensors(self, seen: Seen) -> list[Any]:
        parts = seen.nodes, seen.requests, seen.there, seen.place, seen.movable
        return [self._torch.from_numpy(part).to(self._device) for part in parts]

    def _batch(self, steps: list[_Step], playing: Episodes) -> tuple[Any, Any]:
        """Return all choices as one batch, those of requests before those of places, and how to judge them again."""
        torch, library, policy = self._torch, self._library, self._policy
        returns = torch.from_numpy(self._returns(steps)).float().to(self._device)
        values = torch.cat([step.values for step in steps])
        nodes, requests, present, place, movable = (
            torch.cat(parts) for parts in zip(*(s.seen for s in steps), strict=True)
        )
        places, fitting = (torch.cat(parts) for parts in zip(*(step.there for step in steps), strict=True))
        which, where = torch.cat([step.which for step in steps]), torch.cat([step.where for step in steps])
        count, wide = len(which), max(requests.shape[1], nodes.shape[1])

        def padded(part: Any, value: Any) -> Any:
            return torch.nn.functional.pad(part, (0, wide - part.shape[1]), value=value)

        def evaluate(rows: Any) -> tuple[Any, Any]:
            first, second = rows[rows < count], rows[rows >= count] - count
            both = torch.cat([first, second])
            node, request, pooled, value = policy.see(nodes[both], requests[both], present[both])
            k = len(first)
            logits = node.new_empty((len(rows), wide))
            found = node.new_empty(len(rows))
            logits[rows < count] = padded(policy.which(node[:k], request[:k], pooled[:k], place[first]), 0.0)
            logits[rows >= count] = padded(policy.where(node[k:], request[k:], places[second], which[second]), 0.0)
            found[rows < count], found[rows >= count] = value[:k], value[k:]
            return logits, found

        forbidden = library.FORBIDDEN
        olds = [torch.cat([step.first for step in steps]), torch.cat([step.second for step in steps])]
        batch = library.Batch(
            actions=torch.cat([which, where]),
            mask=torch.cat([padded(movable, False), padded(fitting, False)]),
            old_logits=torch.cat([padded(old, forbidden) for old in olds]),
            values=values.repeat(2),
            returns=returns.repeat(2),
            advantages=library.standardised(returns - values).repeat(2),
        )
        return batch, evaluate

    def _returns(self, steps: list[_Step]) -> Floats:
        """Return the discounted rewards from every move on, of the moves of all steps in order."""
        following, found = np.zeros(self.episodes), []
        for step in reversed(steps):
            following[step.number] = step.rewards + self.discount * following[step.number]
            found.append(following[step.number])
        return np.concatenate(found[::-1])

    def validate(self, seeds: Sequence[int]) -> dict[str, float]:
        """Return by how much the rate of fragments falls, and what it is before and after."""
        forward = Forward(self._policy.tensors())
        before, after, made = [], [], []
        for seed in seeds:
            if seed not in self._held_out:
                self._held_out[seed] = standings(self._validation, seed, self.fillers[0], 1)
            for one in self._held_out[seed]:
                now = Standing(*(part.copy() for part in one))
                plan = follow(forward, now, self._quanta, self.limit, None)
                before.append(fragment_rate(one.free, self._quanta))
                after.append(fragment_rate(now.free, self._quanta))
                made.append(len(plan))
        rates = {"before": float(np.mean(before)), "after": float(np.mean(after))}
        return {"fall": rates["before"] - rates["after"], **rates, "moves": float(np.mean(made))}

    def save(self) -> tuple[Tensors, dict[str, Any]]:
        """Return the weights and where the optimiser is."""
        return {**self._policy.tensors(), **averages(self._optimiser)}, {"kl_weight": self._kl_weight}

    def load(self, tensors: Tensors, notes: dict[str, Any]) -> None:
        """Put back what `save` returned."""
        self._kl_weight = notes["kl_weight"]
        names = self._policy.tensors()
        self._policy.put({name: tensors[name] for name in names})
        put_averages(self._optimiser, tensors)

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        """Return the network's weights."""
        return self._policy.tensors(), {**described(), "size": self.size}


@dataclass(frozen=True, slots=True)
class _Step:
    """Holds one move of the episodes `number` that still go on."""

    number: Any
    rewards: Floats
    seen: list[Any]
    there: tuple[Any, Any]
    which: Any
    where: Any
    first: Any
    second: Any
    values: Any


def check_world(world: World) -> None:
    """Refuse what vmr is not for."""
    if world.networked or world.devices:
        key = "cluster.network" if world.networked else "cluster.devices"
        remedy = "Take a cluster of servers with NUMA nodes."
        raise UserError("vmr moves requests between servers, without links or devices", key=key, remedy=remedy)
    if world.ruled:
        remedy = "Take labels, taints and rules out of the scenario to learn in."
        raise UserError("vmr does not look at rules of placement", key="placement", remedy=remedy)
