"""An allocation problem in Python: virtual machines, as few servers as possible, replicas apart.

Run it with `python examples/specification/study.py`; it writes results/specification.png.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import binwright as bw
from binwright.agents.solver import problem

chance = np.random.default_rng(3)
COUNT = 40
demand = np.column_stack([chance.integers(1, 9, COUNT), chance.integers(2, 33, COUNT)])  # cores and GB

packing = problem(
    """
    BALLS len(DEMAND)
    BINS ?
    RESOURCES CPU[s in BINS] => 16, MEM[s in BINS] => 64
    procedure UTILFN(BALL, BIN, ALLOC)
        UTIL.CPU[BIN] += DEMAND[BALL, 0]
        UTIL.MEM[BIN] += DEMAND[BALL, 1]
    end
    FOES 2 * pair, 2 * pair + 1 for pair in 10  # of replicas, never on one server
    """,
    tables={"DEMAND": demand},
)
answer = bw.solve(packing, time=5, seed=0)
print(f"{answer.status}: {answer.bins} servers, at least {answer.bound} are needed")

alloc = np.array(answer.alloc)
figure, panels = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
for column, (axes, name, size) in enumerate(zip(panels, ("cores", "GB"), (16, 64), strict=True)):
    for server in range(answer.bins):
        bottom = 0
        for machine in np.flatnonzero(alloc == server):
            colour = "#D55E00" if machine < 20 else "#0072B2"
            height = int(demand[machine, column])
            axes.bar(server, height, bottom=bottom, color=colour, edgecolor="white", linewidth=0.8)
            bottom += height
    axes.axhline(size, color="black", linewidth=0.8)
    axes.set(xlabel="server", ylabel=name, title=f"{name} taken (replicas in orange)")
Path("results").mkdir(exist_ok=True)
figure.savefig("results/specification.png", dpi=100)
