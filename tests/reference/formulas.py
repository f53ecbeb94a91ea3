"""What a formula chooses, slowly: Python evaluates the expression for each place, with floats that divide by zero."""

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.reference.agents import Demand, Room, Where, after, feasible

UNIT = 10**6


def features(free: Room, capacity: Room, demand: Demand, spread: bool, where: Where) -> dict[str, float]:
    """Every feature of a place by its name, of resources a, b, c."""
    server, node = where
    has, installed = free[server], capacity[server]
    then = after(free, demand, spread, where)
    nodes = range(len(has))
    own = list(nodes) if spread else [node]
    found = {"nodes": float(len(has)), "spread": float(spread)}
    for r, resource in enumerate("abc"[: len(demand)]):
        found[f"demand_{resource}"] = demand[r] / UNIT
        there = [n for n in nodes if installed[n][r] > 0]
        for name, amounts in (("free", has), ("after", then), ("capacity", installed)):
            for scope, which in (("", own), ("server_", list(nodes)), ("other_", [n for n in nodes if n not in own])):
                found[f"{scope}{name}_{resource}"] = sum(amounts[n][r] for n in which) / UNIT
            found[f"least_{name}_{resource}"] = min((amounts[n][r] / UNIT for n in there), default=0.0)
            found[f"most_{name}_{resource}"] = max((amounts[n][r] / UNIT for n in there), default=0.0)
        for scope, which in (("", own), ("server_", list(nodes)), ("other_", [n for n in nodes if n not in own])):
            total = sum(installed[n][r] for n in which)
            for name, amounts in (("share", then), ("free_share", has)):
                found[f"{scope}{name}_{resource}"] = sum(amounts[n][r] for n in which) / total if total else 0.0
        for name, amounts in (("share", then), ("free_share", has)):
            shares = [amounts[n][r] / installed[n][r] for n in there]
            found[f"least_{name}_{resource}"] = min(shares, default=0.0)
            found[f"most_{name}_{resource}"] = max(shares, default=0.0)
    return found


def _guarded(function: Callable[[float], float], pole: float | None) -> Callable[[float], Any]:
    """A function of math that gives infinity or no number where that raises an error."""

    def call(x: float) -> Any:
        try:
            return np.float64(function(float(x)))
        except OverflowError:
            return np.float64(math.inf) if pole is None else np.float64(x)
        except ValueError:
            return np.float64(pole if x == 0 and pole is not None else x if x == math.inf else math.nan)

    return call


FUNCTIONS = {
    "exp": _guarded(math.exp, None), "log": _guarded(math.log, -math.inf), "sqrt": _guarded(math.sqrt, None),
    "floor": np.floor, "ceil": np.ceil, "where": lambda test, x, y: x if test else y, "min": min, "max": max,
    "abs": abs,
}  # fmt: skip


class _InFloats(ast.NodeTransformer):
    """Makes floats of numpy, which divide by zero, of constants, comparisons and `not`."""

    def visit(self, node: Any) -> Any:
        self.generic_visit(node)
        if isinstance(node, ast.Constant | ast.Compare) or (
            isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        ):
            return ast.Call(ast.Name("number", ast.Load()), [node], [])
        return node


class _Lost(ast.NodeTransformer):
    """Replaces `lost(x)` by what x is before the request is placed, less what it is afterwards."""

    def __init__(self, values: dict[str, float]) -> None:
        self.values = values

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if getattr(node.func, "id", "") != "lost":
            self.generic_visit(node)
            return node
        text = ast.unparse(node.args[0])
        before = dict(self.values)
        for name in before:
            for scope in ("", "server_", "other_", "least_", "most_"):
                for then, now in (("after_", "free_"), ("share_", "free_share_")):
                    if name.startswith(scope + then):
                        before[name] = self.values[scope + now + name.removeprefix(scope + then)]
        with np.errstate(all="ignore"):
            lost = np.float64(score(text, before)) - np.float64(score(text, self.values))
        return ast.Constant(float(lost))


def score(text: str, values: dict[str, float]) -> float:
    """What an expression is of such features."""
    body = _Lost(values).visit(ast.parse(text, mode="eval").body)
    tree = ast.fix_missing_locations(ast.Expression(_InFloats().visit(body)))
    known = {name: np.float64(value) for name, value in values.items()}
    with np.errstate(all="ignore"):
        code = compile(tree, "<expression>", "eval")
        return float(eval(code, {"__builtins__": {}, "number": np.float64, **FUNCTIONS, **known}))


def chosen(text: str, free: Room, capacity: Room, demand: Demand, spread: bool) -> Where | None:
    """The first of the places with the highest score; nowhere is one that scores no number, or minus infinity."""
    best, most = None, -math.inf
    for where in feasible(free, demand, spread):
        found = score(text, features(free, capacity, demand, spread, where))
        if found > most:
            best, most = where, found
    return best
