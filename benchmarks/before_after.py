"""Compares this checkout with another one: is it as fast, and are its numbers the same.

`python -m benchmarks.before_after FOLDER [--rounds N] [--numbers]` prints, and never fails.

1,000 short runs by turns in FOLDER, where the other checkout is, and here. Seconds on the clock and of the CPU, each
the median of all rounds, and by how much more this one takes: CPU seconds are what to go by where other things run on
the machine. Both are run by this Python, with what is installed for it.

With `--numbers`, every shipped scenario is run in both instead, with its first seed and without its sweep, and columns
that both have are compared, but for those that a clock measured.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

from binwright.scenarios.schema.load import shipped
from binwright.simcore.extras import pl

SHORT = """\
cluster: {network: {topology: alpha}, node: {cpu: 10, mem: 10}}
workload: {requests: 128, demand: uniform, holding: 31}
pacing: {await_room: true}
agents: [tetris]
replications: 1000
"""
OTHERS = ("run", "version", "seconds", "decision_us", "windows")
"""Columns that differ between any two checkouts, or any two runs."""


def runs(environment: dict[str, str], scratch: Path) -> None:
    """Do 1,000 short runs in a fresh folder."""
    file = scratch / "short.yaml"
    file.write_text(SHORT, "utf-8")
    command = [sys.executable, "-m", "binwright", "run", str(file), "--jobs", "1", "--out", str(scratch / "out")]
    subprocess.run(command, check=True, capture_output=True, cwd=scratch, env=environment)


def took(checkout: Path) -> tuple[float, float]:
    """Measure the seconds on the clock, and of the CPU, that the runs take in a checkout."""
    with tempfile.TemporaryDirectory() as scratch:
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
        runs(os.environ | {"PYTHONPATH": str(checkout)}, Path(scratch))
        seconds, after = perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def numbers(checkouts: Sequence[Path]) -> None:
    """Print for every shipped scenario how many runs it has, and the columns in which two checkouts differ."""
    runs_in_all = 0
    for name in shipped():
        with tempfile.TemporaryDirectory() as scratch:
            frames = []
            for number, checkout in enumerate(checkouts):
                out = Path(scratch) / str(number)
                asked = [name, "--seeds", "1", "--set", "sweep=null", "--set", "train=null", "--out", str(out)]
                command = [sys.executable, "-m", "binwright", "run", *asked]
                done = subprocess.run(
                    command,
                    capture_output=True,
                    check=False,
                    cwd=scratch,
                    env=os.environ | {"PYTHONPATH": str(checkout)},
                    text=True,
                )
                if done.returncode:
                    print(f"{name}: {(done.stderr or done.stdout).strip().splitlines()[0]}", flush=True)
                    break
                frames.append(pl.read_parquet(out / "runs.parquet"))
            if len(frames) == len(checkouts):
                before, after = frames
                both = [column for column in before.columns if column in after.columns and column not in OTHERS]
                differ = [column for column in both if not before[column].equals(after[column])]
                runs_in_all += len(after)
                what = f"differ in {', '.join(differ)}" if differ else f"{len(both)} columns the same"
                print(f"{name}: {len(after)} runs, {what}", flush=True)
    print(f"{runs_in_all} runs in all")


def main() -> None:
    """Measure both, by turns."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("folder", type=Path, help="another checkout")
    asked.add_argument("--rounds", type=int, default=7, help="default: 7, and one more that does not count")
    asked.add_argument("--numbers", action="store_true", help="compare results, not times")
    given = asked.parse_args()
    checkouts = [given.folder.resolve(), Path(__file__).resolve().parents[1]]
    if given.numbers:
        numbers(checkouts)
        return
    print(f"{'':32}{'before':>10}{'after':>10}{'more':>9}")
    rounds = [[took(checkout) for checkout in checkouts] for _ in range(given.rounds + 1)][1:]
    for kind, what in enumerate(("seconds", "CPU seconds")):
        before, after = (median(one[place][kind] for one in rounds) for place in (0, 1))
        print(f"{'1,000 short runs, ' + what:32}{before:10.2f}{after:10.2f}{after / before - 1:9.1%}", flush=True)


if __name__ == "__main__":
    main()
