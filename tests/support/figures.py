"""Scenarios to draw, and a log of a training."""

from pathlib import Path

import numpy as np
import polars as pl

from tests.support.scenarios import random_requests

FLAVOURS = [{"cpu": 1, "mem": "2 GB", "weight": 6}, {"cpu": 4, "mem": "8 GB"}, {"cpu": 16, "mem": "32 GB"}]
GENERATED = random_requests(150, "20 s", FLAVOURS, {"lognormal": {"median": "30 min", "sigma": 1.5}})
SERVERS = {
    "name": "servers",
    "cluster": {
        "servers": 2, "nodes": 2, "node": {"cpu": 20, "mem": "45 GB"},
        "failures": {"scheduled": [{"at": "20 min", "server": 0, "repair_after": "5 min"}]},
    },
    "workload": GENERATED, "overflow": {"expand": {"by": 1, "limit": 5}},
    "agents": ["first-fit", "best-fit", {"best-fit": {"node": "loose"}}, "worst-fit"], "replications": 3,
    "record": ["samples", "requests"],
}  # fmt: skip
NETWORK = {
    "name": "network",
    "cluster": {"network": {"topology": "alpha"}, "node": {"cpu": 10, "mem": 10}},
    "workload": {"demand": "uniform", "requests": 60, "holding": 31, "bandwidth": [0.1, 1.0], "step": "1 s"},
    "pacing": {"step": "1 s", "await_room": True},
    "agents": ["random", "tetris", "nalb"],
    "replications": 5,
    "record": ["requests", "samples", "states", "times"],
}


def log(folder: Path, seed: int, metrics: tuple[str, ...] = ("acceptance", "loss"), steps: int = 5) -> Path:
    """Make a training's folder with a log in it."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    rows = {"step": np.arange(steps) * 10, "seconds": np.arange(steps) / 2, "seed": np.full(steps, seed)}
    parts = [
        pl.DataFrame(rows | {"split": [split] * steps} | {name: rng.random(steps) for name in metrics})
        for split in ("train", "validation")
    ]
    pl.concat(parts).write_parquet(folder / "log.parquet")
    return folder
