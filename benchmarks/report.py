"""`python -m benchmarks.report`: how long a report over 1,000 runs takes, and how large it is. Prints; never fails.

Wanted: under 20 s and under 8 MB. The time is that of the whole command `binwright report`.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import binwright as bw

AGENTS = """
agents: [random, first-fit, worst-fit, best-fit, {best-fit: {node: loose}}, balance-fit, dot-product, internal]
"""
SERVERS = """
cluster: {servers: 10, nodes: 2, node: {cpu: 40, mem: 90 GB}, spread_above: {mem: 10 GB}}
workload:
  requests: 500
  arrivals: {poisson: {every: 30 s}}
  flavours: [{cpu: 1, mem: 2 GB, weight: 6}, {cpu: 4, mem: 8 GB, weight: 2}, {cpu: 16, mem: 32 GB}]
  lifetimes: {lognormal: {median: 60 min, sigma: 1.5}}
"""
FABRIC = """
cluster: {network: {topology: alpha}, node: {cpu: 10, mem: 10}}
workload: {demand: uniform, requests: 128, holding: 31, bandwidth: [0.1, 1.0], step: 1 s}
pacing: {step: 1 s, await_room: true}
agents: [random, nulb, nalb, tetris, {tetris: {penalty: 0.2}}, {tetris: {penalty: 0.3}}, {tetris: {penalty: 0.4}},
  {tetris: {penalty: 0.5}}, {tetris: {penalty: 0.7}}, {tetris: {penalty: 0.8}}]
"""
MANY = """
cluster: {servers: 5000, nodes: 2, node: {cpu: 40, mem: 90 GB}, spread_above: {mem: 10 GB}}
workload:
  requests: 50000
  arrivals: {poisson: {every: 0.1 s}}
  flavours: [{cpu: 1, mem: 2 GB, weight: 6}, {cpu: 4, mem: 8 GB, weight: 2}, {cpu: 16, mem: 32 GB}]
  lifetimes: {lognormal: {median: 60 min, sigma: 1.5}}
"""
ALL = "record: [requests, samples, states]\n"
POINTS = f"sweep: {{product: {{cluster.servers: {[*range(1, 51)]}}}}}"
CASES = {
    "alpha, 10 agents x 100 seeds": FABRIC + ALL + "replications: 100",
    "the same, nothing recorded": FABRIC + "replications: 100",
    "servers, 8 agents x 125 seeds": SERVERS + AGENTS + ALL + "replications: 125",
    "50 points x 8 agents x 3 seeds": SERVERS + AGENTS + ALL + "replications: 3\n" + POINTS,
    "5,000 servers, 8 agents": MANY + AGENTS + ALL,
}


def _children() -> float:
    """Seconds of processor time of all commands so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print a line per case."""
    print(f"{'case':34}{'runs':>6}{'running s':>11}{'report s':>10}{'CPU s':>8}{'MB':>7}")
    for name, scenario in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "case.yaml")
            file.write_text(scenario, "utf-8")
            began = perf_counter()
            results = bw.run(file, out=Path(folder, "results", "case"))
            assert not len(results.failed), results.failed["error"][0]
            ran = perf_counter() - began
            began, used = perf_counter(), _children()
            command = [sys.executable, "-m", "binwright", "report", str(results.folder)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seconds, cpu = perf_counter() - began, _children() - used
            size = (results.folder / "report.html").stat().st_size / 1e6
            print(f"{name:34}{len(results.runs):6}{ran:11.1f}{seconds:10.1f}{cpu:8.1f}{size:7.2f}", flush=True)


if __name__ == "__main__":
    main()
