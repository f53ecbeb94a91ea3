"""A Gymnasium loop over a scenario: how far does each of three policies, written in a line, get?

Run it with `python examples/gymnasium/study.py`; it writes results/gymnasium.png.
"""

from pathlib import Path

import gymnasium
import matplotlib.pyplot as plt
import numpy as np

SCENARIO = Path(__file__).with_name("scenario.yaml")
EPISODES = 20


def emptiest(free):
    """Scores a place by what its node has free."""
    return free[:, :, 0].ravel()


def fullest(free):
    """Scores a place by what its server has not free."""
    return np.repeat(-free[:, :, 0].sum(axis=1), free.shape[1])


def anything(free):
    """Scores all places alike, by chance."""
    return CHANCE.random(free.shape[0] * free.shape[1])


CHANCE = np.random.default_rng(0)
env = gymnasium.make("binwright.environments:binwright/Numa-v0", scenario=SCENARIO, reward="delta")
gained = {}
for policy in (anything, emptiest, fullest):
    gained[policy.__name__] = []
    for episode in range(EPISODES):
        seen, info = env.reset(seed=episode)  # the scenario's requests of this seed
        total, over = 0.0, False
        while not over:
            scores = np.where(info["action_mask"], policy(seen["free"]), -np.inf)
            seen, reward, over, _, info = env.step(int(scores.argmax()))
            total += reward  # the share of the cluster's cores that the request takes
        gained[policy.__name__].append(total)

names = list(gained)
means = [np.mean(gained[name]) for name in names]
halves = [1.96 * np.std(gained[name], ddof=1) / EPISODES**0.5 for name in names]
figure, axes = plt.subplots(figsize=(4.5, 3), layout="constrained")
axes.bar(names, means, yerr=halves, capsize=4, color="#0072B2")
axes.set(ylabel="clusters' worth of cores placed", title=f"Return of three policies, {EPISODES} episodes, 95 %")
Path("results").mkdir(exist_ok=True)
figure.savefig("results/gymnasium.png", dpi=110)
print({name: f"{mean:.2f} ± {half:.2f}" for name, mean, half in zip(names, means, halves, strict=True)})
