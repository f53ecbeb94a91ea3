"""Trains Nara by PPO on compiled episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from binwright.agents.environments.observation import Observer
from binwright.agents.learned.loop import TRAINING, Count, Finite, Share, Trainer, arrays_of
from binwright.agents.learned.nara import WIDTH, described, infer, joined, wiring
from binwright.agents.learned.ppo import Batch, Proximal, masked, returns_of, standardised
from binwright.agents.learned.weights import Tensors, extra
from binwright.agents.world import World
from binwright.simcore.rng import stream


@dataclass
class NaraTrainer(Proximal, Trainer):
    """PPO with the settings of the publication, and RLlib's defaults of its time where it gives none.

    `episodes` are played whole in every iteration: 16 of 32 requests are about the published 2,048 decisions.
    `placed`, `rejected` and `choice` reward a request that gets its place, one that does not, and a choice after which
    one still needs servers. `form` says how the network is read, as we do or as the publication's text, with first
    weights as its libraries draw them (`binwright.agents.learned.nara`).
    """

    episodes: Count = 16
    discount: Share = 0.99
    placed: Finite = 10.0
    rejected: Finite = -10.0
    choice: Finite = 0.0
    form: Literal["ours", "text"] = "ours"
    mask: Literal["any", "feasible"] = "any"
    state = "policy", "optimiser", "kl_weight"

    def begin(self, training: World, validation: World, seed: int) -> None:
        torch, network = extra("torch"), extra("binwright.agents.learned.nara_network")
        text = self._text = self.form == "text"
        self._seed, self._rewards = seed, np.array([self.placed, self.rejected])
        self._training = training
        self._playing = training.episodes(self.episodes, feasible=self.mask == "feasible")
        view = self._playing.view
        self._look = Observer(self._playing, text)
        self._graph = network.GraphTensors(view.topology)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(stream(seed, "train", "weights").integers(2**62)))
            policy = network.PolicyNetwork(len(view.resources), text)
            if text:
                network.drawn_as_in_keras(policy)
            self.policy = policy
        self.optimiser = torch.optim.Adam(self.policy.parameters(), lr=self.rate, fused=True)

    def iterate(self, iteration: int) -> dict[str, float]:
        rng = stream(self._seed, "train", iteration)
        for i in range(self.episodes):
            self._playing.reset(i, self._training.draw(TRAINING + int(rng.integers(2**40))))
        observed, batch, metrics = self._play(rng)

        def evaluate(rows: Any) -> Any:
            return self.policy(self._graph, *(part[rows] for part in observed))

        return metrics | self.improve(evaluate, self.optimiser, self.policy.parameters(), batch, rng)

    def _play(self, rng: np.random.Generator) -> tuple[list[Any], Any, dict[str, float]]:
        torch, episodes = extra("torch"), self._playing
        draws = torch.Generator().manual_seed(int(rng.integers(2**62)))
        steps: list[tuple[Any, ...]] = []
        rewards, active = [], []
        results = np.zeros(2)
        with torch.inference_mode():
            while not episodes.over.all():
                seen = [torch.from_numpy(part.copy()) for part in self._look()[:3]]
                mask = torch.from_numpy(episodes.state.mask.copy())
                logits, values = self.policy(self._graph, *seen)
                logits = masked(logits, mask)
                actions = torch.multinomial(torch.softmax(logits, 1), 1, generator=draws).squeeze(1)
                active.append(~episodes.over)
                episodes.step(actions.numpy())
                result = episodes.state.result * active[-1][:, None]
                going_on = active[-1] & ~result.any(axis=1)
                rewards.append(result @ self._rewards + self.choice * going_on)
                results += result.sum(axis=0)
                steps.append((*seen, actions, mask, logits, values))
        decided, earned = np.array(active), np.array(rewards)
        returns = np.zeros_like(earned)
        for i in range(self.episodes):
            last = int(decided[:, i].sum())
            returns[:last, i] = returns_of(earned[:last, i], self.discount)
        decisions = torch.from_numpy(decided)
        parts = [torch.stack(column)[decisions] for column in zip(*steps, strict=True)]
        nodes, edges, cluster, actions, mask, logits, values = parts
        wanted = torch.from_numpy(returns.astype(np.float32))[decisions]
        batch = Batch(actions, mask, logits, values, wanted, standardised(wanted - values))
        metrics = {
            "acceptance": float(results[0] / results.sum()),
            "reward": float(earned.sum() / self.episodes),
            "decisions": float(decided.sum()),
        }
        return [nodes, edges, cluster], batch, metrics

    def validate(self, world: World, seeds: Sequence[int]) -> dict[str, float]:
        """Take the best choice every time, as in use: without torch."""
        episodes = world.episodes(len(seeds), feasible=self.mask == "feasible")
        look = Observer(episodes, self._text)
        for i, seed in enumerate(seeds):
            episodes.reset(i, world.draw(seed))
        results, topology = np.zeros(2), episodes.view.topology
        wires, weights = wiring(topology), joined(self.weights()[0], self._text)
        scratch = np.zeros((2, topology.switches + topology.servers, WIDTH), np.float32)
        logits = np.zeros((len(seeds), topology.servers), np.float32)
        while not episodes.over.all():
            going, (nodes, edges, cluster, _) = ~episodes.over, look()
            for i in np.flatnonzero(going).tolist():
                infer(wires, weights, self._text, nodes[i], edges[i], cluster[i], scratch, logits[i])
            episodes.step(np.where(episodes.state.mask, logits, -np.inf).argmax(axis=1))
            results += episodes.state.result[going].sum(axis=0)
        state, total = episodes.state, episodes.rules.total
        used = (state.sums / state.many.state.answers / total).mean(axis=0)
        shares = {f"allocation_{name}": float(share) for name, share in zip(episodes.view.resources, used, strict=True)}
        return {"acceptance": float(results[0] / results.sum()), **shares}

    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        return arrays_of(self.policy.state_dict()), {**described(self._playing.view), "form": self.form}
