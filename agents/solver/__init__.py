"""A language for allocation problems and solvers that search in parallel."""

from agents.solver.specification.load import examples, load_problem, problem

__all__ = ["examples", "load_problem", "problem"]
