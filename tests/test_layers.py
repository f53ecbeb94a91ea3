"""The ladder: imports point down only, and who does not need a heavy library does not pay for it; where tests lie."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support import ROOT

TESTS = ROOT / "tests"
LADDER = ("simcore", "workloads fabric", "agents", "analysis", "scenarios", "binwright")
"""From the bottom; those of one rung do not know one another."""
RUNG = {name: rung for rung, names in enumerate(LADDER) for name in names.split()}
INSIDE = {
    "agents": (
        "rules nested_agent networked policy running waiting_jobs world", "availability", "environments formulas",
        "heuristics learned solver", "adaptive",
    ),
    "agents.heuristics": (
        "candidates lifetimes movers servers networks virtual orders multifactor", "random_fit",
        "feasible in_line two_stage",
    ),
    "agents.learned": ("common", "numa network", "cvd_rl hindsight nara padrl rl_scheduler sched_rl value_es vmr"),
    "agents.solver": (
        "model", "language", "checker", "specification", "backends", "search exact", "local", "solving packing",
        "online",
    ),
    "analysis": ("measure", "results", "compare", "figures", "report", "results_api"),
    "scenarios": ("schema", "build", "run", "batch", "learn size draft", "evaluation", "search"),
}  # fmt: skip
"""The parts of a package, written like the ladder: each imports only those before it."""
STRANGERS = ("agents.heuristics", "agents.learned", "agents.solver")
"""Never import one another."""
ONLY_IN = {
    "torch": ("agents.learned",),
    "gymnasium": ("agents.environments", "binwright.environments"),
    "pyopencl": ("agents.solver",),
    "lark": ("agents.solver.language.parse",),
    "matplotlib": ("analysis",),
    "numba": ("simcore.jit",),
    "simpy": ("simcore.clock",),
    "ray": ("scenarios.batch.on_ray", "binwright.service.on_ray"),
    "fastapi": ("binwright.service",),
    "starlette": ("binwright.service",),
    "prometheus_client": ("binwright.service",),
    "uvicorn": ("binwright.service",),
}
LATE = (
    "polars", "numba", "simpy", "scipy", "pydantic", "matplotlib", "torch", "pyopencl", "ray", "lark", "gymnasium",
    "fastapi", "starlette", "uvicorn", "prometheus_client",
)  # fmt: skip
"""What `binwright --help` must not pay for."""


def below(module: str, package: str) -> bool:
    """Is it the package, or in it?"""
    return module == package or module.startswith(f"{package}.")


def name_of(file: Path) -> str:
    """Turn a file of the repository into the name of its module."""
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the packages, and its file."""
    for package in RUNG:
        for file in sorted((ROOT / package).rglob("*.py")):
            yield name_of(file), file


@cache
def imports(source: str, module: str, is_package: bool) -> tuple[str, ...]:
    """Everything that a module imports, wherever it does so: `from a import b` counts as a.b."""
    return tuple(_imports(source, module, is_package))


