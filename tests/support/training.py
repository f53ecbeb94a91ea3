"""Training of an agent for networks that takes moments."""

from pathlib import Path
from typing import Any

import polars as pl
import torch

from tests.support.networks import SMALL_FABRIC

TINY: dict[str, Any] = {
    "name": "tiny",
    "cluster": {"network": {"topology": {"fabric": SMALL_FABRIC}}, "node": {"cpu": 10, "mem": 10}},
    "workload": {"demand": "uniform", "requests": 12, "holding": 4},
    "pacing": {"step": 1, "await_room": True},
    "knowledge": {"lifetimes": "known"},
    "agents": ["random", "tetris"],
    "train": {
        "agent": {"nara": {"episodes": 3, "minibatch": 16, "epochs": 2}},
        "iterations": 4,
        "episodes": {"workload.requests": 6},
        "validation": {"every": 2, "episodes": 5},
    },
}
"""A scenario in which an agent for networks is trained in moments."""

OWN = """
import numpy as np
from binwright.agents.learned.loop import Trainer

class Falling(Trainer):
    state = "at",

    def __init__(
        self, rate: float = 0.1, steep: float = 1.0, loss: str = "huber", warm: tuple[float, ...] = ()
    ) -> None:
        self.rate, self.steep = rate, steep

    def begin(self, training, validation, seed) -> None:
        self.at = np.float64(1.0)

    def iterate(self, iteration):
        self.at -= self.rate * self.steep
        return {"at": self.at, "loss": 1 - self.at}

    def validate(self, world, seeds):
        return {"acceptance": self.at}

    def weights(self):
        return {"at": np.array([self.at])}, {}
"""
"""A trainer of one's own, of which an iteration takes no time."""


def falling(folder: Path) -> str:
    """Write that trainer to a file, and return the name by which scenarios know it."""
    (folder / "falling.py").write_text(OWN)
    return f"{folder}/falling.py:Falling"


def interrupted(at: int) -> Any:
    """Make a watch that interrupts the training after so many rows."""
    seen = []

    def watch(row: dict[str, Any]) -> None:
        seen.append(row)
        if len(seen) == at:
            raise KeyboardInterrupt

    return watch


def sound(folder: Path) -> tuple[Any, Any]:
    """Read what a training has come to, but for its times."""
    log = pl.read_parquet(folder / "log.parquet").drop("seconds", "cpu_seconds")
    return plain(torch.load(folder / "seed-0" / "state.pt")), log.to_dicts()


def plain(state: Any) -> Any:
    """Turn the tensors of a checkpoint into lists, which compare."""
    if isinstance(state, dict):
        return {key: plain(value) for key, value in state.items()}
    return state.tolist() if isinstance(state, torch.Tensor) else state
