"""Binwright answers which allocator is better, by how much, and why.

import binwright as bw
results = bw.run("quickstart")
print(results.table())
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from binwright.agents.policy import Policy
    from binwright.agents.rules.cheapest_place import cheapest
    from binwright.agents.rules.scan import ScanAgent
    from binwright.agents.solver.backends.opencl import opencl_devices
    from binwright.agents.solver.model.problem import Problem
    from binwright.analysis.compare.comparison import Comparison
    from binwright.analysis.measure.definition import metric
    from binwright.analysis.measure.finished_run import FinishedRun
    from binwright.analysis.results_api import Results
    from binwright.api import agent, list_agents, load, run, scenario, solve, train, why
    from binwright.checker import check_agent
    from binwright.fabric.cluster import Cluster
    from binwright.fabric.devices import DeviceView
    from binwright.fabric.ledger import Ledger
    from binwright.fabric.run.play import play
    from binwright.fabric.run.simulation import Simulation
    from binwright.reproduction.reproduce import reproduce
    from binwright.scenarios.evaluation.evaluator import Evaluation, Evaluator
    from binwright.scenarios.learn.tune import tune
    from binwright.scenarios.schema.scenario import Scenario
    from binwright.scenarios.search.search import search
    from binwright.scenarios.size.sizing import size
    from binwright.simcore.errors import BinwrightError, UserError
    from binwright.simcore.moves import Move, Mover, Running
    from binwright.simcore.types import Agent, OnDevices, Placement, Refusal, Request, View
    from binwright.simcore.workload import Workload
    from binwright.workloads.predictors import Predictor

    __version__: str

__all__ = [
    "Agent", "BinwrightError", "Cluster", "Comparison", "DeviceView", "Evaluation", "Evaluator", "FinishedRun",
    "Ledger", "Move", "Mover", "OnDevices", "Placement", "Policy", "Predictor", "Problem",
    "Refusal", "Request", "Results", "Running", "ScanAgent", "Scenario", "Simulation", "UserError", "View",
    "Workload", "agent", "cheapest", "check_agent", "list_agents", "load", "metric", "opencl_devices", "play",
    "reproduce", "run", "scenario", "search", "size", "solve", "train", "tune", "why",
]  # fmt: skip


@cache
def _homes() -> dict[str, str]:
    """Read above where each name is: it is imported on first use, so that importing binwright costs nothing."""
    lines = re.findall(r"^    from (\S+) import (.+)$", Path(__file__).read_text("utf-8"), re.MULTILINE)
    return {name: module for module, names in lines for name in names.split(", ")}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # it takes a tenth of a second to import

        return version("binwright")
    if name not in __all__:
        raise AttributeError(f"module 'binwright' has no attribute {name!r}")
    result = getattr(import_module(_homes()[name]), name)
    globals()[name] = result
    return result


def __dir__() -> list[str]:
    return __all__
