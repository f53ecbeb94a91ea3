"""The solver as an agent, and servers for it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from binwright.agents import AGENTS
from binwright.simcore import rng
from binwright.simcore.types import QUANTUM, Agent, View
from tests.support import ROOT
from tests.support.views import view_of

TEMPLATES = ROOT / "binwright" / "agents" / "solver" / "templates"
"""The folder of the templates that are shipped."""


def started(view: View, seed: int = 0, **options: Any) -> Agent:
    """Start a solver with these options on a cluster."""
    agent: Agent = AGENTS.load("solver")(**options)
    agent.start(view, rng.stream(seed, "agent"))
    return agent


@contextmanager
def nothing_compiled() -> Iterator[None]:
    """Let no kernel be there until the end: plain Python is through small problems before."""
    over = threading.Event()
    with pytest.MonkeyPatch.context() as patch:
        for what in ("search.find.prepare", "backends.cpu.prepare", "solving.searches.prepare_goals"):
            patch.setattr(f"binwright.agents.solver.{what}", lambda *_: over.wait())
        yield
    over.set()


def servers(count: int = 6) -> View:
    """Build a view of servers of two nodes, which are in use by different amounts."""
    free = np.random.default_rng(3).integers(2, 10, (count, 2, 2)) * QUANTUM
    return view_of(free.tolist(), np.full((count, 2, 2), 10 * QUANTUM).tolist())
