"""Seeds small mistakes into the functions that matter, and tells which tests notice.

    .venv/bin/python -m tests.mutations

Each mistake goes into a copy of the tree, where the tests of its file run until one of them fails. Which
mistakes are made depends on the seed and on the text of a function alone: two states of the tree that have the same
function make the same mistakes in it.

On 24 November 2026, with seed 0, three mistakes in the solver survive because they change nothing that counts. `answer`
says that two units are left, which nobody reads there; `look_at_clock` shows progress at .2 s rather than after it;
`span` is wrong only of products below 0, before which UTILFN rejects.
On 28 November 2026 the 14 in analysis were made again. One survives, which changes nothing, either: `bill` adds up two
zeros rather than one.
On 30 November 2026, with seed 301, 42 were made in the core: servers, runs, kernels, quotas, queues, placement,
preemption, overcommitment. Tests notice 41, some with what was added then, and two of these by a run that does not end.
The other changes nothing that counts: `endless` gives up on processes without answers a step of 10,000 earlier.
"""

import argparse
import ast
import copy
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LIMIT = 300  # seconds for the tests of one mistake

SOLVER, HEURISTICS, FABRIC = "tests/agents/solver/", "tests/agents/heuristics/", "tests/fabric/test_"
MEASURE, SIMCORE = "tests/analysis/measure", "tests/simcore/test_"
SOURCES: tuple[tuple[str, int, str], ...] = (
    # the file; how many mistakes are made in it; its tests, the fastest first
    ("fabric/ledger.py", 2, f"{FABRIC}ledger.py {FABRIC}moving.py {FABRIC}devices.py {HEURISTICS}test_movers.py"),
    (
        "fabric/inventory.py",
        1,
        f"{FABRIC}ledger.py {FABRIC}devices.py {SIMCORE}gangs.py tests/scenarios/test_processes.py",
    ),
    (
        "fabric/network.py",
        4,
        f"{FABRIC}network.py {HEURISTICS}test_networks.py {MEASURE} tests/scenarios/test_conservation.py",
    ),
    ("scenarios/features/overcommit/book.py", 1, f"{FABRIC}predicting_ledger.py tests/scenarios/test_pairs.py"),
    ("agents/availability.py", 2, f"{HEURISTICS}test_promises.py"),
    ("scenarios/features/sites/run.py", 3, f"{SIMCORE}routing.py tests/scenarios/test_sites.py"),
    ("fabric/device_book.py", 2, f"{FABRIC}devices.py {FABRIC}moving.py"),
    (
        "scenarios/features/placement/book.py",
        3,
        f"{FABRIC}placement.py {FABRIC}ruled_network.py tests/scenarios/test_sites.py tests/fabric/compiled",
    ),
    (
        "fabric/run/simulation.py",
        4,
        f"{SIMCORE}together.py {SIMCORE}engine.py {FABRIC}network.py {HEURISTICS}test_promises.py {MEASURE} "
        "tests/fabric/compiled",
    ),
    ("fabric/run/compiled_loop.py", 1, "tests/fabric/compiled"),
    ("fabric/run/waiting_line.py", 4, f"{SIMCORE}together.py {SIMCORE}queues.py tests/scenarios/test_rlscheduler.py"),
    ("simcore/request_rows.py", 1, f"{SIMCORE}engine.py {SIMCORE}gangs.py"),
    ("fabric/run/gang_placement.py", 2, f"{SIMCORE}gangs.py"),
    (
        "fabric/run/cluster_events.py",
        2,
        f"{SIMCORE}engine.py {FABRIC}network.py {SIMCORE}moving.py tests/scenarios/test_speed.py",
    ),
    (
        "fabric/run/arrays.py",
        2,
        f"{SIMCORE}engine.py {FABRIC}moving.py tests/fabric/compiled {SIMCORE}moving.py {SIMCORE}gangs.py "
        f"{SIMCORE}queues.py tests/scenarios/test_gangs.py tests/scenarios/test_speed.py",
    ),
    ("fabric/compiled/numa_loop.py", 3, f"tests/fabric/compiled {SIMCORE}engine.py tests/scenarios/test_engines.py"),
    ("fabric/compiled/numa_decisions.py", 2, "tests/fabric/compiled tests/scenarios/test_engines.py"),
    ("fabric/compiled/tables.py", 3, f"{SIMCORE}quotas.py"),
    ("fabric/compiled/queue_loop.py", 2, "tests/fabric/compiled/test_queue_loop.py"),
    ("scenarios/features/quotas/__init__.py", 3, f"{SIMCORE}quotas.py"),
    ("scenarios/features/queues/__init__.py", 2, f"{SIMCORE}queues.py {SIMCORE}quotas.py"),
    ("scenarios/features/preemption/__init__.py", 3, f"{SIMCORE}preemption.py"),
    ("scenarios/features/preemption/victims.py", 2, f"{SIMCORE}preemption.py"),
    ("scenarios/features/speed/__init__.py", 2, "tests/scenarios/test_speed.py"),
    ("scenarios/features/autoscale/__init__.py", 2, "tests/scenarios/test_autoscale.py"),
    ("scenarios/features/moves/run.py", 3, f"tests/simcore/test_moving.py tests/scenarios/test_moves.py {MEASURE}"),
    ("agents/heuristics/movers.py", 1, f"{HEURISTICS}test_movers.py tests/scenarios/test_movers.py"),
    ("agents/heuristics/servers/candidates.py", 2, "tests/agents/learned/test_cvd_rl.py"),
    ("agents/rules/cheapest_place.py", 2, f"tests/agents/rules/test_cheapest.py {HEURISTICS}test_servers.py"),
    ("agents/heuristics/servers/costs.py", 3, f"{HEURISTICS}test_servers.py"),
    ("agents/heuristics/networks/best_home.py", 2, f"{HEURISTICS}test_networks.py"),
    ("agents/heuristics/networks/scored.py", 1, f"{HEURISTICS}test_networks.py"),
    ("agents/heuristics/devices.py", 1, f"{HEURISTICS}test_devices.py"),
    ("agents/heuristics/lifetimes.py", 1, f"{HEURISTICS}test_lifetimes.py"),
    ("analysis/measure/finished_run.py", 2, MEASURE),
    ("analysis/measure/metrics/requests.py", 1, MEASURE),
    ("analysis/measure/metrics/cluster.py", 1, f"{MEASURE} {FABRIC}network.py"),
    ("scenarios/features/costs/__init__.py", 1, MEASURE),
    ("analysis/measure/costs/bill.py", 2, f"{MEASURE}/test_bill.py tests/scenarios/test_bills.py"),
    ("analysis/compare/statistics.py", 4, "tests/analysis/compare"),
    ("analysis/compare/comparison.py", 2, "tests/analysis/compare"),
    ("agents/solver/solving/solve.py", 3, f"{SOLVER}solving {SOLVER}backends/test_until.py"),
    ("agents/solver/packing.py", 1, f"{SOLVER}packing {SOLVER}model/test_bounds.py"),
    ("agents/solver/model/bounds.py", 1, f"{SOLVER}model {SOLVER}solving"),
    ("agents/solver/local/search.py", 1, f"{SOLVER}local"),
    ("agents/solver/local/polish.py", 2, f"{SOLVER}local/test_goals.py"),
)

