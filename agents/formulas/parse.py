"""Reads formulas: expressions over the features of a place, such as `-share_cpu - 2 * least_share_mem`, and functions.

A function may say nothing but assignments, `if` and `return`. Text is read, never run.
"""

import ast
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import chain
from typing import NamedTuple, TypeAlias

from binwright.simcore.errors import UserError, short, suggest

LARGEST = 2000
"""Steps that a formula may have."""


class Step(NamedTuple):
    """One step of a stack machine: a constant, a feature by name, or an operation on what lies on top."""

    op: str
    value: float = 0.0
    name: str = ""


Term: TypeAlias = tuple[Step, ...]
"""A formula or a part of one, which leaves one number on the stack."""


def refused(node: ast.AST) -> UserError:
    """Make the error of a part of Python that has no place in a formula."""
    problem = f"cannot be used in a formula: {short(ast.unparse(node).partition(chr(10))[0])}"
    names = ", ".join((*FUNCTIONS, "min", "max"))
    remedy = f"Use numbers, features, arithmetic, comparisons, {names}; in a function assignments, `if`, `return`, too."
    return UserError(problem, key="score", line=getattr(node, "lineno", None), remedy=remedy)


def term(op: str, *of: Iterable[Step]) -> Term:
    """Make an operation on other terms; refuses what grows too large."""
    steps = (*chain(*of), Step(op))
    if len(steps) > LARGEST:
        raise UserError(f"the formula has more than {LARGEST:,} steps", key="score", remedy="Write a shorter one.")
    return steps


OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
COMPARISONS: dict[type[ast.AST], Callable[[Term, Term], Term]] = {
    ast.Lt: lambda x, y: term("<", x, y), ast.Gt: lambda x, y: term("<", y, x),
    ast.LtE: lambda x, y: term("<=", x, y), ast.GtE: lambda x, y: term("<=", y, x),
    ast.Eq: lambda x, y: term("==", x, y), ast.NotEq: lambda x, y: term("not", term("==", x, y)),
}  # fmt: skip
"""Comparisons by the fewer ones that programs have."""
FUNCTIONS = {
    "abs": 1, "exp": 1, "log": 1, "sqrt": 1, "floor": 1, "ceil": 1, "float": 1, "lost": 1, "pow": 2, "where": 3,
}  # fmt: skip
"""What an expression may call beside `min` and `max`, and with how many arguments.

`lost(x)` is x before the request is placed, less x.
"""
BEFORE = {"after": "free", "share": "free_share"}
"""What of a resource is free before a request is placed, by what is free after it."""
NUMBERS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "tau": math.tau}


def expression(text: str) -> Term:
    """Read an expression: the higher it is, the better the place."""
    with _explained("expression"):
        return _read(ast.parse(text.strip(), mode="eval").body, None)


@contextmanager
def _explained(kind: str) -> Iterator[None]:
    """Turn what Python finds wrong with a formula into a message."""
    try:
        yield
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or str(error) or "too deeply nested"
        remedy, line = "Write one as in `free_cpu - 2 * free_mem`.", getattr(error, "lineno", None)
        raise UserError(f"is no {kind}: {reason}", key="score", line=line, remedy=remedy) from None


def source(text: str, name: str = "score") -> tuple[Term, tuple[str, ...]]:
    """Make a formula of the function `name` in Python source, and list its parameters, which are features."""
    with _explained("Python"):
        tree = ast.parse(text)
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        if (function := functions.get(name)) is None:
            remedy = suggest(name, functions) if functions else f"Write def {name}(free_cpu, demand_cpu): return ..."
            raise UserError(f"the source has no function {name}", key="score", remedy=remedy)
        own = function.args
        features = tuple(argument.arg for argument in (*own.args, *own.kwonlyargs))
        more = [part for part in tree.body if part is not function and not _says_nothing(part)]
        assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
        reserved = {*FUNCTIONS, *NUMBERS, "min", "max"}
        for part in (*more, *function.decorator_list, *(node for node in assigned if node.id in reserved)):
            raise refused(part)
        unnamed = own.vararg or own.kwarg or own.defaults or own.kw_defaults or own.posonlyargs
        if unnamed or reserved & {*features}:
            raise refused(function)
        return _follow(function, function.body, {name: (Step("feature", name=name),) for name in features}), features


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
            raise refused(statement)
    raise refused(within)  # it may return nothing


def _read(node: ast.expr, names: Mapping[str, Term] | None) -> Term:
    """Read a part of an expression; `names` are those of a function, None where all are features."""

    def read(*parts: ast.expr) -> list[Term]:
        return [_read(part, names) for part in parts]

    match node:
        case ast.Attribute() | ast.Name() if (name := _name(node)) in NUMBERS:
            return (Step("constant", NUMBERS[name]),)
        case ast.Name(id=name) if names is None or name in names:
            return (Step("feature", name=name),) if names is None else names[name]
        case ast.Constant(value=int() | float() as value):
            return (Step("constant", float(value)),)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return term(OPERATORS[type(op)], _read(left, names), _read(right, names))
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _read(operand, names)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return term("not", _read(operand, names))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            negated = _read(operand, names)
            is_constant = negated[-1].op == "constant"
            return (Step("constant", -negated[-1].value),) if is_constant else term("negative", negated)
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in COMPARISONS for op in ops):
            parts = read(left, *others)
            tests = [COMPARISONS[type(op)](x, y) for op, x, y in zip(ops, parts, parts[1:], strict=False)]
            return reduce(lambda x, y: term("where", x, y, x), tests)
        case ast.BoolOp(op=op, values=values):  # as Python means them: the first part that decides
            *before, result = read(*values)
            for part in reversed(before):
                result = term("where", part, *((result, part) if isinstance(op, ast.And) else (part, result)))
            return result
        case ast.IfExp(test=test, body=body, orelse=otherwise):
            return term("where", *read(test, body, otherwise))
        case ast.Call(func=function, args=arguments, keywords=[]):
            name, parts = _name(function), read(*arguments)
            if name in ("min", "max") and len(parts) > 1:
                return reduce(lambda x, y: term(name, x, y), parts)
            if FUNCTIONS.get(name) == len(parts) and name == "lost":
                return term("-", map(_before, parts[0]), parts[0])
            if FUNCTIONS.get(name) == len(parts):
                return parts[0] if name == "float" else term("**" if name == "pow" else name, *parts)
    raise refused(node)


def _before(step: Step) -> Step:
    """Replace what is free after placing the request by what is free before."""
    return step._replace(name=re.sub("(?<!free_)(after|share)(?=_)", lambda of: BEFORE[of[0]], step.name))


def _name(node: ast.expr) -> str:
    """Return the name that a node is, also of a name of math; empty for any other node."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "math":
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
