"""What is counted for Wrasse without a simulation: lines, servers for machines that are all known, and speed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from binwright.reproduction.experiment import Key, Size
from binwright.reproduction.measures import averaged
from binwright.reproduction.published import Published, published
from binwright.reproduction.verdict import Value
from simcore.errors import UserError
from simcore.types import Floats

if TYPE_CHECKING:
    from agents.solver.backends.opencl_devices import Device
    from agents.solver.packing.pack import Packed
    from workloads.offline import Machines

SPECIFIED = "lines of specification"
LINES: dict[Key, str] = {
    ("problem=vm placement", "wrasse", SPECIFIED): "solver/examples/vm-placement.alloc",
    ("problem=secondnet", "wrasse", SPECIFIED): "solver/templates/secondnet.alloc",
    ("problem=oktopus", "wrasse", SPECIFIED): "solver/templates/oktopus.alloc",
    ("problem=secondnet and job scheduling", "wrasse", SPECIFIED): "solver/examples/secondnet-jobs.alloc",
    ("problem=vm placement", "ffd-prod", "lines of code"): "solver/packing/heuristics.py",
    ("problem=secondnet", "secondnet", "lines of code"): "heuristics/virtual/secondnet.py",
    ("problem=oktopus", "oktopus", "lines of code"): "heuristics/virtual/oktopus.py",
}
"""The file below `agents` for every published count."""
APPLICATIONS = ("pgrank", "clkbot", "imgproc")
HEURISTICS = {"ffd-prod": "ffd-prod", "dot-product": "dot-product", "nbg": "norm-greedy"}
SEARCHES = {"wrasse": "published", "solver": "solver"}
Z3 = "z3 partitioned"
SECONDS = {"full": 10.0, "quick": 1.0, "smallest": 0.05}
"""How long a search may take."""
Z3_SECONDS = {
    "full": {"pgrank": 31.0, "clkbot": 146.0, "imgproc": 140.0},  # as long as it took them
    "quick": {"pgrank": 8.0},
    "smallest": {"pgrank": 0.5},
}
SEEDS = {"full": 5, "quick": 2, "smallest": 1}
REPEATS = 5
"""How often a heuristic is timed."""
TIMES = "milliseconds, times those of ffd-prod"
"""The metric of derived rows: two times on the same machine."""
PGRANK = "application=pgrank"
RATE = "solutions checked per second"
CARD, CORES = "wrasse on a Tesla C2075", "wrasse on two CPU cores"
TOO_FEW = 87
"""Servers for pgrank, which needs 88: every attempt is made to its end."""


def array(values: Iterable[Any]) -> Floats:
    """Collect numbers, float64 [n]."""
    return np.array(list(values), dtype=np.float64)


# -- lines -------------------------------------------------------------------------------------------------------------


def lines(size: Size) -> Mapping[Key, Value]:
    """Count the lines of our specifications and programs that are neither empty nor comments."""
    found = {}
    for key, file in LINES.items():
        text = files("agents").joinpath(file).read_text("utf-8")
        count = sum(not line.lstrip().startswith("#") for line in text.splitlines() if line.strip())
        found[key] = Value(float(count), None, None, 1)
    return found


# -- packing -----------------------------------------------------------------------------------------------------------


def packing_derived() -> tuple[Published, ...]:
    """Derive what can be compared of Tables 4 and 5: times beside another on one machine, and our own search."""
    rows = [one for one in published("wrasse") if one.table in ("4", "5")]
    values = {(one.condition, one.agent, one.metric): one.value or 0.0 for one in rows}
    found = []
    for application in APPLICATIONS:
        condition = f"application={application}"
        servers = values[condition, "wrasse", "servers"]
        found.append(Published("wrasse", "4", condition, "solver", "servers", f"{servers:g}"))
        for agent in ("wrasse", Z3):
            ratio = values[condition, agent, "milliseconds"] / values[condition, "ffd-prod", "milliseconds"]
            found.append(Published("wrasse", "5", condition, agent, TIMES, f"{ratio:.4g}"))
    return tuple(found)


PACKING = frozenset(
    {
        (f"application={name}", agent, metric)
        for name in APPLICATIONS
        for agent in (*HEURISTICS, "wrasse", Z3)
        for metric in ("servers", "milliseconds")
    }
    | {(PGRANK, "lower bound", "servers")}
    | {(one.condition, one.agent, one.metric) for one in packing_derived()}
)


def packing(size: Size) -> Mapping[Key, Value | str]:
    """Pack the machines of every application by every method."""
    from workloads.offline import machines

    found: dict[Key, Value | str] = {}
    for name in APPLICATIONS:
        given, condition = machines(name), f"application={name}"
        answers = _packed(given, name, size)
        by_z3 = _by_z3(given, name, size)
        if isinstance(by_z3, str):
            found |= dict.fromkeys(((condition, Z3, metric) for metric in ("servers", "milliseconds", TIMES)), by_z3)
        else:
            answers[Z3] = [by_z3]
        for agent, packed in answers.items():
            if servers := [one.bins for one in packed if one.bins is not None]:
                count = servers[:1] if agent in HEURISTICS else servers
                found[condition, agent, "servers"] = averaged(array(count))
            if agent == "solver" or not servers:
                continue
            found[condition, agent, "milliseconds"] = averaged(_milliseconds(packed))
            if agent not in HEURISTICS:
                beside = _milliseconds(answers["ffd-prod"]).mean()
                found[condition, agent, TIMES] = averaged(_milliseconds(packed) / beside)
        if name == "pgrank":
            found[condition, "lower bound", "servers"] = Value(float(answers["wrasse"][0].bound), None, None, 1)
    return found


def _packed(given: Machines, name: str, size: Size) -> dict[str, list[Packed]]:
    """Pack one application's machines, by published agent and seed."""
    from agents.solver.packing.pack import pack

    found = {}
    for agent, method in (HEURISTICS | SEARCHES).items():
        pack(given.demand, given.capacity, method, seconds=0.01)  # so that it is compiled when it is timed
        seeds = range(REPEATS if agent in HEURISTICS else SEEDS[size])
        found[agent] = [pack(given.demand, given.capacity, method, seconds=SECONDS[size], seed=seed) for seed in seeds]
    return found


