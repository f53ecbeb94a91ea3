"""Who is refused on gamma: acceptance by quartiles of size and of bandwidth, python -m benchmarks.nara_refused.

Size is cpu plus mem. Quartiles are those of all requests of a seed; every cell is the mean over the seeds ± half of its
95 % interval. An agent that declines what is expensive accepts little of the last quartiles only. The last two columns
are the share of all requests whose servers had no bandwidth left on their own links, and on a rack's uplinks or beyond.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import binwright as bw
from benchmarks.cells import cell
from simcore.vocabulary import Floats

AGENTS = (
    "tetris, {feasible: {agent: tetris}}, nara, {nara: {mask: feasible}}, {nara: {weights: alpha-uniform-4}}, "
    "{nara: {weights: text-alpha-uniform}}, {best-home: {cut_off: 1, reject: 2.2, spare: 4.5, effort: 0.55}}, "
    "fabric-rl, {fabric-rl: {reject: true}}"
)
GAMMA = ("sweep=null", "cluster.network.topology=gamma", "workload.requests=896", "workload.holding=480")
PARTS = 4


def by_quartile(placed: Floats, amount: Floats) -> Floats:
    """Average `placed` over the requests of each quartile of `amount`, both float64 [requests]; float64 [PARTS]."""
    parts = np.array_split(np.argsort(amount, kind="stable"), PARTS)
    return np.array([placed[part].mean() for part in parts])


def main() -> None:
    """Print a row for every agent."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", default=AGENTS, help="as in a scenario, between commas")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change the scenario")
    parser.add_argument("--out", type=Path, default=Path("results/nara-refused"))
    asked = parser.parse_args()
    wanted = (*GAMMA, *asked.set, f"agents=[{asked.agents}]", f"replications={asked.seeds}", "record=[requests]")
    results = bw.run("nara/table1", *wanted, out=asked.out)
    sizes, widths = ([f"{what} {part + 1}" for part in range(PARTS)] for what in ("size", "bandwidth"))
    names = ["", "all", *sizes, *widths, "own link full", "uplinks full"]
    print(f"| {' | '.join(names)} |\n|{' --- |' * len(names)}")
    for agent in results.done["agent"].unique(maintain_order=True):
        rows = []
        for run in results.done.filter(results.done["agent"] == agent)["run"]:
            found = results.requests(run)
            placed = (found["outcome"] == "placed").to_numpy().astype(np.float64)
            amounts = [(found["cpu"] + found["mem"]).to_numpy(), found["bandwidth"].to_numpy()]
            reason = found["reason"].cast(str).fill_null("")
            own = reason == "no path: server-rack"
            blocked = own.mean(), (reason.str.starts_with("no path") & ~own).mean()
            rows.append([placed.mean(), *np.concatenate([by_quartile(placed, each) for each in amounts]), *blocked])
        print(f"| {agent} | {' | '.join(map(cell, np.array(rows).T))} |", flush=True)


if __name__ == "__main__":
    main()
