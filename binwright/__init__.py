"""Binwright answers which allocator is better, by how much, and why.

import binwright as bw
results = bw.run("quickstart")
print(results.table())
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from binwright.agents.policy import Policy
    from binwright.agents.rules.cheapest_place import cheapest
    from binwright.agents.rules.scan import ScanAgent
    from binwright.agents.solver.backends.opencl_devices import opencl_devices
    from binwright.agents.solver.model.problem import Problem
    from binwright.analysis.compare.comparison import Comparison
    from binwright.analysis.measure.definition import metric
    from binwright.analysis.measure.finished_run import FinishedRun
    from binwright.analysis.results_api import Results
    from binwright.api import agent, list_agents, load, run, scenario, size, solve, train, why
    from binwright.checker import check_agent
    from binwright.fabric.cluster import Cluster
    from binwright.fabric.devices import DeviceView
    from binwright.fabric.ledger import Ledger
    from binwright.fabric.peak_predictors import PeakPredictor
    from binwright.fabric.run.play import play
    from binwright.fabric.run.simulation import Simulation
    from binwright.reproduction.reproduce import reproduce
    from binwright.scenarios.evaluation.evaluator import Evaluation, Evaluator
    from binwright.scenarios.learn.tune import tune
    from binwright.scenarios.schema.scenario import Scenario
    from binwright.scenarios.search.search import search
    from binwright.simcore.errors import BinwrightError, UserError
    from binwright.simcore.moves import Move, Mover, Running
    from binwright.simcore.predictor import Predictor
    from binwright.simcore.types import Agent, OnDevices, Placement, Refusal, Request, View, Workload

    __version__: str

_HOME = {
    name: module
    for module, names in {
        "binwright.agents.policy": ("Policy",),
        "binwright.agents.rules.cheapest_place": ("cheapest",),
        "binwright.agents.rules.scan": ("ScanAgent",),
        "binwright.agents.solver.backends.opencl_devices": ("opencl_devices",),
        "binwright.agents.solver.model.problem": ("Problem",),
        "binwright.analysis.compare.comparison": ("Comparison",),
        "binwright.analysis.measure.definition": ("metric",),
        "binwright.analysis.measure.finished_run": ("FinishedRun",),
        "binwright.analysis.results_api": ("Results",),
        "binwright.api": ("agent", "list_agents", "load", "run", "scenario", "size", "solve", "train", "why"),
        "binwright.checker": ("check_agent",),
        "binwright.reproduction.reproduce": ("reproduce",),
        "binwright.fabric.cluster": ("Cluster",),
        "binwright.fabric.devices": ("DeviceView",),
        "binwright.fabric.ledger": ("Ledger",),
        "binwright.fabric.peak_predictors": ("PeakPredictor",),
        "binwright.scenarios.evaluation.evaluator": ("Evaluation", "Evaluator"),
        "binwright.scenarios.learn.tune": ("tune",),
        "binwright.scenarios.schema.scenario": ("Scenario",),
        "binwright.scenarios.search.search": ("search",),
        "binwright.fabric.run.simulation": ("Simulation",),
        "binwright.simcore.errors": ("BinwrightError", "UserError"),
        "binwright.simcore.moves": ("Move", "Mover", "Running"),
        "binwright.fabric.run.play": ("play",),
        "binwright.simcore.predictor": ("Predictor",),
        "binwright.simcore.types": ("Agent", "OnDevices", "Placement", "Refusal", "Request", "View", "Workload"),
    }.items()
    for name in names
}
"""Where each name is: it is found on first use, so that importing binwright costs nothing."""

__all__ = [
    "Agent", "BinwrightError", "Cluster", "Comparison", "DeviceView", "Evaluation", "Evaluator", "FinishedRun",
    "Ledger", "Move", "Mover", "OnDevices", "PeakPredictor", "Placement", "Policy", "Predictor", "Problem",
    "Refusal", "Request", "Results", "Running", "ScanAgent", "Scenario", "Simulation", "UserError", "View",
    "Workload", "agent", "cheapest", "check_agent", "list_agents", "load", "metric", "opencl_devices", "play",
    "reproduce", "run", "scenario", "search", "size", "solve", "train", "tune", "why",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # it takes a tenth of a second to import

        return version("binwright")
    if name not in _HOME:
        raise AttributeError(f"module 'binwright' has no attribute {name!r}")
    found = getattr(import_module(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
