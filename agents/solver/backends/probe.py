"""Try one OpenCL device, in a process of its own.

`python -P probe.py NUMBER` prints, as two lines of JSON, all devices that are here and why device NUMBER cannot be used
("" if it can). `agents.solver.backends.opencl_devices` runs this, as drivers crash and hang, too. It imports nothing of
ours.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from contextlib import suppress
from typing import Any

LANES = 32
SOURCE = """
__kernel void probe(__global const long *given, __global long *out) {
    __local long shared[LANES];
    __local int least;
    const int lane = get_local_id(0);
    if (lane == 0) least = INT_MAX;
    shared[lane] = given[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    const long other = shared[LANES - 1 - lane];
    if (other < 0) atomic_min(&least, lane);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = other / 1000003 * 1000000007L + other % 1000003 + least;
}
"""
"""What our programs need: 64 bits, global and local memory, barriers and atomics among the lanes of a group."""


def found() -> list[Any]:
    """Return every OpenCL device: graphics cards, processors, others, each by platform, driver and name.

    The order of the ICD loader depends on the order of files in a folder.
    """
    import pyopencl as cl

    devices: list[Any] = []
    with suppress(cl.Error):  # no driver at all
        for platform in cl.get_platforms():
            with suppress(cl.Error):  # a driver whose hardware is missing
                devices += platform.get_devices()
    ranks = {"GPU": 0, "CPU": 1}
    return sorted(devices, key=lambda one: (ranks.get((it := described(one))["kind"], 2), *it.values()))


def described(device: Any) -> dict[str, str]:
    """Return what a listing says about a device."""
    import pyopencl as cl

    kinds = {cl.device_type.GPU: "GPU", cl.device_type.CPU: "CPU", cl.device_type.ACCELERATOR: "accelerator"}
    return {
        "platform": device.platform.name.strip(),
        "driver": device.driver_version.strip(),
        "name": device.name.strip(),
        "kind": next((name for kind, name in kinds.items() if device.type & kind), "other"),
    }


def fault(error: Exception) -> str:
    """Return one line of what pyopencl raised: the compiler's first error, if there is one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if "error:" in line), lines[0] if lines else repr(error))[:300]


def tried(device: Any) -> str:
    """Build and run the probe on a device; return why it cannot be used, "" if it can."""
    import numpy as np
    import pyopencl as cl

    given = np.arange(-LANES, LANES, dtype=np.int64) * 123_456_789_012
    out = np.zeros_like(given)
    try:
        context = cl.Context([device])
        queue, flags = cl.CommandQueue(context), cl.mem_flags
        program = cl.Program(context, SOURCE).build([f"-DLANES={LANES}"])
        into = cl.Buffer(context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=given)
        back = cl.Buffer(context, flags.WRITE_ONLY, out.nbytes)
        cl.Kernel(program, "probe")(queue, given.shape, (LANES,), into, back)
        cl.enqueue_copy(queue, out, back)
    except cl.Error as error:
        return fault(error)
    other = given.reshape(-1, LANES)[:, ::-1]
    rest = np.fmod(other, 1_000_003)
    least = np.where(other < 0, np.arange(LANES), 2**31 - 1).min(axis=1, keepdims=True)
    expected = (other - rest) // 1_000_003 * 1_000_000_007 + rest + least
    return "" if np.array_equal(out, expected.ravel()) else "it computes wrong numbers"


def main(number: int) -> None:
    """Print what is here, then whether the device works."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what drivers print is not an answer
    devices = found()
    print(json.dumps([described(one) for one in devices]), file=answers, flush=True)
    if number < len(devices):
        with warnings.catch_warnings():  # what compilers have to say of a program that they accept
            warnings.simplefilter("ignore")
            print(json.dumps(tried(devices[number])), file=answers, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