TURNED = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
AT_THE_EDGE = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
SIGN = {ast.Add: ast.Sub, ast.Sub: ast.Add}
OPPOSITE = {"min": "max", "max": "min", "argmin": "argmax", "argmax": "argmin", "minimum": "maximum"}


@dataclass(frozen=True)
class Mutant:
    """One mistake: what stood where, and what stands there instead; `text` is the whole file, with the mistake."""

    file: str
    function: str
    line: int
    kind: str
    before: str
    after: str
    text: str


def mistakes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield what the node could be taken for, each with the kind of mistake."""
    wrong = copy.deepcopy(node)
    match wrong:
        case ast.Compare():
            for kind, table in (("turned", TURNED), ("edge", AT_THE_EDGE)):
                for place, operator in enumerate(wrong.ops):
                    if type(operator) in table:
                        other = copy.deepcopy(wrong)
                        other.ops[place] = table[type(operator)]()
                        yield kind, other
        case ast.BoolOp():
            wrong.op = ast.Or() if isinstance(wrong.op, ast.And) else ast.And()
            yield "and/or", wrong
        case ast.BinOp() | ast.AugAssign() if type(wrong.op) in SIGN:
            wrong.op = SIGN[type(wrong.op)]()
            yield "sign", wrong
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield "sign" if isinstance(wrong.op, ast.USub) else "turned", wrong.operand
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            yield "off by one", ast.Constant(value + 1)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in OPPOSITE:
            setattr(wrong.func, "id" if isinstance(wrong.func, ast.Name) else "attr", OPPOSITE[name])
            yield "min/max", wrong
    if isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield "dropped", ast.Pass()


def within(function: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Yield the nodes of a function's body, but for types and messages."""
    for child in ast.iter_child_nodes(function):
        if isinstance(child, ast.Raise | ast.arguments | ast.FunctionDef | ast.JoinedStr):
            continue
        if isinstance(child, ast.expr | ast.stmt):
            yield child
        yield from within((isinstance(child, ast.AnnAssign) and child.value) or child)


