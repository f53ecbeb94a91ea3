"""The ladder: imports point down only, and who does not need a heavy library does not pay for it."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import ROOT

LADDERS = {
    "": ("simcore", "workloads fabric", "agents", "analysis", "scenarios"),
    "agents": (
        "rules", "policy world", "availability", "environments formulas",
        "heuristics", "learned solver",
    ),
    "agents.heuristics": (
        "devices lifetimes servers networks orders", "movers random_fit virtual", "in_line",
    ),
    "agents.learned": (
        "weights mlp", "loop", "ppo numa", "value replay", "dqn_update", "dqn",
        "cvd_rl hindsight nara padrl sched_rl", "nara_network",
    ),
    "agents.solver": (
        "model", "language", "specification", "backends", "local", "solving",
        "packing online",
    ),
    "analysis": ("measure", "results", "compare", "figures", "report", "results_api"),
    "scenarios": (
        "agent_spec", "features", "schema", "build", "run", "batch", "learn size draft", "evaluation", "search",
    ),
}  # fmt: skip
"""Of a package its parts from the bottom. They import from below only; those of one string do not know one another."""
ONLY_IN = {
    "torch": "agents.learned", "gymnasium": "agents.environments environments", "pyopencl": "agents.solver",
    "lark": "agents.solver.language.syntax", "ortools": "agents.solver.solving.exact", "matplotlib": "analysis",
    "numba": "simcore.jit", "python": "simcore.clock", "ray": "scenarios.batch.on_ray",
    "fastapi": "service", "starlette": "service", "uvicorn": "service", "tests": "", "benchmarks": "",
}  # fmt: skip
"""Where in Binwright a library may be imported."""
LATE = {
    "numpy",
    "polars",
    "numba",
    "python",
    "scipy",
    "pydantic",
    "matplotlib",
    "torch",
    "pyopencl",
    "ray",
    "lark",
    "fastapi",
}
"""What `binwright --help` must not pay for."""


def below(module: str, package: str) -> bool:
    """Is it the package, or in it?"""
    return module == package or module.startswith(f"{package}.")


def imports(source: str, module: str) -> Iterator[str]:
    """Everything that a module imports, wherever it does so: `from a import b` counts as a.b."""
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module} has a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        waiting += (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))


def upward(module: str, imported: str) -> bool:
    """Does an import point up or aside? Names are without `binwright`."""
    for package, ladder in LADDERS.items():
        inside = f"{package}." if package else ""
        if module.startswith(inside) and imported.startswith(inside):
            part, other = (name.removeprefix(inside).partition(".")[0] for name in (module, imported))
            rungs = {name: rung for rung, names in enumerate(ladder) for name in names.split()}
            # Everything else of binwright is above its sub-packages; a registry in a package's __init__ is seen by all.
            if part != other and part in rungs and not other.isupper() and rungs.get(other, 99) >= rungs[part]:
                return True
    return False


def wrong(source: str, module: str) -> list[str]:
    """What a module imports and may not."""
    imported = [*imports(source, module)]
    places = {name: ONLY_IN.get(name.partition(".")[0]) for name in imported}
    library = [
        name for name, only in places.items() if only is not None and not any(below(module, it) for it in only.split())
    ]
    ours = [name.removeprefix("binwright.") for name in imported if below(name, "binwright")]
    return library + [name for name in ours if upward(module, name)]


def modules() -> Iterator[tuple[str, str]]:
    """Every module without `binwright`, and its source."""
    package = ROOT / "binwright"
    for folder, _, names in os.walk(package, followlinks=True):
        for file in (Path(folder) / name for name in sorted(names) if name.endswith(".py")):
            name = ".".join(file.relative_to(package).with_suffix("").parts).removesuffix("__init__").removesuffix(".")
            yield name, file.read_text(encoding="utf-8")


def test_imports_point_down() -> None:
    faults = [f"{module} imports {', '.join(actual)}" for module, text in modules() if (actual := wrong(text, module))]
    assert not faults, "\n".join(faults)


def test_every_part_has_its_place_on_a_ladder() -> None:
    names = [module for module, _ in modules()]
    for package, ladder in LADDERS.items():
        inside = f"{package}." if package else ""
        parts = {name.removeprefix(inside).partition(".")[0] for name in names if name.startswith(inside)} - {""}
        assert " ".join(ladder).split()
        assert not package or parts == set(" ".join(ladder).split()), package


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("simcore.clock", "def f():\n    from binwright.fabric.ledger import Ledger"),
        ("fabric.topology", "from binwright.workloads import TRACES"),
        ("scenarios.batch.batch", "if TYPE_CHECKING:\n    from binwright import api"),
        ("agents.heuristics.mine", "from binwright.agents.solver import local"),
        ("agents.heuristics.mine", "import torch.nn as nn"),
        ("fabric.ledger", "from tests.reference.engine import fits"),
    ],
)
def test_an_import_that_points_up_is_found(module: str, line: str) -> None:
    assert wrong(line, module)
    assert not wrong("from binwright.simcore.errors import x\nimport numpy as np", module)


def test_no_test_imports_from_another() -> None:
    """What two of them need is in `tests.support` or `tests.reference`."""
    another = re.compile(r"^\s*(from|import) tests\b.*(\([^)]*)?\btest_", re.MULTILINE)
    faults = [file for file in (ROOT / "tests").rglob("*.py") if another.search(file.read_text(encoding="utf-8"))]
    assert not faults


HELP = "from binwright.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass"


@pytest.mark.parametrize("what", ["import binwright", "import binwright.workloads", HELP])
def test_starting_costs_nothing_heavy(what: str) -> None:
    script = f"{what}\nimport sys\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = done.stderr.split()
    assert "binwright" in loaded
    assert ("usage: binwright" in done.stdout) == (what == HELP)
    assert not LATE & set(loaded)


HEURISTIC_RUN = """
import numpy as np
from binwright.agents import AGENTS
from binwright.fabric.cluster import Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.run.simulation import Simulation
from binwright.fabric.run.play import play
from binwright.simcore.workload import Workload

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
    assert not {"torch", "pyopencl", "matplotlib", "ray", "polars", "scipy.linalg"} & set(loaded)
