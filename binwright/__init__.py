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
    from agents.solver.backends.opencl_devices import devices
    from analysis.compare.comparison import Comparison
    from analysis.measure.definition import metric
    from analysis.measure.finished_run import FinishedRun
    from analysis.results_api import Results
    from binwright.api import load, run, scenario, solve, train, why
    from binwright.checker import check_agent
    from binwright.reproduction.reproduce import reproduce
    from fabric.devices import DeviceView
    from scenarios.learn.tune import tune
    from scenarios.size.mixing import size_mix
    from scenarios.size.sizing import size, sizes
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
    "Comparison": "analysis.compare.comparison",
    "DeviceView": "fabric.devices",
    "FinishedRun": "analysis.measure.finished_run",
    "Move": "simcore.moves",
    "Mover": "simcore.moves",
    "OnDevices": "simcore.types",
    "Placement": "simcore.types",
    "Policy": "agents.policy",
    "Predictor": "simcore.predictor",
    "Refusal": "simcore.types",
    "Request": "simcore.types",
    "Results": "analysis.results_api",
    "Running": "simcore.moves",
    "ScanAgent": "agents.rules.scan",
    "Simulation": "simcore.engine",
    "UserError": "simcore.errors",
    "View": "simcore.types",
    "Workload": "simcore.types",
    "cheapest": "agents.rules.cheapest_place",
    "check_agent": "binwright.checker",
    "devices": "agents.solver.backends.opencl_devices",
    "load": "binwright.api",
    "metric": "analysis.measure.definition",
    "play": "simcore.play",
    "reproduce": "binwright.reproduction.reproduce",
    "run": "binwright.api",
    "scenario": "binwright.api",
    "size": "scenarios.size.sizing",
    "size_mix": "scenarios.size.mixing",
    "sizes": "scenarios.size.sizing",
    "solve": "binwright.api",
    "train": "binwright.api",
    "tune": "scenarios.learn.tune",
    "why": "binwright.api",
}

__all__ = [  # found on first use, so that importing binwright costs nothing
    "Agent",
    "BinwrightError",
    "Comparison",
    "DeviceView",
    "FinishedRun",
    "Move",
    "Mover",
    "OnDevices",
    "Placement",
    "Policy",
    "Predictor",
    "Refusal",
    "Request",
    "Results",
    "Running",
    "ScanAgent",
    "Simulation",
    "UserError",
    "View",
    "Workload",
    "cheapest",
    "check_agent",
    "devices",
    "load",
    "metric",
    "play",
    "reproduce",
    "run",
    "scenario",
    "size",
    "size_mix",
    "sizes",
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
