"""Time the first answer of a new installation, and the second: `python -m benchmarks.first_answer`.

Agents on GPUs need the trace alibaba-openb where traces are looked for.

Every command runs twice with a folder of its own for kept kernels: everything is compiled the first time, and read from
disk the second time. CPU seconds are those of the command and of all the processes that it starts.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

ONE = ("--seeds", "1", "--jobs", "1")
IN_NETWORKS = ("tetris", "nulb", "nalb", "nara", "best-home", "cheapest-candidate")
ON_GPUS = ("fgd", "gpu-lookahead")
COMMANDS = {
    "quickstart, as `make run` runs it": ("run", "quickstart"),
    "quickstart, one run of best-fit": ("run", "quickstart", "--agents", "best-fit", *ONE),
    **{f"{agent} in networks": ("run", "nara/table1", "--agents", agent, *ONE) for agent in IN_NETWORKS},
    **{f"{agent} on GPUs": ("run", "fgd/default", "--agents", agent, *ONE) for agent in ON_GPUS},
    "the agent solver on servers": ("run", "wrasse/solver-numa", "--agents", "solver", *ONE),
    "solve vm-placement": ("solve", "vm-placement"),
    "solve network": ("solve", "network"),
    "pack pgrank": ("pack", "pgrank"),
}


def once(command: tuple[str, ...], folder: Path) -> tuple[float, float]:
    """Run a command of `binwright` in an empty folder; returns its wall and CPU seconds."""
    (folder / "here").mkdir(exist_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = perf_counter()
    with tempfile.TemporaryDirectory(dir=folder / "here") as here:
        asked = subprocess.run(
            [sys.executable, "-m", "binwright", *command],
            cwd=here,
            env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "kernels")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    wall = perf_counter() - began
    if asked.returncode > 1:
        raise SystemExit(f"binwright {' '.join(command)}: {asked.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print a row for every command."""
    heads = f"{'first s':>9}{'CPU':>7}{'second s':>10}{'CPU':>7}{'kernels':>9}"
    print(f"{'':36}{heads}")
    for name, command in COMMANDS.items():
        with tempfile.TemporaryDirectory() as folder:
            first, second = once(command, Path(folder)), once(command, Path(folder))
            kernels = len(list(Path(folder, "kernels").rglob("*.kernel")))
        times = f"{first[0]:9.1f}{first[1]:7.1f}{second[0]:10.1f}{second[1]:7.1f}{kernels:9}"
        print(f"{name:36}{times}", flush=True)


if __name__ == "__main__":
    main()
