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
    from fabric.peak_predictors import PeakPredictor
    from scenarios.evaluation.evaluator import Evaluation, Evaluator
    from scenarios.learn.tune import tune
    from scenarios.schema.scenario import Scenario
    from scenarios.search.search import search
    from simcore.engine import Simulation
    from simcore.errors import BinwrightError, UserError
    from simcore.moves import Move, Mover, Running
    from simcore.play import play
    from simcore.predictor import Predictor
    from simcore.types import Agent, OnDevices, Placement, Refusal, Request, View, Workload

    __version__: str

_HOME = {
    name: module
    for module, names in {
        "agents.policy": ("Policy",),
        "agents.rules.cheapest_place": ("cheapest",),
        "agents.rules.scan": ("ScanAgent",),
        "agents.solver.backends.opencl_devices": ("opencl_devices",),
        "agents.solver.model.problem": ("Problem",),
        "analysis.compare.comparison": ("Comparison",),
        "analysis.measure.definition": ("metric",),
        "analysis.measure.finished_run": ("FinishedRun",),
        "analysis.results_api": ("Results",),
        "binwright.api": ("agent", "agents", "load", "run", "scenario", "size", "solve", "train", "why"),
        "binwright.checker": ("check_agent",),
        "binwright.reproduction.reproduce": ("reproduce",),
        "fabric.cluster": ("Cluster",),
        "fabric.devices": ("DeviceView",),
        "fabric.ledger": ("Ledger",),
        "fabric.peak_predictors": ("PeakPredictor",),
        "scenarios.evaluation.evaluator": ("Evaluation", "Evaluator"),
        "scenarios.learn.tune": ("tune",),
        "scenarios.schema.scenario": ("Scenario",),
        "scenarios.search.search": ("search",),
        "simcore.engine": ("Simulation",),
        "simcore.errors": ("BinwrightError", "UserError"),
        "simcore.moves": ("Move", "Mover", "Running"),
        "simcore.play": ("play",),
        "simcore.predictor": ("Predictor",),
        "simcore.types": ("Agent", "OnDevices", "Placement", "Refusal", "Request", "View", "Workload"),
    }.items()
    for name in names
}
"""Where each name is: it is found on first use, so that importing binwright costs nothing."""

__all__ = [
    "Agent",
    "BinwrightError",
    "Cluster",
    "Comparison",
    "DeviceView",
    "Evaluation",
    "Evaluator",
    "FinishedRun",
    "Ledger",
    "Move",
    "Mover",
    "OnDevices",
    "PeakPredictor",
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
    "search",
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
