"""Random numbers by counter: the same bits in Python, numba and OpenCL C, and evenly spread."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.solver.backends import attempt as random
from binwright.agents.solver.backends.kernel_c import HEAD, Printer
from tests.reference import random as reference
from tests.support.opencl import opencl_device

SIGNED = st.integers(-(2**63), 2**63 - 1)
NUMBER = st.integers(0, 2**31)
EDGES = [(0, 0, 0, 0, 1), (1, 2, 3, 4, 5), (-1, 0, 2**40, 7, 2**31), (2**63 - 1, 3, 2**62, 2**31, 3)]


def test_random_stream_is_splitmix64() -> None:
    """The first numbers of state 1234567 as published with the generator (rosettacode.org/wiki/SplitMix64)."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [reference.bits(1234567, i) for i in range(4)] == expected


@given(SIGNED, NUMBER, NUMBER, NUMBER, st.integers(1, 2**31))
def test_python_and_numba_draw_the_same_bits(seed: int, group: int, attempt: int, counter: int, n: int) -> None:
    start = reference.stream(seed, group, attempt)
    compiled = random.stream(seed, group, attempt)
    assert int(compiled) == start
    unsigned = np.uint64(start)
    assert int(random.bits(unsigned, counter)) == reference.bits(start, counter)
    assert random.below(unsigned, counter, n) == reference.below(start, counter, n)
    assert 0 <= reference.below(start, counter, n) < n


@pytest.mark.long
def test_opencl_draws_the_same_bits() -> None:
    device = opencl_device()
    opencl = pytest.importorskip("pyopencl")
    source = """__kernel void draw(__global const long *in, __global ulong *out) {
        long i = get_global_id(0);
        __global const long *it = in + 5 * i;
        ulong start = stream(it[0], it[1], it[2]);
        out[3 * i] = start;
        out[3 * i + 1] = bits(start, it[3]);
        out[3 * i + 2] = below(start, it[3], it[4]);
    }"""
    printer = Printer({})
    printer.add(random.stream)
    printer.add(random.below)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a compiler's remarks
        context = opencl.Context([device.handle])
        queue = opencl.CommandQueue(context)
        program = opencl.Program(context, HEAD + printer.text + source).build()
        flags = opencl.mem_flags
        into = opencl.Buffer(context, flags.COPY_HOST_PTR, hostbuf=np.array(EDGES, np.int64))
        out = np.empty((len(EDGES), 3), np.uint64)
        drawn = opencl.Buffer(context, flags.WRITE_ONLY, out.nbytes)
        program.draw(queue, (len(EDGES),), None, into, drawn)
        opencl.enqueue_copy(queue, out, drawn)
    for (seed, group, attempt, counter, n), actual in zip(EDGES, out.tolist(), strict=True):
        start = reference.stream(seed, group, attempt)
        assert actual == [start, reference.bits(start, counter), reference.below(start, counter, n)]
