"""A small scenario whose parts can be exchanged, and what its runs leave behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any

import pytest

from binwright.scenarios.run import progress
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario


def asked(form: dict[str, Any], agent: Any = "best-fit") -> Scenario:
    """Make the scenario with other values, by dotted key."""
    data: dict[str, Any] = {
        "name": "long",
        "cluster": {"servers": 3, "nodes": 2, "node": {"cpu": 8, "mem": 16}, "spread_above": {"mem": 8}},
        "workload": {
            "requests": 150,
            "arrivals": {"poisson": {"every": 5}},
            "flavours": [{"cpu": 1, "mem": 2}, {"cpu": 3, "mem": 5}, {"cpu": 4, "mem": 12}],
            "lifetimes": {"exponential": {"mean": 60}},
        },
        "overflow": "drop",
        "agents": [agent],
        "record": ["requests", "samples"],
    }
    for key, value in form.items():
        *above, last = key.split(".")
        place = data
        for name in above:
            place = place[name]
        place[last] = value
    return scenario_from(data)


def contents(folder: Path) -> dict[str, bytes]:
    """Read all details of some results, by file name."""
    return {file.name: file.read_bytes() for file in sorted((folder / "details").iterdir())}


@contextmanager
def kept_often() -> Iterator[None]:
    """Keep runs at every look, and look after every decision; nobody waits for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("KEPT_EVERY", 0.0), ("TOLD_EVERY", 0.0), ("SHARE", inf), ("SHORT", -1.0)):
            patch.setattr(progress, name, value)
        patch.setattr(os, "fsync", lambda number: None)
        yield
