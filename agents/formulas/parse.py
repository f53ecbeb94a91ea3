"""Reads formulas: expressions over the features of a place, such as `-share_cpu - 2 * least_share_mem`, and functions.

A function may say nothing but assignments, `if` and `return`. Text is read, never run.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import NamedTuple

from binwright.simcore.errors import UserError, short, suggest

LARGEST = 2000
"""Steps that a formula may have."""


class Term(NamedTuple):
    """One step of a formula: a constant, a feature by name, or an operation on other terms. `size` counts all steps."""

    op: str
    of: tuple[Term, ...] = ()
    value: float = 0.0
    name: str = ""
    size: int = 1


class NotAFormula(Exception):
    """A part of Python, a node of its syntax tree, has no place in a formula."""


class TooLong(Exception):
    """A formula has too many steps."""


def mistake(problem: str, node: ast.AST | None = None, remedy: str = "", value: object = None) -> UserError:
    """Make the error of a formula, with the line of a part of it."""
    return UserError(problem, key="score", line=getattr(node, "lineno", None), value=value, remedy=remedy)


def constant(value: float) -> Term:
    """Make the term of a number."""
    return Term("constant", value=value)


def term(op: str, *of: Term) -> Term:
    """Make an operation on other terms; raises `TooLong` for what grows too large."""
    size = 1 + sum(part.size for part in of)
    if size > LARGEST:
        raise TooLong
    return Term(op, of, size=size)


OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**",
    ast.Lt: "<", ast.LtE: "<=", ast.Eq: "==", ast.NotEq: "!=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
FUNCTIONS = {
    "abs": 1, "exp": 1, "log": 1, "sqrt": 1, "floor": 1, "ceil": 1, "float": 1, "lost": 1, "pow": 2, "where": 3,
}  # fmt: skip
"""What an expression may call beside `min` and `max`, and with how many arguments.

`lost(x)` is by how much placing the request makes x less, a value of what is free.
"""
NUMBERS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "tau": math.tau}


def expression(text: str) -> Term:
    """Read an expression: the higher it is, the better the place."""
    with _explained("expression", text):
        return _read(ast.parse(text.strip(), mode="eval").body, None)


@contextmanager
def _explained(kind: str, text: str | None) -> Iterator[None]:
    """Turn what is wrong with a formula into one message."""
    try:
        yield
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or str(error) or "too deeply nested"
        made = mistake(f"is no {kind}: {reason}", None, "Write one as in `free_cpu - 2 * free_mem`.", text)
        made.line = getattr(error, "lineno", None) if text is None else None
        raise made from None
    except TooLong:
        raise mistake(f"the formula has more than {LARGEST:,} steps", remedy="Write a shorter one.") from None
    except NotAFormula as part:
        node, names = part.args[0], ", ".join((*FUNCTIONS, "min", "max"))
        also = "" if text else ", assignments, `if`, `return`"
        remedy = f"Use numbers, features, arithmetic, comparisons, {names}{also}."
        problem = f"cannot be used in a formula: {short(ast.unparse(node).partition(chr(10))[0])}"
        raise mistake(problem, None if text else node, remedy, text) from None


def names_in(formula: Term) -> set[str]:
    """List the features that a formula speaks of."""
    found, left = set(), [formula]
    while left:
        part = left.pop()
        left.extend(part.of)
        if part.op == "feature":
            found.add(part.name)
    return found


def parameters(tree: ast.Module, name: str = "score") -> tuple[str, ...]:
    """List the parameters of a module's function, which are features; refuses a module that has no such function."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if name not in functions:
        remedy = suggest(name, functions) if functions else f"Write def {name}(free_cpu, demand_cpu): return ..."
        raise mistake(f"the source has no function {name}", remedy=remedy)
    own = functions[name].args
    if own.vararg or own.kwarg or own.defaults or own.kw_defaults or own.posonlyargs:
        remedy = "Name features only, without defaults: def score(free_cpu, demand_cpu)."
        raise mistake("has other parameters than names", functions[name], remedy)
    return tuple(argument.arg for argument in (*own.args, *own.kwonlyargs))


def source(text: str, name: str = "score") -> tuple[Term, tuple[str, ...]]:
    """Make a formula of the function `name` in Python source, and list its parameters, which are features."""
    with _explained("Python", None):
        tree = ast.parse(text)
        features = parameters(tree, name)
        statements = [statement for statement in tree.body if not _says_nothing(statement)]
        assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
        reserved = {*FUNCTIONS, *NUMBERS, "min", "max"}
        wrong = [part for part in statements if not isinstance(part, ast.FunctionDef) or part.decorator_list]
        for part in [*wrong, *statements[1:], *(node for node in assigned if node.id in reserved)]:
            raise NotAFormula(part)
        function = statements[0]
        assert isinstance(function, ast.FunctionDef)
        if reserved & {*features}:
            raise NotAFormula(function)
        return _follow(function, function.body, {name: Term("feature", name=name) for name in features}), features


