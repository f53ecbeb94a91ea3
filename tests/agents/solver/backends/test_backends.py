"""Every back end gives the reference's answer, bit for bit."""

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import binwright as bw
from binwright.agents.solver.backends import cpu
from binwright.agents.solver.backends.attempt import Utilfn
from binwright.agents.solver.backends.cpu import never
from binwright.agents.solver.backends.flat import Flat, Room, lengths
from binwright.agents.solver.backends.flat import room as room_of
from binwright.agents.solver.backends.kernel_c import HEAD, Printer
from binwright.agents.solver.language.errors import SpecError
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL, WIDE
from binwright.agents.solver.model.source import evaluator, rejection, utilfn
from binwright.agents.solver.model.verify import faults, utilisation
from binwright.agents.solver.solving.solve import searches
from binwright.agents.solver.specification.spec import Spec, examples, load_problem
from binwright.simcore.jit import kernel
from tests.reference import attempts as reference
from tests.reference import interpreter
from tests.reference.columns import from_text
from tests.reference.utilisation import evaluate
from tests.support.opencl import BACKENDS, answer, opencl_device
from tests.support.properties import first, scaled
from tests.support.solving import problem
from tests.support.specifications import specifications, straight_specifications

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long


@pytest.mark.parametrize("backend", first(1, list(BACKENDS)[:2]))
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "vm-placement" else pytest.mark.long) for name in examples()]
)
def test_examples(name: str, backend: str) -> None:
    problem = load_problem(name)
    if problem.searched:
        problem = problem.with_bins(max(1, problem.balls // 3))
    for seed in (1, -5):
        assert answer(BACKENDS[backend], problem, seed, 3, 8) == answer(reference.attempts, problem, seed, 3, 8)


@pytest.mark.parametrize("backend", first(1, BACKENDS))
@scaled(0.08, suppress_health_check=list(HealthCheck))
@given(text=specifications(), seed=st.integers(-(2**63), 2**63 - 1))
def test_random_problems(backend: str, text: str, seed: int) -> None:
    try:
        problem = Spec(text).problem()
    except SpecError:
        return
    result, expected = (answer(which, problem, seed, 0, 4) for which in (BACKENDS[backend], reference.attempts))
    assert result == expected


def test_generated_source_is_the_same_for_any_number_of_bins() -> None:
    problem = load_problem("spain")
    (text, numbers), (again, others) = (utilfn(problem.with_bins(bins).program) for bins in (3, 4))
    assert text == again
    assert len(numbers) == len(others)


@kernel
def units(call: Utilfn, flat: Flat, room: Room, ball: int, place: int) -> int:
    """Ask UTILFN, which only kernels call."""
    return call(ball, place, room.alloc, flat.data, flat.numbers, room.used, flat.ceiling, room.dims, room.amounts, 0)


Call = Callable[[int, int], list[tuple[int, int]] | None]


def numba_calls(problem: Problem) -> Call:
    """What numba makes of UTILFN."""
    (call, flat), room = cpu.compiled_problem(problem), room_of(problem)
    flat.ceiling[:] = WIDE
    room.alloc[:] = NULL

    def run(ball: int, place: int) -> list[tuple[int, int]]:
        n = units(call, flat, room, ball, place)
        return list(zip(room.dims[:n].tolist(), room.amounts[:n].tolist(), strict=True))

    return run


def c_calls(problem: Problem) -> Call:
    """What a compiler of C makes of the source for OpenCL."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no compiler of C")
    body, numbers = utilfn(problem.program)
    printer = Printer(lengths(problem))
    printer.add_source(body, cpu.CALLED)
    requested = "long asked(const long b, const long p, const long *a, const long *d, const long *f, const long *u,"
    requested += " const long *c, long *x, long *y) { return utilfn(b, p, a, d, f, u, c, x, y, 0); }"
    head = "#define __global\n"
    for name, sign in (("min", "<"), ("max", ">")):  # OpenCL has them
        head += f"static inline long {name}(long a, long b) {{ return a {sign} b ? a : b; }}\n"
    with TemporaryDirectory() as folder:
        source, library = Path(folder, "utilfn.c"), Path(folder, "utilfn.so")
        source.write_text(f"{head}{HEAD}{printer.text}\n{requested}")
        subprocess.run([compiler, "-shared", "-fPIC", "-w", "-o", library, source], check=True)
        function = ctypes.CDLL(str(library)).asked
    function.restype = ctypes.c_long
    function.argtypes = [ctypes.c_long] * 2 + [ctypes.c_void_p] * 7
    flat, room = Flat.of_problem(problem, numbers), room_of(problem)
    flat.ceiling[:] = WIDE
    room.alloc[:] = NULL
    arrays = room.alloc, flat.data, flat.numbers, room.used, flat.ceiling, room.dims, room.amounts

    def run(ball: int, place: int) -> list[tuple[int, int]]:
        n = function(ball, place, *(each.ctypes.data for each in arrays))
        return list(zip(room.dims[:n].tolist(), room.amounts[:n].tolist(), strict=True))

    return run


def python_calls(problem: Problem) -> Call:
    """What Python makes of the source."""
    evaluate = evaluator(problem.program)
    return lambda ball, place: evaluate(ball, place, ())


COMPILED: dict[str, Callable[[Problem], Call]] = {"python": python_calls, "numba": numba_calls, "c": c_calls}


@pytest.mark.parametrize(
    ("evaluated", "examples"), [("python", 2.0), ("c", 0.5), ("numba", 0.2)], ids=["python", "c", "numba"]
)
def test_every_evaluator_of_the_source_is_the_interpreter(evaluated: str, examples: float) -> None:
    @scaled(examples)
    @given(straight_specifications())
    def holds(text: str) -> None:
        made = problem(text)
        run = COMPILED[evaluated](made)
        for ball, place in product(range(made.balls), range(made.bins)):
            assert run(ball, place) == interpreter.call(made.program, ball, place, [])
            assert rejection(made.program, ball, place, []) == interpreter.rejection(made.program, ball, place, [])

    holds()


@scaled(2.0)
@given(straight_specifications(), st.lists(st.integers(NULL, 3), min_size=5, max_size=5))
def test_dense_form_equals_the_interpreter(text: str, alloc: list[int]) -> None:
    """The dense form, which runs the source, and the verifier, which runs the text."""
    made = problem(re.sub(r"[+-]= (.*?)( end)?$", r"+= max(0, \1)\2", text, flags=re.MULTILINE))
    matrix = made.matrix
    assert matrix is not None
    sums = np.zeros_like(matrix.demand)
    for ball in range(made.balls):
        for dim, amount in interpreter.call(made.program, ball, 0, []) or ():
            sums[ball, dim] += amount
    assert matrix.demand.tolist() == sums.tolist()
    assert utilisation(made, alloc) == evaluate(made, alloc) == from_text(made, alloc)


def test_local_search_crosses_a_hump_that_stops_the_published_search() -> None:
    # A rack's uplink has room for min(m, 10 - m) x 1 at m = 0 to 3 and again at m = 7 to 10.
    made = problem(
        """procedure UTILFN(BALL, BIN, ALLOC)
        let m = count(o in BALLS except BALL: ALLOC[o] == BIN)
        UTIL.SLOTS[BIN] += 1
        UTIL.UPLINK[BIN] += min(m + 1, BALLS - m - 1) - min(m, BALLS - m)
        end""",
        balls=10,
        bins=3,
        resources={"SLOTS[r in BINS]": 9, "UPLINK[r in BINS]": 3},
    )
    assert bw.solve(made, search="published", attempts=200).status == "partial"
    answer = bw.solve(made, attempts=200)
    assert answer.status == "optimal"


def test_an_attempt_is_cut_short_when_time_is_over() -> None:
    """One of 3,000 balls evaluates billions of nodes, so that none ends within this time, on whatever machine."""
    made = problem(
        "procedure UTILFN(BALL, BIN, ALLOC) UTIL.LOAD[BIN] += count(o in BALLS except BALL: ALLOC[o] == BIN) end",
        balls=3000,
        bins=3000,
        resources={"LOAD[s in BINS]": 0},
    )
    list(cpu.attempts(made, 0, 0, 1, lambda: True))  # compiled
    end = monotonic() + 0.05
    (actual,) = cpu.attempts(made, 0, 0, 1, lambda: monotonic() > end)
    assert actual.left > 0
    assert not faults(made, actual.where.tolist())


JOBS = """PARAM SERVERS = 6 TABLE OF = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 4, 4, 4, 4, 5, 6]
TABLE WHOSE = [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9, 10, 11], [12, 13], [14, 15, 16, 17], [18], [19]]
TABLE RATE = [4, 3, 2, 5, 2, 1, 1] BALLS 20 BINS SERVERS
RESOURCES GPU[s in BINS] => 4, LINK[s in BINS] => WIDTH
procedure UTILFN(BALL, BIN, ALLOC)
    UTIL.GPU[BIN] += 1
    let n = len(WHOSE[OF[BALL]])
    let m = count(o in WHOSE[OF[BALL]] except BALL: ALLOC[o] == BIN)
    UTIL.LINK[BIN] += RATE[OF[BALL]] * (min(m + 1, n - m - 1) - min(m, n - m))
