"""Proposes formulas for a search: random ones, and variations of those that it has."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from binwright.agents.formulas.algebra import constants, ranking, walk, with_constants
from binwright.agents.formulas.parse import NotAFormula, Term, constant, expression, term

LONGEST = 80
"""Steps of the longest rule that is proposed."""
DEPTH = 4
_BINARY = (*("+",) * 4, *("-",) * 4, *("*",) * 3, "/", "min", "max")
_WORTH = ("+", "+", "-", "*", "*", "min", "max")
_UNARY = ("abs", "sqrt", "negative")


class RuleProposer:
    """Proposes formulas for servers with these resources and so many nodes; all chance is that of `rng`."""

    def __init__(self, resources: Sequence[str], nodes: int, rng: np.random.Generator) -> None:
        self.rng = rng
        leaves = []
        for name in _names(resources):
            scopes = ("", "server_", "other_", "least_", "most_") if nodes > 1 else ("",)
            leaves += [f"{scope}share_{name}" for scope in scopes] * 2
            leaves += [f"free_{name} / capacity_{name}", f"demand_{name} / capacity_{name}"]
            leaves += [f"least_free_{name} / most_capacity_{name}"] * (nodes > 1)
        self._leaves = list(map(expression, leaves))
        of = ("least_", "most_", "server_") if nodes > 1 else ("server_",)
        shares = [[f"{scope}share_{name}" for name in _names(resources)] for scope in of]
        worth = [one for some in shares for one in (*some, f"min({', '.join(some)})")[: len(some) + (len(some) > 1)]]
        self._worth = list(map(expression, worth))

    def _pick(self, some: Sequence[Term]) -> Term:
        return some[int(self.rng.integers(len(some)))]

    def _number(self) -> Term:
        return constant(rounded(float(10 ** self.rng.uniform(-2, 0.7))))

    def _leaf(self) -> Term:
        return self._number() if self.rng.random() < 0.25 else self._pick(self._leaves)

    def _condition(self) -> Term:
        return term("<", self._pick(self._leaves), self._leaf())

    def _lost(self, depth: int) -> Term:
        """Propose what a server's worth loses: a sum of products, powers and steps of what is free on it."""
        return term("lost", self._worth_tree(depth))

    def _worth_tree(self, depth: int) -> Term:
        kind, leaf = self.rng.random(), self._pick(self._worth)
        if kind < 0.3:
            return term("<=", constant(rounded(float(self.rng.uniform(0.05, 0.95)))), leaf)
        if depth == 0 or kind < 0.4:
            return leaf
        if kind < 0.55:
            return term("**", leaf, self._number())
        op = _WORTH[int(self.rng.integers(len(_WORTH)))]
        return term(op, self._worth_tree(depth - 1), self._worth_tree(depth - 1))

    def _random_tree(self, depth: int) -> Term:
        if depth == 0 or self.rng.random() < 0.2:
            return self._leaf()
        kind, below = self.rng.random(), depth - 1
        if kind < 0.1:
            return term("where", self._condition(), self._random_tree(below), self._random_tree(below))
        if kind < 0.2:
            return term(_UNARY[int(self.rng.integers(len(_UNARY)))], self._random_tree(below))
        return term(_BINARY[int(self.rng.integers(len(_BINARY)))], self._random_tree(below), self._random_tree(below))

    def new(self) -> Term:
        """Propose a formula that has nothing to do with others."""
        if self.rng.random() < 0.5:
            return self._short_enough(lambda: self._random_tree(DEPTH))
        rest = term("*", constant(0.001), self._random_tree(1))  # for places that cost their servers equally much
        return self._short_enough(lambda: term("-", rest, self._lost(DEPTH - 1)))

    def varied(self, formula: Term, other: Term) -> Term:
        """Propose a variation of a formula, perhaps with a part of another one."""
        return self._short_enough(lambda: self._varied(formula, other))

    def _short_enough(self, propose: Callable[[], Term]) -> Term:
        for _ in range(20):
            try:
                found = ranking(propose())
            except NotAFormula:  # it is far too long
                continue
            if 1 < found.size <= LONGEST:
                return found
        return self._pick(self._leaves)

    def _varied(self, formula: Term, other: Term) -> Term:
        rng, parts, numbers = self.rng, list(walk(formula)), constants(formula)
        at, kind = int(rng.integers(len(parts))), rng.random()
        if kind < 0.25 and numbers:
            moved = [one * np.exp(rng.normal(0, 0.6) * (rng.random() < 0.6)) for one in numbers]
            return with_constants(formula, [rounded(float(one)) for one in moved])
        if kind < 0.5:
            which = rng.random()
            more = self._lost(1) if which < 0.3 else self._pick(self._leaves) if which < 0.7 else self._random_tree(2)
            return term("+" if rng.random() < 0.5 else "-", formula, term("*", self._number(), more))
        if kind < 0.6:
            return replaced(formula, at, self._pick(parts[at].of) if parts[at].of else self._leaf())
        if kind < 0.7:
            return replaced(formula, at, self._random_tree(2))
        if kind < 0.8:
            leaves = [number for number, one in enumerate(parts) if not one.of]
            return replaced(formula, leaves[int(rng.integers(len(leaves)))], self._leaf())
        if kind < 0.9:
            return replaced(formula, at, self._pick(list(walk(other))))
        if kind < 0.95:
            return term("+", formula, term("*", self._number(), other))
        return term("where", self._condition(), formula, other)


