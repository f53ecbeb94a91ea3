"""`python -m benchmarks.batch`: how fast batches are, from the command to results on disk. Prints; never fails on time.

Beside the seconds on the clock, the CPU seconds of all processes: where other things run on the machine, these divided
by the CPUs are what the clock would say without them.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

from scenarios.batch.batch import Batch
from scenarios.schema.load import load_scenario
from simcore.cores import usable_cpus
from simcore.errors import WorkloadError
from workloads.traces.library import find

SHORT = """\
cluster: {network: {topology: alpha}, node: {cpu: 10, mem: 10}}
workload: {requests: 128, demand: uniform, holding: 31}
pacing: {await_room: true}
agents: [tetris]
replications: 1000
"""
MONTHS = """\
cluster: {servers: 50, nodes: 2, node: {cpu: 40, mem: 90 GB}, spread_above: {mem: 10 GB}}
workload: {trace: huawei-east-1}
agents: [best-fit]
replications: 8
"""


def command(label: str, file: Path, out: Path, *options: str) -> None:
    """Run it once, and print seconds on the clock and of the CPUs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = perf_counter()
    asked = [sys.executable, "-m", "binwright", "run", str(file), "--fresh", "--out", str(out), *options]
    subprocess.run(asked, check=True, capture_output=True)
    seconds = perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{label:48}{seconds:9.1f}{cpu:9.1f}")


def journal(file: Path, out: Path) -> None:
    """10,000 runs that are all done: what reading the journal and writing runs.parquet takes."""
    first = Batch(load_scenario(file, ["replications=1"]), out).run().runs.to_dicts()[0]
    batch = Batch(load_scenario(file, ["replications=10000"]), out)
    rows = (first | {"run": run.name, "seed": run.seed} for run in batch.runs)
    (out / "journal.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    began, cpu = perf_counter(), process_time()
    batch.run()
    print(f"{'10,000 runs done already':48}{perf_counter() - began:9.1f}{process_time() - cpu:9.1f}")


def main() -> None:
    """Everything, into a folder that is thrown away."""
    print(f"{usable_cpus()} CPUs, load {os.getloadavg()[0]:.1f}\n{'':48}{'seconds':>9}{'CPU s':>9}")
    with tempfile.TemporaryDirectory() as scratch:
        short, months, out = Path(scratch, "short.yaml"), Path(scratch, "months.yaml"), Path(scratch, "out")
        short.write_text(SHORT, "utf-8")
        months.write_text(MONTHS, "utf-8")
        for jobs in ("1", "2"):
            command(f"1,000 short runs, --jobs {jobs}", short, out / "short", "--jobs", jobs)
            details = ("--set", "record=[requests, samples]", "--jobs", jobs)
            command(f"... with requests and samples, --jobs {jobs}", short, out / "details", *details)
        try:
            find("huawei-east-1")
        except WorkloadError as error:
            print(f"the Huawei month was not run: {error}")
        else:
            for jobs in ("1", "2"):
                command(f"8 runs of the Huawei month, --jobs {jobs}", months, out / "months", "--jobs", jobs)
        journal(short, out / "many")


if __name__ == "__main__":
    main()