end"""
ZONES = """BALLS 24 BINS 6 RESOURCES C[s in BINS] => WIDTH, ZONE[z in 3] => 8 FOES 0, 1 FRIENDS 2, 3
procedure UTILFN(BALL, BIN, ALLOC)
    if BIN == BALL % 6 REJECT end
    UTIL.C[BIN] += 1 + BALL % 5
    UTIL.ZONE[BIN % 3] += 1
end"""


@pytest.mark.parametrize(("text", "room"), [(JOBS, 5), (ZONES, 12), (JOBS, 2), (ZONES, 11), (ZONES, 13)])
def test_a_device_does_not_change_what_searches_come_to(text: str, room: int) -> None:
    """With little room, and too little of it: numbers succeed early, late, and never."""
    opencl_device()
    made = problem(text.replace("WIDTH", str(room)))
    for seed in (1, 2, 3):
        on_device = searches(made, "opencl", "ours")
        alone = searches(made, "cpu", "published") | searches(made, "cpu", "ours")
        assert list(on_device) == list(alone) == ["published", "local search"]
        for theirs, ours in zip(on_device.values(), alone.values(), strict=True):
            *_, actual = theirs(made, seed, 0, 7, never)
            *_, alike = ours(made, seed, 0, 7, never)
            assert (actual.where.tolist(), *actual[2:3]) == (alike.where.tolist(), *alike[2:3])
