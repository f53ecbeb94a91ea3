"""Proposes random formulas for a search."""

import re
from collections.abc import Sequence

import numpy as np

from binwright.agents.formulas.parse import expression

LONGEST, DEPTH = 80, 4
"""Steps of the longest rule that is proposed, and how deep its operations are nested."""
_BINARY = (*("+",) * 4, *("-",) * 4, *("*",) * 3, "/", "min", "max")
_WORTH = ("+", "+", "-", "*", "*", "min", "max")
_UNARY = ("abs(", "sqrt(", "-(")


class Proposer:
    """Proposes formulas for servers with these resources and so many nodes; all chance is that of `rng`."""

    def __init__(self, resources: Sequence[str], nodes: int, rng: np.random.Generator) -> None:
        self._rng, names = rng, [re.sub(r"\W", "_", resource) for resource in resources]
        scopes = ("", "server_", "other_", "least_", "most_") if nodes > 1 else ("",)
        self._leaves: list[str] = []
        for name in names:
            self._leaves += [f"{scope}share_{name}" for scope in scopes] * 2
            self._leaves += [f"free_{name} / capacity_{name}", f"demand_{name} / capacity_{name}"]
            self._leaves += [f"least_free_{name} / most_capacity_{name}"] * (nodes > 1)
        self._worth: list[str] = []
        for scope in ("least_", "most_", "server_") if nodes > 1 else ("server_",):
            shares = [f"{scope}share_{name}" for name in names]
            self._worth += [*shares, *([f"min({', '.join(shares)})"] if len(shares) > 1 else [])]

    def new(self) -> str:
        """Propose a formula: any, or what a server's worth loses by a request, with a little of any other."""
        while True:
            if self._rng.random() < 0.5:
                text = self._tree(DEPTH)
            else:
                text = f"0.001 * {self._tree(1)} - lost({self._worth_tree(DEPTH - 1)})"
            if 1 < expression(text).size <= LONGEST:
                return text

    def _pick(self, some: Sequence[str]) -> str:
        return some[int(self._rng.integers(len(some)))]

    def _number(self) -> str:
        return f"{10 ** self._rng.uniform(-2, 0.7):.2g}"

    def _leaf(self) -> str:
        return self._number() if self._rng.random() < 0.25 else f"({self._pick(self._leaves)})"

    def _tree(self, depth: int) -> str:
        if depth == 0 or self._rng.random() < 0.2:
            return self._leaf()
        kind, below = self._rng.random(), depth - 1
        if kind < 0.1:
            return f"where({self._leaf()} < {self._leaf()}, {self._tree(below)}, {self._tree(below)})"
        if kind < 0.2:
            return f"{self._pick(_UNARY)}{self._tree(below)})"
        return _joined(self._pick(_BINARY), self._tree(below), self._tree(below))

    def _worth_tree(self, depth: int) -> str:
        """Propose what a server is worth: a sum of products, powers and steps of what is free on it."""
        kind, leaf = self._rng.random(), self._pick(self._worth)
        if kind < 0.3:
            return f"({self._rng.uniform(0.05, 0.95):.2g} <= {leaf})"
        if depth == 0 or kind < 0.4:
            return leaf
        if kind < 0.55:
            return f"{leaf} ** {self._number()}"
        return _joined(self._pick(_WORTH), self._worth_tree(depth - 1), self._worth_tree(depth - 1))


def _joined(op: str, x: str, y: str) -> str:
    return f"{op}({x}, {y})" if op in ("min", "max") else f"({x} {op} {y})"