def mutants(tree: Path, file: str) -> Iterator[Mutant]:
    """Yield every mistake that this tool knows in the functions of a file."""
    raw = (tree / file).read_bytes()
    starts = [0]
    for line in raw.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for function in (node for node in ast.walk(ast.parse(raw)) if isinstance(node, ast.FunctionDef)):
        for node in within(function):
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
            for kind, wrong in mistakes(node):
                after = ast.unparse(wrong)
                written = after if isinstance(wrong, ast.stmt) else f"({after})"
                text = (raw[:begin] + written.encode() + raw[end:]).decode()
                yield Mutant(file, function.name, node.lineno, kind, ast.unparse(node), after, text)


def drawn(tree: Path, file: str, count: int, seed: int) -> list[Mutant]:
    """Return this many mistakes of a file, of different functions and kinds as far as there are any."""

    def place(each: Mutant) -> bytes:
        return sha256(
            "\0".join((str(seed), each.file, each.function, each.kind, each.before, each.after)).encode()
        ).digest()

    chosen: list[Mutant] = []
    rest = sorted(mutants(tree, file), key=place)
    for alike in (lambda each, other: each.function == other.function or each.kind == other.kind, lambda *_: False):
        for mutant in rest:
            if len(chosen) < count and mutant not in chosen and not any(alike(mutant, each) for each in chosen):
                chosen.append(mutant)
    return chosen


def noticed(mutant: Mutant, tests: str, tree: Path) -> str:
    """Return which test fails in the tree with this mistake, or that none does; long tests come last."""
    file = tree / mutant.file
    right = file.read_text()
    file.write_text(mutant.text)
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    how: Any = {"cwd": tree, "env": environment, "timeout": LIMIT, "text": True, "capture_output": True}
    try:
        for which in ("not long", "long"):
            shutil.rmtree(tree / ".hypothesis", ignore_errors=True)
            command = [sys.executable, "-m", "pytest", "-qxp", "no:cacheprovider", "-n0", "-m", which, *tests.split()]
            done: Any = subprocess.run(command, check=False, **how)
            assert done.returncode != 4, done.stderr  # a file of tests that is gone
            if done.returncode not in (0, 5):  # 5: none of them is that long
                failed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
                return failed[0] if failed else f"pytest, which ended with {done.returncode}"
    except subprocess.TimeoutExpired:
        return f"a test that ran for more than {LIMIT} s"
    finally:
        file.write_text(right)
    return "SURVIVED"


def main() -> None:
    """Print a table: where each mistake is, what it is, which test noticed it, after how many seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="only files whose path has this pattern in it")
    parser.add_argument("--list", action="store_true", help="only say which mistakes there are")
    inputs = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        for name in subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0")[:-1]:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name, follow_symlinks=False)
        for file, count, tests in SOURCES:
            for mutant in drawn(tree, file, count, inputs.seed) if re.search(inputs.only, file) else ():
                began = time.monotonic()
                reported = "" if inputs.list else noticed(mutant, tests, tree)
                before, after = (text.splitlines()[0] for text in (mutant.before, mutant.after))
                print(f"{file}:{mutant.line} {mutant.function} | {mutant.kind}: {before} -> {after}", end=" | ")
                print(f"{reported} | {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
