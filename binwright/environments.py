"""Gymnasium environments made from scenarios; importing this registers them.

gymnasium.make("binwright.environments:binwright/Fabric-v0", scenario="nara/table1")
gymnasium.make_vec("binwright.environments:binwright/Fabric-v0", 64, scenario="nara/table1")
gymnasium.make("binwright.environments:binwright/Numa-v0", scenario="quickstart", reward="delta")
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from binwright.simcore.extras import install

try:
    import gymnasium
except ImportError as error:
    raise ImportError(
        f"binwright.environments needs Gymnasium ({error}). {install('learned')}", name=error.name
    ) from error

from binwright.agents.environments.stepping import BatchEnv, BatchVector, FabricBatch, NumaBatch
from binwright.scenarios.build.world import build_learning
from binwright.scenarios.schema.load import loaded
from binwright.scenarios.schema.scenario import Scenario

BATCHES = {"Fabric": FabricBatch, "Numa": NumaBatch}
"""What plays the episodes of an environment, by its name."""


def env(scenario: str | Path | Scenario, overrides: Iterable[str] = (), *, name: str, **options: Any) -> BatchEnv:
    """Make an environment: `overrides` as `"workload.requests=32"`; options of `BatchEnv` and of what plays it."""
    return BatchEnv(BATCHES[name], build_learning(loaded(scenario, overrides)), **options)


def vector(
    scenario: str | Path | Scenario, overrides: Iterable[str] = (), num_envs: int = 1, *, name: str, **options: Any
) -> BatchVector:
    """Make many environments that are stepped together."""
    return BatchVector(BATCHES[name], build_learning(loaded(scenario, overrides)), num_envs, **options)


for name in BATCHES:
    gymnasium.register(
        f"binwright/{name}-v0",
        f"{__name__}:{env.__name__}",
        vector_entry_point=f"{__name__}:{vector.__name__}",
        kwargs={"name": name},
    )
