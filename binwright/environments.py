"""Gymnasium environments made from scenarios; importing this registers them.

gymnasium.make("binwright.environments:binwright/Fabric-v0", scenario="nara/table1")
gymnasium.make_vec("binwright.environments:binwright/Fabric-v0", 64, scenario="nara/table1")
gymnasium.make("binwright.environments:binwright/Numa-v0", scenario="quickstart", reward="delta")
"""

from __future__ import annotations

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


def fabric(scenario: str | Path | Scenario, overrides: Iterable[str] = (), **options: Any) -> BatchEnv:
    """Make `binwright/Fabric-v0`: `overrides` as `"workload.requests=32"`; options of `BatchEnv`, `FabricBatch`."""
    return BatchEnv(FabricBatch, build_learning(loaded(scenario, overrides)), **options)


def fabric_vector(
    scenario: str | Path | Scenario, overrides: Iterable[str] = (), num_envs: int = 1, **options: Any
) -> BatchVector:
    """Make many `binwright/Fabric-v0` that are stepped together."""
    return BatchVector(FabricBatch, build_learning(loaded(scenario, overrides)), num_envs, **options)


def numa(scenario: str | Path | Scenario, overrides: Iterable[str] = (), **options: Any) -> BatchEnv:
    """Make `binwright/Numa-v0`: see `BatchEnv` and `NumaBatch` for the options."""
    return BatchEnv(NumaBatch, build_learning(loaded(scenario, overrides)), **options)


def numa_vector(
    scenario: str | Path | Scenario, overrides: Iterable[str] = (), num_envs: int = 1, **options: Any
) -> BatchVector:
    """Make many `binwright/Numa-v0` that are stepped together."""
    return BatchVector(NumaBatch, build_learning(loaded(scenario, overrides)), num_envs, **options)


gymnasium.register(
    "binwright/Fabric-v0", f"{__name__}:{fabric.__name__}", vector_entry_point=f"{__name__}:{fabric_vector.__name__}"
)
gymnasium.register(
    "binwright/Numa-v0", f"{__name__}:{numa.__name__}", vector_entry_point=f"{__name__}:{numa_vector.__name__}"
)
