"""Compares this checkout with another one: is it as fast, and are its numbers the same.

`python -m benchmarks.before_after times CHECKOUT [--rounds N]` does 1,000 short runs by turns there and here. It
prints seconds on the clock and of the CPU, each the median of all rounds, and by how much more this checkout takes. CPU
seconds are what to go by where other things run on the machine. This Python runs both.

`python -m benchmarks.before_after write FOLDER` runs every shipped scenario, with its first seed and without its sweep,
into a folder of its own below FOLDER. `python -m benchmarks.before_after numbers FOLDER` does so again and compares the
rows of the agents that both have with those in FOLDER, but for columns that a clock measured.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
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


def write(folder: Path, name: str) -> str | None:
    """Run a shipped scenario into the folder of its name; returns the first line of an error."""
    arguments = [name, "--seeds", "1", "--set", "sweep=null", "--set", "train=null", "--out", str(folder / name)]
    command = [sys.executable, "-m", "binwright", "run", *arguments]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    return (done.stderr or done.stdout).strip().splitlines()[0] if done.returncode else None


def compare(before: pl.DataFrame, after: pl.DataFrame) -> str:
    """Describe the runs of agents that both frames have, and the columns in which these differ."""
    columns = [column for column in before.columns if column in after.columns and column not in OTHERS]
    agents = set(before["agent"]) & set(after["agent"])
    before, after = (
        frame.filter(pl.col("agent").is_in(agents)).select(columns).sort("agent", "seed") for frame in (before, after)
    )
    differ = [column for column in columns if not before[column].equals(after[column])]
    return f"{len(after)} runs, " + (f"differ in {', '.join(differ)}" if differ else f"{len(columns)} columns the same")


def numbers(folder: Path) -> None:
    """Print how many runs each shipped scenario has, and the columns that differ from those in the folder."""
    for name in shipped():
        with tempfile.TemporaryDirectory() as scratch:
            if not (folder / name / "runs.parquet").is_file():
                print(f"{name}: not in {folder}", flush=True)
            elif problem := write(Path(scratch), name):
                print(f"{name}: {problem}", flush=True)
            else:
                frames = [pl.read_parquet(place / name / "runs.parquet") for place in (folder, Path(scratch))]
                print(f"{name}: {compare(*frames)}", flush=True)


def times(checkout: Path, rounds: int) -> None:
    """Print how long 1,000 short runs take in another checkout and in this one."""
    checkouts = [checkout.resolve(), Path(__file__).resolve().parents[1]]
    print(f"{'':32}{'before':>10}{'after':>10}{'more':>9}")
    seconds = [[took(each) for each in checkouts] for _ in range(rounds + 1)][1:]
    for kind, what in enumerate(("seconds", "CPU seconds")):
        before, after = (median(turn[place][kind] for turn in seconds) for place in (0, 1))
        print(f"{'1,000 short runs, ' + what:32}{before:10.2f}{after:10.2f}{after / before - 1:9.1%}", flush=True)


def main() -> None:
    """Compare times or numbers, or write numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["times", "write", "numbers"])
    parser.add_argument("folder", type=Path, help="another checkout, or the folder of rows")
    parser.add_argument("--rounds", type=int, default=7, help="of times; default: 7, and one more that does not count")
    args = parser.parse_args()
    if args.what == "times":
        times(args.folder, args.rounds)
    elif args.what == "numbers":
        numbers(args.folder)
    else:
        for name in shipped():
            print(f"{name}: {write(args.folder, name) or 'written'}", flush=True)


if __name__ == "__main__":
    main()
