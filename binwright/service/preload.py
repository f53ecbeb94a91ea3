"""Imported once by the process that forks workers, so that they start with everything imported and compiled."""

from __future__ import annotations

from binwright.agents.solver import examples, problem
from binwright.agents.solver.local import portfolio
from binwright.agents.solver.solving.solve import solve
from binwright.service import pool, worker

KINDS = ("vm-placement", "oktopus")
"""A vector problem and one that is not: each search loads its kernels."""
for _kind in KINDS:
    solve(problem(examples()[_kind]), attempts=1)
portfolio.prepare(problem(examples()[KINDS[1]]))  # `solve` does so only where the other searches fail
run = worker.run
pool.settle()
