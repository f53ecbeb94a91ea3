"""Reads formulas: an expression, or Python source with a function `score`, as one expression of features.

Assignments, `if`, helper functions and loops over a `range` are followed until only arithmetic is left. Python that
cannot be followed in this way, such as `while`, is for `binwright.agents.formulas.source`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple, NoReturn

from binwright.simcore.errors import UserError, suggest

LARGEST = 2000
"""Steps that a formula may have."""
PATIENCE = 20_000
"""Statements and parts of expressions that are followed."""


class Term(NamedTuple):
    """One step of a formula: a constant, a feature by name, or an operation on other terms. `size` counts all steps."""

    op: str
    of: tuple[Term, ...] = ()
    value: float = 0.0
    name: str = ""
    size: int = 1


class NotAFormula(Exception):
    """Source is Python, but no formula can be made of it."""


class TooLong(NotAFormula):
    """A formula of it would have too many steps."""


def mistake(problem: str, node: ast.AST | None = None, remedy: str = "", value: object = None) -> UserError:
    """Say what is wrong with a formula, and in which line."""
    return UserError(problem, key="score", line=getattr(node, "lineno", None), value=value, remedy=remedy)


def constant(value: float) -> Term:
    """Make the term of a number."""
    return Term("constant", value=value)


def term(op: str, *of: Term) -> Term:
    """Make an operation on other terms; raises `TooLong` for what grows too large."""
    size = 1 + sum(one.size for one in of)
    if size > LARGEST:
        raise TooLong
    return Term(op, of, size=size)


BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**",
    ast.Lt: "<", ast.LtE: "<=", ast.Eq: "==", ast.NotEq: "!=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
UNARY: dict[str, Callable[[float], float]] = {
    "abs": abs, "exp": math.exp, "log": math.log, "sqrt": math.sqrt, "floor": math.floor, "ceil": math.ceil,
}  # fmt: skip
FUNCTIONS = (*UNARY, "pow", "min", "max", "where", "lost")
"""What an expression may call. `lost(x)` is by how much placing the request makes x less, a value of what is free."""
KNOWS = "Make it a parameter if it is a feature, or assign it before."
NUMBERS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "tau": math.tau}


def binary(op: str, x: Term, y: Term) -> Term:
    """Make an operation on two terms of the fewer ones that programs have."""
    if op == "!=":
        return term("not", term("==", x, y))
    if op in (">", ">="):
        return term({">": "<", ">=": "<="}[op], y, x)
    return term(op, x, y)


def expression(text: str) -> Term:
    """Read an expression: the higher it is, the better the place."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        said = getattr(error, "msg", None) or str(error) or "too deeply nested"
        raise mistake(
            f"is no expression: {said}", value=text, remedy="Write one as in `free_cpu - 2 * free_mem`."
        ) from None
    try:
        return _Reader().value(tree.body, {})
    except RecursionError:
        raise mistake("is too deeply nested", value=text, remedy="Write it with fewer brackets.") from None
    except TooLong:
        raise mistake(f"the formula has more than {LARGEST:,} steps", remedy="Write a shorter one.") from None
    except NotAFormula as part:
        remedy = f"Use numbers, features, arithmetic, comparisons, and {', '.join(FUNCTIONS)}."
        raise mistake(f"cannot be used in a formula: {part}", value=text, remedy=remedy) from None
    except UserError as error:
        error.line = None  # there is one only
        raise


def source(tree: ast.Module, name: str = "score") -> tuple[Term, tuple[str, ...]]:
    """Make a formula of a module's function `name`, and list its parameters; raises `NotAFormula` if there is none."""
    reader, names = _Reader(tree), parameters(tree, name)
    try:
        for one in tree.body:
            reader.define(one)
        function = reader.functions[name]
        found = reader.enter(function, {one: Term("feature", name=one) for one in names})
    except RecursionError:  # it calls itself, as far as can be told
        raise NotAFormula from None
    if found is None:
        raise mistake("does not return a number in every case", function, "End it with `return`.")
    for unknown in sorted(names_in(found) - set(names)):
        raise mistake("is a name that the function does not know", function, KNOWS, unknown)
    return found, names


def _variables(tree: ast.AST) -> set[str]:
    """List the names that source assigns, parameters among them."""
    stored = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return stored | {one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)}


def _returning(tree: ast.Module) -> set[ast.AST]:
    """Find the parts of source in which something is returned."""
    found: set[ast.AST] = set()
    for one in reversed(list(ast.walk(tree))):  # each comes behind its parts
        if isinstance(one, ast.Return) or any(part in found for part in ast.iter_child_nodes(one)):
            found.add(one)
    return found


