"""Attack Binwright, and count what breaks: `python -m benchmarks.reliability [--inputs N] [--kills N] [--out FILE]`.

Damaged inputs are drawn by their number, so that any of them can be had again: `--first 123 --inputs 1 --kind trace`.
Every change of a file is made to fail in turn, and batches are killed at random moments. Nothing here is to break; what
does is named, and the exit code is 1 then.
"""

import argparse
import errno
import json
import os
import random
import resource
import sys
import tempfile
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from benchmarks.killing import killed, killed_services
from tests.support.batches import TEXT
from tests.support.faults import every_change_fails
from tests.support.hostile import KINDS
from tests.support.training import TINY

PORTION = 5_000
"""Inputs that one process reads, in which memory is measured."""
HANG, LARGE = 5.0, 1000
"""Seconds, and MB beyond those at the start, that no input may take."""


class Fuzzed(NamedTuple):
    """What came of some inputs."""

    inputs: int
    slowest: float
    grown: int
    """MB"""
    broken: list[str]


def fuzz(kind: str, first: int, inputs: int) -> Fuzzed:
    """Read damaged inputs `first`, ..., `first` + `inputs` - 1 of a kind."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # Rust says its panics itself
    slowest, broken = 0.0, []
    with tempfile.TemporaryDirectory() as folder:
        KINDS[kind](Path(folder), random.Random(-1))  # with all that has to be imported
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for number in range(first, first + inputs):
            began = monotonic()
            try:
                KINDS[kind](Path(folder), random.Random(number))
            except BaseException as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                broken.append(f"{kind} {number}: {error!r:.200} at {Path(where.filename).name}:{where.lineno}")
            took = monotonic() - began
            slowest = max(slowest, took)
            if took > HANG:
                broken.append(f"{kind} {number}: took {took:.1f} s")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    if grown > LARGE:
        broken.append(f"{kind} {first} to {first + inputs - 1}: took {grown} MB")
    return Fuzzed(inputs, slowest, grown, broken)


def fuzzed(kind: str, first: int, inputs: int) -> Fuzzed:
    """Read them on all processors."""
    starts = range(first, first + inputs, PORTION)
    with ProcessPoolExecutor(mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        sizes = [min(PORTION, first + inputs - start) for start in starts]
        result = list(pool.map(fuzz, [kind] * len(starts), starts, sizes))
    return Fuzzed(
        sum(each.inputs for each in result),
        max(each.slowest for each in result),
        max(each.grown for each in result),
        [line for each in result for line in each.broken],
    )


def refused() -> Iterator[tuple[str, int]]:
    """Fail every change of every command that writes: how many there are of each."""
    with tempfile.TemporaryDirectory() as name:
        before = Path.cwd()
        os.chdir(name)
        try:
            Path("s.yaml").write_text(TEXT + "record: [requests, samples]\nreplications: 2\n")
            Path("tiny.yaml").write_text(json.dumps({**TINY, "train": {**TINY["train"], "iterations": 2}}))
            for command in (["run", "s.yaml", "--out", "out"], ["train", "tiny.yaml", "--out", "out"]):
                for number in (errno.ENOSPC, errno.EIO):
                    yield f"{command[0]}, {errno.errorcode[number]}", every_change_fails(command, Path("out"), [number])
        finally:
            os.chdir(before)


def main() -> int:
    """Attack, print a row for each kind of attack, and return 1 if something broke."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=[*KINDS], action="append", help="only these inputs, and nothing else")
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument(
        "--inputs", type=int, default=1000, help="of each kind (default: 1000; results a hundredth; 0: none)"
    )
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--out", type=Path, help="a Markdown file for the table")
    args = parser.parse_args()
    rows, broken = [], []

    def row(what: str, tried: str, worst: str, faults: list[str]) -> None:
        rows.append(f"| {what} | {tried} | {worst} | {len(faults)} |")
        broken.extend(faults)
        print(rows[-1], *faults, sep="\n", flush=True)

    for kind in (args.kind or KINDS) if args.inputs else ():
        inputs = args.inputs if kind != "results" or args.kind else max(1, args.inputs // 100)
        read = fuzzed(kind, args.first, inputs)
        row(f"damaged {kind}", f"{inputs:,}", f"{read.slowest:.2f} s, {read.grown} MB more", read.broken)
    if not args.kind:
        for what, changes in refused():
            row(f"every change of a file fails: {what}", f"{changes}", "", [])
        for what, result in killed(args.kills, args.first):
            victims = ", ".join(f"{count} of a {victim}" for victim, count in sorted(result.victims.items()))
            row(f"`kill -9`: {what}, {result.batches} times", victims, "", result.broken)
        accepted, faults = killed_services(args.kills, args.first)
        row(f"`kill -9`: serve, {accepted} jobs accepted", f"{args.kills} of the service", "", faults)
    if args.out:
        head = "| attack | tried | worst | broke |\n| --- | --- | --- | --- |\n"
        args.out.write_text(head + "\n".join(rows) + "\n", "utf-8")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
