"""Plays a function `score` as it is, in plain Python, of which only arithmetic is let through.

It knows no files, no modules but `math`, and no attributes: nothing from which the rest of Python can be reached. It
may still never end, or fill the memory, so that what is not trusted belongs into a process with limits.
"""

from __future__ import annotations

import ast
import builtins
import math
from typing import Any

import numpy as np

from binwright.agents.formulas.parse import NUMBERS, mistake, parameters
from binwright.agents.formulas.program import FEATURE, feature_named, features_of
from binwright.simcore.errors import short
from binwright.simcore.jit import prepared
from binwright.simcore.types import Agent, Placement, Request, View

BUILTINS = (
    *("abs", "all", "any", "bool", "divmod", "enumerate", "float", "int", "len", "list", "max", "min", "pow", "range"),
    *("reversed", "round", "sorted", "sum", "tuple", "zip"),
)
KNOWN: dict[str, Any] = {
    "__builtins__": {"__import__": lambda *_: math},  # `checked` lets nothing else be imported, nor this be named
    **{name: getattr(builtins, name) for name in BUILTINS},
    **{name: getattr(math, name) for name in ("exp", "log", "sqrt", "floor", "ceil")},
    **NUMBERS,
    "where": lambda test, x, y: x if test else y,
    "math": math,
}
"""The names that source may use without importing them."""
_LET_THROUGH = (
    *(ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign),
    *(ast.For, ast.While, ast.If, ast.Break, ast.Continue, ast.Pass, ast.Expr, ast.BoolOp, ast.BinOp, ast.UnaryOp),
    *(ast.IfExp, ast.Compare, ast.Call, ast.Constant, ast.Name, ast.List, ast.Tuple, ast.Subscript, ast.Slice),
    *(ast.ListComp, ast.GeneratorExp, ast.comprehension, ast.expr_context, ast.boolop, ast.operator, ast.unaryop),
    *(ast.cmpop, ast.alias),
)
LONGEST = 100_000
"""Letters of source."""


def checked(text: str) -> ast.Module:
    """Parse source, and refuse all that is more than arithmetic with a reason."""
    if len(text) > LONGEST:
        raise mistake(f"the source has more than {LONGEST:,} letters", remedy="Write a shorter one.")
    try:
        tree = ast.parse(text)
        nodes = list(ast.walk(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        made = mistake(f"is no Python: {getattr(error, 'msg', None) or error}", remedy="Mend the source.")
        made.line = getattr(error, "lineno", None)
        raise made from None
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    modules = {id(node.value) for node in nodes if isinstance(node, ast.Attribute) and _of_math(node)}
    for node in nodes:
        _check(node, id(node) in docstrings, id(node) in modules)
    return tree


def _of_math(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "math"


def _in_math(name: str) -> bool:
    return not name.startswith("_") and hasattr(math, name)


def _check(node: ast.AST, is_docstring: bool, is_module: bool) -> None:
    """Refuse a part of source that is not let through."""
    name = getattr(node, "id", getattr(node, "arg", getattr(node, "name", getattr(node, "attr", ""))))
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [alias.name for alias in node.names]
        plain = all(alias.asname is None for alias in node.names)
        of_math = isinstance(node, ast.ImportFrom) and node.module == "math" and all(map(_in_math, names))
        fine = plain and (of_math or (isinstance(node, ast.Import) and names == ["math"]))
    elif isinstance(node, ast.Attribute):
        fine = _of_math(node) and _in_math(node.attr) and isinstance(node.ctx, ast.Load)
    elif isinstance(node, ast.Constant):
        fine = is_docstring or not (isinstance(node.value, str | bytes | complex) or node.value is ...)
    else:
        fine = isinstance(node, _LET_THROUGH) and not getattr(node, "decorator_list", ())
        if isinstance(node, ast.Name | ast.arg | ast.FunctionDef):
            fine = fine and not name.startswith("_") and (name != "math" or is_module)
    if not fine:
        remedy = "Use numbers, features, arithmetic, if, for, while, functions, and names of math, as in `math.exp(x)`."
        raise mistake("may not be used", node, remedy, name or type(node).__name__)


class ScoreFunction(Agent):
    """The place with the highest score by a function in plain Python, on which the request fits; the first of equals.

    What scores no number, or minus infinity, is nowhere. `decisions` and `lost` count as those of a
    `binwright.agents.formulas.program.Program` do.
    """

    reference = "yours"

    def __init__(self, tree: ast.Module, name: str = "score") -> None:
        self.decisions = self.lost = 0
        self._names, space = parameters(tree, name), dict(KNOWN)
        exec(compile(tree, "<score>", "exec"), space)
        self._score = space[name]

    def start(self, view: View, rng: np.random.Generator) -> None:
        features = [feature_named(name, view.resources) for name in self._names]
        self._steps = np.array([(FEATURE, *one) for one in features], float).reshape(-1, 4)
        arguments = view.free, view.capacity, (1,) * len(view.resources), False, self._steps
        self._look = prepared(features_of, *arguments)

    def decide(self, view: View, request: Request) -> Placement | None:
        places, seen = self._look(view.free, view.capacity, request.demand, request.spread, self._steps)
        best, most, undefined = -1, -math.inf, False
        for place, values in enumerate(seen.T.tolist()):
            score = self._score(*values)
            if not isinstance(score, int | float):
                raise mistake("the score is no number", value=short(repr(score)), remedy="Return one.")
            undefined |= score != score
            if score > most:
                best, most = place, score
        self.decisions += seen.shape[1] > 0
        self.lost += best < 0 and undefined
        if best < 0:
            return None
        server, node = places[:, best].tolist()
        return request.across(server, view.free.shape[1]) if request.spread else request.on(server, node)