def names_in(formula: Term) -> set[str]:
    """List the features that a formula speaks of."""
    found, left = set(), [formula]
    while left:
        one = left.pop()
        left.extend(one.of)
        if one.op == "feature":
            found.add(one.name)
    return found


def parameters(tree: ast.Module, name: str) -> tuple[str, ...]:
    """List the parameters of a module's function, which are features; refuses a module that has no such function."""
    found = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == name]
    if not found:
        there = [one.name for one in tree.body if isinstance(one, ast.FunctionDef)]
        remedy = suggest(name, there) if there else f"Write def {name}(free_cpu, demand_cpu): return ..."
        raise mistake(f"the source has no function {name}", remedy=remedy)
    asked = found[-1].args
    if asked.vararg or asked.kwarg or asked.defaults or asked.kw_defaults or asked.posonlyargs:
        remedy = "Name features only, without defaults: def score(free_cpu, demand_cpu)."
        raise mistake("has other parameters than names", found[-1], remedy)
    return tuple(one.arg for one in (*asked.args, *asked.kwonlyargs))


class _Reader:
    """Follows statements and expressions; `functions` and `module` are what a module defines and assigns.

    A name has one meaning here: source that assigns one which it also calls, defines or imports is `NotAFormula`.
    """

    def __init__(self, tree: ast.Module | None = None) -> None:
        tree = tree or ast.Module([], [])
        self.module: dict[str, Term] = {}
        self.functions: dict[str, ast.FunctionDef] = {}
        self._local: dict[str, set[str]] = {}
        self._returning, self._variables = _returning(tree), _variables(tree)
        self._left = PATIENCE
        nodes = list(ast.walk(tree))
        defined = {one.name for one in nodes if isinstance(one, ast.FunctionDef)}
        imported = {each.name for one in nodes if isinstance(one, ast.ImportFrom) for each in one.names}
        called = {one.func.id for one in nodes if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)}
        if self._variables & (defined | imported | called) or defined & imported:
            raise NotAFormula

    def define(self, statement: ast.stmt) -> None:
        """Follow a statement of the module itself."""
        if isinstance(statement, ast.FunctionDef):
            self.functions[statement.name] = statement
            self._local[statement.name] = _variables(statement)
        elif statement in self._returning:
            raise NotAFormula
        else:
            self.run([statement], self.module)

    def enter(self, function: ast.FunctionDef, given: dict[str, Term]) -> Term | None:
        """Follow a function with its arguments; what it assigns hides what the module assigns by the same name."""
        local = self._local[function.name]
        return self.run(function.body, {name: of for name, of in self.module.items() if name not in local} | given)

    def _step(self, node: ast.AST) -> None:
        self._left -= 1
        if self._left < 0:
            raise NotAFormula

    def run(self, body: Sequence[ast.stmt], scope: dict[str, Term]) -> Term | None:
        """Follow statements; returns what they return, or None where they go on behind their end. Changes `scope`."""
        for number, statement in enumerate(body):
            self._step(statement)
            if isinstance(statement, ast.Return):
                if statement.value is None:
                    raise mistake("returns nothing", statement, "Return a number.")
                return self.value(statement.value, scope)
            if isinstance(statement, ast.If):
                test = self.value(statement.test, scope)
                rest = body[number + 1 :]
                if statement in self._returning:
                    branches = [self.run([*some, *rest], dict(scope)) for some in (statement.body, statement.orelse)]
                    if branches[0] is None or branches[1] is None:
                        return None
                    return term("where", test, *(one for one in branches if one))
                yes, no = dict(scope), dict(scope)
                self.run(statement.body, yes)
                self.run(statement.orelse, no)
                for name in yes.keys() & no.keys():
                    scope[name] = yes[name] if yes[name] is no[name] else term("where", test, yes[name], no[name])
            elif isinstance(statement, ast.For):
                if statement in self._returning:
                    raise NotAFormula
                for each in self._range(statement, scope):
                    assert isinstance(statement.target, ast.Name)
                    scope[statement.target.id] = constant(each)
                    self.run(statement.body, scope)
            else:
                self._assign(statement, scope)
        return None

    def _range(self, loop: ast.For, scope: dict[str, Term]) -> range:
        call = loop.iter
        simple = isinstance(loop.target, ast.Name) and not loop.orelse and isinstance(call, ast.Call)
        if not simple or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.keywords:
            raise NotAFormula
        bounds = [self.value(one, scope) for one in call.args]
        if call.func.id != "range" or any(one.op != "constant" or one.value % 1 for one in bounds) or not bounds:
            raise NotAFormula
        found = range(*(int(one.value) for one in bounds[:3]))
        if len(found) > LARGEST:
            raise NotAFormula
        return found

    def _assign(self, statement: ast.stmt, scope: dict[str, Term]) -> None:
        if isinstance(statement, ast.Assign) and all(isinstance(one, ast.Name) for one in statement.targets):
            value = self.value(statement.value, scope)
            scope.update({one.id: value for one in statement.targets if isinstance(one, ast.Name)})
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            scope[statement.target.id] = self.value(statement.value, scope)
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            before = self._named(statement.target, scope)
            scope[statement.target.id] = self._binary(statement.op, before, self.value(statement.value, scope))
        elif not (isinstance(statement, ast.Pass | ast.Import | ast.ImportFrom) or _is_text(statement)):
            raise NotAFormula

    def _named(self, node: ast.Name, scope: dict[str, Term]) -> Term:
        if node.id in scope:
            return scope[node.id]
        if node.id in self._variables:
            raise NotAFormula  # it is assigned elsewhere, or in some cases only
        if node.id in NUMBERS:
            return constant(NUMBERS[node.id])
        return Term("feature", name=node.id)

    def _binary(self, op: ast.AST, x: Term, y: Term) -> Term:
        if type(op) not in BINARY:
            raise NotAFormula
        return binary(BINARY[type(op)], x, y)

    def value(self, node: ast.expr, scope: dict[str, Term]) -> Term:
        """Follow an expression."""
        self._step(node)
        if isinstance(node, ast.Constant):
            return _number(node)
        if isinstance(node, ast.Name):
            return self._named(node, scope)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "math":
            if node.attr in NUMBERS:
                return constant(NUMBERS[node.attr])
        elif isinstance(node, ast.BinOp):
            return self._binary(node.op, self.value(node.left, scope), self.value(node.right, scope))
        elif isinstance(node, ast.UnaryOp):
            return self._unary(node, scope)
        elif isinstance(node, ast.Compare):
            parts = [self.value(one, scope) for one in (node.left, *node.comparators)]
            tests = [self._binary(op, x, y) for op, x, y in zip(node.ops, parts, parts[1:], strict=False)]
            return reduce(lambda x, y: term("where", x, y, x), tests)
        elif isinstance(node, ast.BoolOp):
            return self._either(node.op, [self.value(one, scope) for one in node.values])
        elif isinstance(node, ast.IfExp):
            return term("where", *(self.value(one, scope) for one in (node.test, node.body, node.orelse)))
        elif isinstance(node, ast.Call) and not node.keywords:
            return self._call(node, scope)
        return _not_a_formula(node)

    def _either(self, op: ast.boolop, parts: list[Term]) -> Term:
        """Make `and` and `or` as Python means them: the first part that decides."""
        *before, found = parts
        for one in reversed(before):
            found = term("where", one, found, one) if isinstance(op, ast.And) else term("where", one, one, found)
        return found

    def _unary(self, node: ast.UnaryOp, scope: dict[str, Term]) -> Term:
        value = self.value(node.operand, scope)
        if isinstance(node.op, ast.UAdd):
            return value
        if isinstance(node.op, ast.USub):
            return constant(-value.value) if value.op == "constant" else term("negative", value)
        return term("not", value) if isinstance(node.op, ast.Not) else _not_a_formula(node)

    def _call(self, node: ast.Call, scope: dict[str, Term]) -> Term:
        called = node.func
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "math":
            name = called.attr
        elif isinstance(called, ast.Name):
            name = called.id
        else:
            return _not_a_formula(node)
        parts = [self.value(one, scope) for one in node.args]
        if name in self.functions and isinstance(called, ast.Name):
            return self._inlined(self.functions[name], parts)
        if (name in UNARY or name == "lost") and len(parts) == 1:
            return term(name, *parts)
        if name == "float" and len(parts) == 1:
            return parts[0]
        if name == "pow" and len(parts) == 2:
            return term("**", *parts)
        if name in ("min", "max") and len(parts) > 1 and isinstance(called, ast.Name):
            return reduce(lambda x, y: term(name, x, y), parts)
        if name == "where" and len(parts) == 3:
            return term("where", *parts)
        return _not_a_formula(node)

    def _inlined(self, function: ast.FunctionDef, parts: list[Term]) -> Term:
        names = [one.arg for one in function.args.args]
        if len(names) != len(parts):
            raise NotAFormula  # it has defaults, or Python says what is wrong
        found = self.enter(function, dict(zip(names, parts, strict=True)))
        if found is None:
            raise mistake(f"{function.name} does not return a number in every case", function)
        return found


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _number(node: ast.Constant) -> Term:
    value: Any = node.value
    if not isinstance(value, bool | int | float):
        raise mistake("is no number", node, "Write numbers and features only.", value)
    try:
        return constant(float(value))
    except OverflowError:
        return constant(math.inf)


def _not_a_formula(node: ast.AST) -> NoReturn:
    raise NotAFormula(ast.unparse(node))