def _by_z3(given: Machines, name: str, size: Size) -> Packed | str:
    """Pack one application's machines by Z3 in parts, or say why there is no answer."""
    from agents.solver.packing.pack import pack
    from agents.solver.packing.rivals import module

    seconds = Z3_SECONDS[size].get(name)
    if seconds is None:
        return f"Z3 is left out with --quick: it has {Z3_SECONDS['full'][name]:g} s without."
    try:
        module("z3", "z3-parts")
    except UserError as error:
        return f"It cannot be run here: {error.problem}. {error.remedy}"
    packed = pack(given.demand, given.capacity, "z3-parts", seconds=seconds)
    return packed if packed.bins is not None else f"Z3 found no placement in its {seconds:g} s."


def _milliseconds(packed: Iterable[Packed]) -> Floats:
    """Read after how many milliseconds the answers were there, float64 [answers]."""
    return array(1000 * one.found for one in packed if one.found is not None)


# -- speed -------------------------------------------------------------------------------------------------------------


def speed(size: Size) -> Mapping[Key, Value | str]:
    """Count the attempts per second of the published search, on two threads and on a graphics card."""
    from agents.solver.search.find import find, prepare
    from agents.solver.search.packing import Packing
    from workloads.offline import machines

    given = machines("pgrank")
    packing = Packing.alike(given.demand, given.capacity, TOO_FEW)
    prepare("published")
    rates = []
    for seed in range(SEEDS[size]):
        seconds, checked = SECONDS[size] / 2, 0
        while not checked:  # on a busy machine no attempt may end in a short time
            began = monotonic()
            checked = find(packing, "published", seed=seed, until=began + seconds, workers=2).checked
            rate, seconds = checked / (monotonic() - began), 2 * seconds
        rates.append(rate)
    found: dict[Key, Value | str] = {(PGRANK, CORES, RATE): averaged(array(rates))}
    if card := graphics_card():
        rates = [_rate_on(card, given, seed, SECONDS[size] / 2) for seed in range(SEEDS[size])]
        found[PGRANK, CARD, RATE] = averaged(array(rates))
    else:
        found[PGRANK, CARD, RATE] = "OpenCL finds no graphics card on the machine that ran this."
    return found


def graphics_card() -> Device | None:
    """Find the first graphics card that OpenCL can use here."""
    from agents.solver.backends.opencl_devices import opencl_devices

    return next((one for one in opencl_devices() if one.kind == "GPU" and one.usable), None)


def _rate_on(device: Device, given: Machines, seed: int, seconds: float) -> float:
    """Count attempts per second on an OpenCL device, once it has made the first ones."""
    from agents.solver import problem
    from agents.solver.backends import opencl
    from agents.solver.model.program import MICRO

    kinds = len(given.resources)
    asked = problem(
        f"procedure UTILFN(BALL, BIN, ALLOC) for r in {kinds} UTIL.R[BIN, r] += D[BALL, r] end end",
        balls=len(given.demand),
        bins=TOO_FEW,
        resources={f"R[s in BINS, r in {kinds}]": 1},
        tables={"D": given.demand / MICRO},
    )
    attempts = opencl.attempts(asked, seed, 0, 1 << 40, devices=[device.number])
    checked = before = next(attempts).checked  # compiled
    start = began = monotonic()
    for found in attempts:
        checked, now = found.checked, monotonic()
        if now - start < seconds / 4:  # it begins with few attempts at a time
            before, began = checked, now
        elif now - start > seconds:
            break
    return (checked - before) / (monotonic() - began)
