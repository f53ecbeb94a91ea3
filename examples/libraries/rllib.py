"""PPO of RLlib learns in a scenario with masks, and runs as an agent beside others.

Run it with `python examples/libraries/rllib.py`; it needs `pip install '.[learned]' 'ray[rllib]'`.
"""

from pathlib import Path

import gymnasium
import numpy as np
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module import RLModule, RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

import binwright as bw

WEIGHTS, UPDATES = "results/rllib-weights", 20


def named(seen):
    """Says what is seen under the two names that RLlib's module with masks knows."""
    row = np.concatenate([seen["free"].ravel(), seen["request"]])
    return {"observations": row, "action_mask": seen["mask"].astype(np.float32)}


def environment(config):
    env = gymnasium.make("binwright.environments:binwright/Numa-v0", scenario="quickstart", reward="delta")
    like = named(env.observation_space.sample())
    spaces = {key: gymnasium.spaces.Box(0, 1, value.shape, np.float32) for key, value in like.items()}
    return gymnasium.wrappers.TransformObservation(env, named, gymnasium.spaces.Dict(spaces))


class RlLib(bw.Policy):
    """Answers as the weights of RLlib's PPO say."""

    reference = "Liang et al. 2018, arXiv:1712.09381"

    def __init__(self, path: str = WEIGHTS) -> None:
        self.module = RLModule.from_checkpoint(Path(path).absolute())

    def act(self, seen):
        row = {key: torch.as_tensor(value)[None] for key, value in named(seen).items()}
        with torch.no_grad():
            return int(self.module.forward_inference({"obs": row})["action_dist_inputs"].argmax())


def learn(updates):
    register_env("numa", environment)
    spec = RLModuleSpec(ActionMaskingTorchRLModule, model_config={"head_fcnet_hiddens": [64]})
    config = PPOConfig().environment("numa").rl_module(rl_module_spec=spec).debugging(seed=0)
    config.env_runners(num_env_runners=0).training(train_batch_size_per_learner=1024, num_epochs=4)
    algorithm = config.build_algo()
    for _ in range(updates):
        algorithm.train()
    return algorithm


if __name__ == "__main__":
    algorithm = learn(UPDATES)
    algorithm.get_module().save_to_path(Path(WEIGHTS).absolute())
    algorithm.stop()
    agents = f"agents=[random, best-fit, {{'{__file__}:RlLib': {{path: {WEIGHTS}}}}}]"
    print(bw.run("quickstart", agents, out="results/rllib", jobs=1).table())