def rounded(number: float, digits: int = 2) -> float:
    """Keep a few digits of a number, as people write it."""
    return float(f"{number:.{digits}g}")


def replaced(formula: Term, at: int, by: Term) -> Term:
    """Put a formula in place of part number `at`, as `walk` counts them."""
    left = iter(range(formula.size))

    def of(one: Term) -> Term:
        return by if next(left) == at else term(one.op, *map(of, one.of)) if one.of else one

    return of(formula)


def _names(resources: Sequence[str]) -> list[str]:
    return [re.sub(r"\W", "_", resource) for resource in resources]


def heuristics(resources: Sequence[str]) -> dict[str, Term]:
    """Write the shipped heuristics for servers as formulas, for servers whose nodes are alike.

    Between servers that are equal for a heuristic the lowest one gets the request; for a formula the node decides.
    """
    names = _names(resources)
    a, several = names[0], names[:2]

    def least(of: str) -> str:
        parts = [of.format(r=r) for r in several]
        return f"min({', '.join(parts)})" if len(parts) > 1 else parts[0]

    free, other = least("free_{r} / capacity_{r}"), least("other_free_{r} / capacity_{r}")
    slots = " + ".join(
        f"{worth} * ({least('least_share_{r}')} >= {size})" for worth, size in ((4, 0.8), (2, 0.4), (1, 0.2))
    )
    taken = [f"demand_{r} / server_free_{r}" for r in several]
    taken += [f"{x} / ({y})" for x, y in zip(taken, taken[::-1], strict=True) if x != y]
    found = {
        "first-fit": "0",
        "best-fit": f"-server_free_{a} - free_{a} / 1000",
        "best-fit-loose": f"free_{a} / 1000 - server_free_{a}",
        "worst-fit": f"server_free_{a} + free_{a} / 1000",
        "balance-fit": f"where(spread, 0, 1000 * abs({free} - {other}) + {free} - {other})",
        "dot-product": " + ".join(f"demand_{r} / capacity_{r} * (free_{r} / capacity_{r})" for r in names),
        "alpha-evolve": f"-({' + '.join(taken)}) - free_{a} / 1000000",
        "internal": f"free_{a} / 1000 - 10000 * lost({slots}) - server_free_{a}",
    }
    return {name: ranking(expression(text)) for name, text in found.items()}