def _imports(source: str, module: str, is_package: bool) -> Iterator[str]:
    here = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            base = [*base, *(node.module or "").split(".")]
            yield from (".".join(filter(None, [*base, alias.name])) for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("import_module", "__import__"):
                yield str(node.args[0].value)


def wrong(module: str, imported: str) -> str | None:
    """What is wrong with this import, if anything."""
    package, other = module.partition(".")[0], imported.partition(".")[0]
    if other in ("tests", "benchmarks"):
        return f"{module} imports {imported}, which is not installed"
    if other in RUNG and package != other and RUNG[other] >= RUNG[package]:
        return f"{module} imports {imported}, which is not below it"
    for one in STRANGERS:
        for another in STRANGERS:
            if one != another and below(module, one) and below(imported, another):
                return f"{module} imports {imported}: {one} does not know {another}"
    for whole, order in INSIDE.items():
        if below(module, whole) and module != whole and below(imported, whole):
            rungs = {name: rung for rung, names in enumerate(order) for name in names.split()}
            part, before = (name.removeprefix(f"{whole}.").partition(".")[0] for name in (module, imported))
            if part not in rungs:
                return f"INSIDE does not say where {part} is in {whole}"
            if before.isupper():  # a registry, of the package itself
                continue
            if part != before and rungs.get(before, len(order)) >= rungs[part]:
                return f"{module} imports {imported}, which is not before it in {whole}"
    if other in ONLY_IN and not any(below(module, place) for place in ONLY_IN[other]):
        return f"{module} imports {imported}, which only {' and '.join(ONLY_IN[other]) or 'nobody'} may"
    return None


def test_imports_point_down() -> None:
    found = list(modules())
    assert {module.partition(".")[0] for module, _ in found} == set(RUNG)
    faults = [
        fault
        for module, file in found
        for imported in imports(file.read_text(encoding="utf-8"), module, file.stem == "__init__")
        if (fault := wrong(module, imported))
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("simcore.engine", "from fabric.ledger import Ledger"),
        ("simcore.engine", "def f():\n    import agents"),
        ("workloads.traces.azure", "import fabric.servers"),
        ("workloads", "from ..fabric import ledger"),
        ("fabric.topology", "from workloads import TRACES"),
        ("agents.environments.mine", "from analysis import table"),
        ("agents.heuristics.mine", "from agents.solver import search"),
        ("agents.heuristics.mine", "from agents import learned"),
        ("agents.heuristics.mine", "from ..learned import policy"),
        ("agents.learned.common.ppo", "from agents.heuristics.servers.best_fit import BestFit"),
        ("analysis.compare.table", "import scenarios.build.plan as plan"),
        ("scenarios.batch.batch", "if TYPE_CHECKING:\n    from binwright import api"),
        ("scenarios.batch.batch", "importlib.import_module('binwright.cli')"),
        ("agents.heuristics.mine", "import torch.nn as nn"),
        ("agents.learned.common.ppo", "import pyopencl"),
        ("scenarios.batch.batch", "from matplotlib.figure import Figure"),
        ("scenarios.batch.batch", "import ray"),
        ("agents.heuristics.mine", "import numba"),
        ("fabric.ledger", "from tests.reference.engine import fits"),
    ],
)
def test_an_import_that_points_up_is_found(module: str, line: str) -> None:
    assert any(wrong(module, imported) for imported in imports(line, module, module in RUNG))


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("simcore.engine", "import simpy_like, numpy as np\nfrom simcore import clock\nfrom .clock import Clock"),
        ("agents.environments.mine", "from agents.rules import x\nimport workloads, fabric.ledger"),
        ("agents.learned.nara.mine", "import torch\nfrom ..common import ppo\nfrom agents import AGENTS"),
        ("analysis.figures", "from matplotlib import rc_context\nimport agents"),
        ("binwright.cli", "from scenarios.batch.batch import Batch\nimport rich"),
    ],
)
def test_an_import_that_points_down_is_fine(module: str, line: str) -> None:
    assert not [fault for imported in imports(line, module, module in RUNG) if (fault := wrong(module, imported))]


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("a.b.first.one", "from a.b.second.one import x"),
        ("a.b.first.one", "if TYPE_CHECKING:\n    from ..second import one"),
        ("a.b.second.one", "def f():\n    import a.b.beside"),
        ("a.b.last", "from a.b import x"),
        ("a.b.unknown", "from a.b.first import one"),
    ],
)
def test_an_import_within_a_package_that_points_up_is_found(
    module: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(INSIDE, "a.b", ("first", "second beside", "last"))
    monkeypatch.setitem(RUNG, "a", 0)
    assert any(wrong(module, imported) for imported in imports(line, module, False))
    for fine in ("import a.b.first.two", "from a.b.first import two", "from a.c import d"):
        assert not any(wrong("a.b.second.one", imported) for imported in imports(fine, module, False))
    assert not any(wrong("a.b", imported) for imported in imports("from a.b.last import x", "a.b", True))


def ring(sources: Mapping[str, tuple[str, bool]]) -> list[str]:
    """Find modules that import one another in a circle; of each its source, and whether it is a package's."""

    def module_of(imported: str) -> str:
        while imported and imported not in sources:
            imported = imported.rpartition(".")[0]
        return imported

    graph = {
        module: {module_of(imported) for imported in imports(source, module, is_package)} - {"", module}
        for module, (source, is_package) in sources.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("package", RUNG)
def test_no_modules_import_one_another_in_a_circle(package: str) -> None:
    sources = {
        module: (file.read_text(encoding="utf-8"), file.stem == "__init__")
        for module, file in modules()
        if below(module, package)
    }
    assert len(sources) > 1
    assert not ring(sources)


def test_a_circle_of_imports_is_found() -> None:
    sources = {"a": "", "a.b": "from a import c", "a.c": "def f():\n    from .d import x", "a.d": "import os, a"}
    assert not ring({module: (source, module == "a") for module, source in sources.items()})
    sources["a.d"] = "if TYPE_CHECKING:\n    from a.b import B"
    assert set(ring({module: (source, module == "a") for module, source in sources.items()})) == {"a.b", "a.c", "a.d"}


def test_no_test_imports_from_another() -> None:
    """What two of them need is in `tests.support` or `tests.reference`."""
    faults = [
        f"{name_of(file)} imports {imported}"
        for file in sorted(TESTS.rglob("*.py"))
        for imported in imports(file.read_text(encoding="utf-8"), name_of(file), file.stem == "__init__")
        if below(imported, "tests") and any(name.startswith("test_") for name in imported.split("."))
    ]
    assert not faults, "\n".join(faults)


def test_tests_lie_in_folders_named_like_packages() -> None:
    folders = {file.parent.relative_to(TESTS) for file in TESTS.rglob("*.py")}
    named = [folder for folder in folders if folder.parts and folder.parts[0] not in ("support", "reference")]
    faults = [f"tests/{folder} mirrors no package" for folder in named if not (ROOT / folder / "__init__.py").is_file()]
    assert len(named) > len(RUNG)
    assert not faults, "\n".join(sorted(faults))


@pytest.mark.parametrize(
    "what", ["import binwright", "import binwright.parser; binwright.parser.parser().format_help()"]
)
def test_starting_costs_nothing_heavy(what: str) -> None:
    script = f"{what}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "binwright" in loaded
    assert not set(LATE) & set(loaded)


HEURISTIC_RUN = """
import numpy as np
from agents import AGENTS
from fabric.cluster import Cluster
from fabric.ledger import Ledger
from simcore.engine import Simulation
from simcore.play import play
from simcore.types import Workload

capacity = np.full((1, 1, 1), 1)
simulation = Simulation(
    Workload(("cpu",), np.zeros(2), np.ones(2), np.ones((2, 1), np.int64), np.arange(2)),
    Ledger(Cluster(("cpu",), capacity, (9,), capacity[0])),
)
play(simulation, AGENTS.load("first-fit")())
assert simulation.record.outcome.tolist() == [1, 2]
import sys
print(*sys.modules)
"""


def test_a_heuristic_run_pays_only_for_the_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", HEURISTIC_RUN], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "numba" in loaded
    assert not {"torch", "pyopencl", "matplotlib", "ray", "polars", "pydantic", "scipy.linalg"} & set(loaded)
