"""Binwright answers which allocator is better, by how much, and why.

import binwright as bw
results = bw.run("quickstart")
print(results.table())
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from binwright.packages import check

if TYPE_CHECKING:
    from agents.policy import Policy
    from agents.rules.cheapest_place import cheapest
    from agents.rules.scan import ScanAgent
    from agents.solver.backends.opencl_devices import opencl_devices
    from agents.solver.model.problem import Problem
    from analysis.compare.comparison import Comparison
    from analysis.measure.definition import metric
    from analysis.measure.finished_run import FinishedRun
    from analysis.results_api import Results
    from binwright.api import agent, agents, load, run, scenario, size, solve, train, why
    from binwright.checker import check_agent
    from binwright.reproduction.reproduce import reproduce
    from fabric.cluster import Cluster
    from fabric.devices import DeviceView
    from fabric.ledger import Ledger
    from scenarios.learn.tune import tune
    from scenarios.schema.scenario import Scenario
    from simcore.engine import Simulation
    from simcore.errors import BinwrightError, UserError
    from simcore.moves import Move, Mover, Running
    from simcore.play import play
    from simcore.predictor import Predictor
    from simcore.types import Agent, OnDevices, Placement, Refusal, Request, View, Workload

    __version__: str

_HOME = {
    "Agent": "simcore.types",
    "BinwrightError": "simcore.errors",
    "Cluster": "fabric.cluster",
    "Comparison": "analysis.compare.comparison",
    "DeviceView": "fabric.devices",
    "FinishedRun": "analysis.measure.finished_run",
    "Ledger": "fabric.ledger",
    "Move": "simcore.moves",
    "Mover": "simcore.moves",
    "OnDevices": "simcore.types",
    "Placement": "simcore.types",
    "Policy": "agents.policy",
    "Predictor": "simcore.predictor",
    "Problem": "agents.solver.model.problem",
    "Refusal": "simcore.types",
    "Request": "simcore.types",
    "Results": "analysis.results_api",
    "Running": "simcore.moves",
    "ScanAgent": "agents.rules.scan",
    "Scenario": "scenarios.schema.scenario",
    "Simulation": "simcore.engine",
    "UserError": "simcore.errors",
    "View": "simcore.types",
    "Workload": "simcore.types",
    "agent": "binwright.api",
    "agents": "binwright.api",
    "cheapest": "agents.rules.cheapest_place",
    "check_agent": "binwright.checker",
    "load": "binwright.api",
    "metric": "analysis.measure.definition",
    "opencl_devices": "agents.solver.backends.opencl_devices",
    "play": "simcore.play",
    "reproduce": "binwright.reproduction.reproduce",
    "run": "binwright.api",
    "scenario": "binwright.api",
    "size": "binwright.api",
    "solve": "binwright.api",
    "train": "binwright.api",
    "tune": "scenarios.learn.tune",
    "why": "binwright.api",
}

__all__ = [  # found on first use, so that importing binwright costs nothing
    "Agent",
    "BinwrightError",
    "Cluster",
    "Comparison",
    "DeviceView",
    "FinishedRun",
    "Ledger",
    "Move",
    "Mover",
    "OnDevices",
    "Placement",
    "Policy",
    "Predictor",
    "Problem",
    "Refusal",
    "Request",
    "Results",
    "Running",
    "ScanAgent",
    "Scenario",
    "Simulation",
    "UserError",
    "View",
    "Workload",
    "agent",
    "agents",
    "cheapest",
    "check_agent",
    "load",
    "metric",
    "opencl_devices",
    "play",
    "reproduce",
    "run",
    "scenario",
    "size",
    "solve",
    "train",
    "tune",
    "why",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # it takes a tenth of a second to import

        return version("binwright")
    if name not in _HOME:
        raise AttributeError(f"module 'binwright' has no attribute {name!r}")
    check()
    found = getattr(import_module(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
