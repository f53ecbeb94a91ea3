"""PPO in one file, as CleanRL has it, learns in a scenario with masks, and runs as an agent beside others.

Run it with `python examples/libraries/cleanrl.py`; it needs `pip install '.[learned]'`. After CleanRL's ppo.py
(Huang et al. 2022, JMLR 23), with what the mask forbids left out of the distribution.
"""

from pathlib import Path

import gymnasium
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

import binwright as bw

WEIGHTS, UPDATES = "results/cleanrl.pt", 40
ENVS, STEPS, EPOCHS, BATCH = 16, 64, 4, 256
GAMMA, LAMBDA, CLIP, ENTROPY = 0.99, 0.95, 0.2, 0.01


class Net(nn.Module):
    """The logits of all places, and the value."""

    def __init__(self, size, actions):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(size, 64), nn.Tanh(), nn.Linear(64, actions))
        self.critic = nn.Sequential(nn.Linear(size, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, seen, mask):
        logits = torch.where(mask, self.actor(seen), torch.tensor(-1e8))
        return Categorical(logits=logits), self.critic(seen).squeeze(-1)


def flat(seen):
    """Lays what is seen out in one row per environment."""
    many = seen["mask"].shape[0]
    row = np.concatenate([seen["free"].reshape(many, -1), seen["request"]], axis=1)
    mask = seen["mask"].astype(bool) | ~seen["mask"].any(axis=1, keepdims=True)  # an episode that is over has none
    return torch.as_tensor(row), torch.as_tensor(mask)


class CleanRl(bw.Policy):
    """Answers as the weights say."""

    reference = "Huang et al. 2022, JMLR 23"

    def __init__(self, path: str = WEIGHTS) -> None:
        state = torch.load(path, weights_only=True)
        self.net = Net(state["actor.0.weight"].shape[1], state["actor.2.weight"].shape[0])
        self.net.load_state_dict(state)

    def act(self, seen):
        with torch.no_grad():
            return int(self.net(*flat({key: value[None] for key, value in seen.items()}))[0].logits.argmax())


def learn(updates):
    torch.manual_seed(0)
    envs = gymnasium.make_vec("binwright.environments:binwright/Numa-v0", ENVS, scenario="quickstart", reward="delta")
    seen, mask = flat(envs.reset(seed=0)[0])
    net = Net(seen.shape[1], mask.shape[1])
    adam = torch.optim.Adam(net.parameters(), 1e-3)
    over = torch.zeros(ENVS)
    for _ in range(updates):
        transitions = []
        with torch.no_grad():
            for _ in range(STEPS):
                policy, value = net(seen, mask)
                action = policy.sample()
                after, reward, ended, _, _ = envs.step(action.numpy())
                transitions.append((seen, mask, action, policy.log_prob(action), value, torch.as_tensor(reward), over))
                (seen, mask), over = flat(after), torch.as_tensor(ended).float()
            rows, masks, actions, logs, values, rewards, overs = map(torch.stack, zip(*transitions, strict=True))
            gains, gain, later, left = torch.zeros(STEPS, ENVS), 0.0, net(seen, mask)[1], 1 - over
            for t in reversed(range(STEPS)):
                gain = rewards[t] + GAMMA * left * later - values[t] + GAMMA * LAMBDA * left * gain
                gains[t], later, left = gain, values[t], 1 - overs[t]
            returns = gains + values
        used = (1 - overs).flatten() > 0  # the step after an end only begins anew
        data = [each.flatten(0, 1)[used] for each in (rows, masks, actions, logs, gains, returns)]
        for _ in range(EPOCHS):
            for some in torch.randperm(len(data[0])).split(BATCH):
                x, m, a, old, gained, wanted = (each[some] for each in data)
                policy, value = net(x, m)
                ratio = (policy.log_prob(a) - old).exp()
                gained = ((gained - gained.mean()) / (gained.std() + 1e-8)).float()
                loss = -torch.min(ratio * gained, ratio.clamp(1 - CLIP, 1 + CLIP) * gained).mean()
                loss = loss + 0.5 * (value - wanted.float()).pow(2).mean() - ENTROPY * policy.entropy().mean()
                adam.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 0.5)
                adam.step()
    return net


if __name__ == "__main__":
    Path("results").mkdir(exist_ok=True)
    torch.save(learn(UPDATES).state_dict(), WEIGHTS)
    agents = f"agents=[random, best-fit, {{'{__file__}:CleanRl': {{path: {WEIGHTS}}}}}]"
    print(bw.run("quickstart", agents, out="results/cleanrl", jobs=1).table())
