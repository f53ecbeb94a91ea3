"""MaskablePPO of sb3-contrib learns in a scenario, and runs as an agent beside others.

Run it with `python examples/libraries/sb3.py`; it needs `pip install '.[learned]' sb3-contrib`.
"""

import gymnasium
from sb3_contrib import MaskablePPO

import binwright as bw

WEIGHTS, STEPS = "results/sb3.zip", 5_000


class Sb3(bw.Policy):
    """Answers as the weights of MaskablePPO say."""

    reference = "Huang, Ontanon 2022, arXiv:2006.14171"

    def __init__(self, path: str = WEIGHTS) -> None:
        self.model = MaskablePPO.load(path, device="cpu")

    def act(self, seen):
        return self.model.predict(seen, action_masks=seen["mask"].astype(bool), deterministic=True)[0]


if __name__ == "__main__":
    env = gymnasium.make("binwright.environments:binwright/Numa-v0", scenario="quickstart", reward="delta")
    MaskablePPO("MultiInputPolicy", env, n_steps=512, seed=0, device="cpu").learn(STEPS).save(WEIGHTS)
    agents = f"agents=[random, best-fit, {{'{__file__}:Sb3': {{path: {WEIGHTS}}}}}]"
    print(bw.run("quickstart", agents, out="results/sb3", jobs=1).table())
