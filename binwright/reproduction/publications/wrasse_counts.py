"""What is counted for Wrasse without a simulation: lines, and servers for machines that are all known at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

import numpy as np

from binwright.reproduction.experiment import Key, Size
from binwright.reproduction.measures import averaged
from binwright.reproduction.verdict import Value
from simcore.vocabulary import Floats

LINES: dict[Key, str] = {
    ("problem=vm placement", "wrasse", "lines of specification"): "solver/examples/vm-placement.alloc",
    ("problem=secondnet", "wrasse", "lines of specification"): "solver/templates/secondnet.alloc",
    ("problem=oktopus", "wrasse", "lines of specification"): "solver/templates/oktopus.alloc",
    ("problem=vm placement", "ffd-prod", "lines of code"): "solver/packing/heuristics.py",
    ("problem=secondnet", "secondnet", "lines of code"): "heuristics/virtual/secondnet.py",
    ("problem=oktopus", "oktopus", "lines of code"): "heuristics/virtual/oktopus.py",
}
"""The file below `agents` for every published count."""
APPLICATIONS = ("pgrank", "clkbot", "imgproc")
METHODS = {"ffd-prod": "ffd-prod", "dot-product": "dot-product", "nbg": "norm-greedy", "wrasse": "published"}
RATE: Key = ("application=pgrank", "wrasse on two CPU cores", "solutions checked per second")
PACKING = frozenset(
    {
        (f"application={name}", agent, of)
        for name in APPLICATIONS
        for agent in METHODS
        for of in ("servers", "milliseconds")
    }
    | {("application=pgrank", "lower bound", "servers"), RATE}
)
SECONDS = {"full": 10.0, "quick": 1.0, "smallest": 0.05}
"""How long the published search may take."""
SEEDS = {"full": 5, "quick": 2, "smallest": 1}


def array(values: Iterable[Any]) -> Floats:
    """Collect numbers, float64 [n]."""
    return np.array(list(values), dtype=np.float64)


def lines(size: Size) -> Mapping[Key, Value]:
    """Count the lines of our specifications and programs that are neither empty nor comments."""
    found = {}
    for key, file in LINES.items():
        text = files("agents").joinpath(file).read_text("utf-8")
        count = sum(not line.lstrip().startswith("#") for line in text.splitlines() if line.strip())
        found[key] = Value(float(count), None, None, 1)
    return found


def packing(size: Size) -> Mapping[Key, Value]:
    """Pack the machines of every application by every method."""
    from agents.solver.packing.pack import HEURISTICS, pack
    from workloads.offline import machines

    found: dict[Key, Value] = {}
    for name in APPLICATIONS:
        given, condition = machines(name), f"application={name}"
        for agent, method in METHODS.items():
            pack(given.demand, given.capacity, method, seconds=0.01)  # so that it is compiled when it is timed
            seeds = range(1 if method in HEURISTICS else SEEDS[size])
            packed = [pack(given.demand, given.capacity, method, seconds=SECONDS[size], seed=seed) for seed in seeds]
            if servers := [one.bins for one in packed if one.bins is not None]:
                found[condition, agent, "servers"] = averaged(array(servers))
            found[condition, agent, "milliseconds"] = averaged(array(1000 * one.seconds for one in packed))
            if name == "pgrank" and agent == "wrasse":
                found[condition, "lower bound", "servers"] = Value(float(packed[0].bound), None, None, 1)
                found[RATE] = averaged(array(one.checked / one.seconds for one in packed))
    return found