def _says_nothing(statement: ast.stmt) -> bool:
    """Tell whether a statement is a docstring, `pass`, or an import: names of math are known without it."""
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_text or isinstance(statement, ast.Pass | ast.Import | ast.ImportFrom)


def _follow(within: ast.stmt, body: Sequence[ast.stmt], names: dict[str, Term]) -> Term:
    """Return what statements `within` another return; changes `names`, what each name stands for."""
    for number, statement in enumerate(body):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        value = getattr(statement, "value", None)
        if isinstance(statement, ast.Return) and value is not None:
            return _read(value, names)
        if isinstance(statement, ast.If):
            branches = ([*part, *body[number + 1 :]] for part in (statement.body, statement.orelse))
            return term(
                "where", _read(statement.test, names), *(_follow(statement, part, dict(names)) for part in branches)
            )
        if isinstance(target, ast.Name) and value is not None and len(getattr(statement, "targets", [target])) == 1:
            if isinstance(statement, ast.AugAssign):
                value = ast.copy_location(ast.BinOp(ast.Name(target.id, ast.Load()), statement.op, value), value)
            names[target.id] = _read(value, names)
        elif not _says_nothing(statement):
            raise NotAFormula(statement)
    raise NotAFormula(within)  # it may return nothing


def _read(node: ast.expr, names: Mapping[str, Term] | None) -> Term:
    """Read a part of an expression; `names` are those of a function, None where all are features."""
    if (name := _name(node)) in NUMBERS:
        return constant(NUMBERS[name])
    if isinstance(node, ast.Name) and (names is None or name in names):
        return Term("feature", name=name) if names is None else names[name]
    if isinstance(node, ast.Constant):
        return _number(node.value)
    if isinstance(node, ast.BinOp):
        return _binary(node, node.op, _read(node.left, names), _read(node.right, names))
    if isinstance(node, ast.UnaryOp):
        return _unary(node, _read(node.operand, names))
    if isinstance(node, ast.Compare):
        parts = [_read(part, names) for part in (node.left, *node.comparators)]
        tests = [_binary(node, op, x, y) for op, x, y in zip(node.ops, parts, parts[1:], strict=False)]
        return reduce(lambda x, y: term("where", x, y, x), tests)
    if isinstance(node, ast.BoolOp):  # as Python means them: the first part that decides
        *before, found = (_read(part, names) for part in node.values)
        for part in reversed(before):
            found = term("where", part, *((found, part) if isinstance(node.op, ast.And) else (part, found)))
        return found
    if isinstance(node, ast.IfExp):
        return term("where", *(_read(part, names) for part in (node.test, node.body, node.orelse)))
    if isinstance(node, ast.Call) and not node.keywords:
        return _call(node, names)
    raise NotAFormula(node)


def _name(node: ast.expr) -> str:
    """Return the name that a node is, also of a name of math; empty for any other node."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "math":
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _number(value: object) -> Term:
    if not isinstance(value, bool | int | float):
        raise mistake("is no number", remedy="Write numbers and features only.", value=value)
    try:
        return constant(float(value))
    except OverflowError:
        return constant(math.inf)


def _binary(node: ast.expr, op: ast.AST, x: Term, y: Term) -> Term:
    """Make an operation on two terms of the fewer ones that programs have."""
    name = OPERATORS.get(type(op))
    if name is None:
        raise NotAFormula(node)
    if name == "!=":
        return term("not", term("==", x, y))
    return term(name.replace(">", "<"), y, x) if name in (">", ">=") else term(name, x, y)


def _unary(node: ast.UnaryOp, value: Term) -> Term:
    if isinstance(node.op, ast.Invert):
        raise NotAFormula(node)
    if isinstance(node.op, ast.USub):
        return constant(-value.value) if value.op == "constant" else term("negative", value)
    return term("not", value) if isinstance(node.op, ast.Not) else value


def _call(node: ast.Call, names: Mapping[str, Term] | None) -> Term:
    name, parts = _name(node.func), [_read(part, names) for part in node.args]
    if name in ("min", "max") and len(parts) > 1:
        return reduce(lambda x, y: term(name, x, y), parts)
    if FUNCTIONS.get(name) != len(parts):
        raise NotAFormula(node)
    return parts[0] if name == "float" else term("**" if name == "pow" else name, *parts)
