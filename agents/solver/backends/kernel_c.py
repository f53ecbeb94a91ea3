"""Print kernels as OpenCL C, so that devices run the very source that numba compiles.

A kernel that can be printed has whole numbers of 64 bits, booleans, the arrays of a `Flat` and a `Room` and parts of
them; assignments, `if`, `while`, and `for` over a range whose variable nothing else assigns; and calls of other such
kernels. Annotations say what its arguments are. UTILFN, which numba's kernels take as an argument, is a function in C.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import dedent
from typing import Any

import numpy as np

OWN = ("dims", "amounts")
"""The arrays that a lane may have in registers."""
TYPES = {
    "int": "long ",
    "bool": "long ",
    "np.uint64": "ulong ",
    "None": "void ",
    "Ints": "GLOBAL long *",
    "Sequence[int]": "GLOBAL long *",
    "Flat": "const Flat ",
    "Room": "const Room ",
}
FUNCTIONS = {"Utilfn": "utilfn", "Scan": "scan"}
"""What takes the place of an argument that is a function, by its annotation."""
HEAD = """
#define GLOBAL __global
static inline long floor_div(const long left, const long right) {
    const long whole = left / right;
    return whole - ((left % right != 0 && (left < 0) != (right < 0)) ? 1 : 0);
}
static inline long floor_mod(const long left, const long right) { return left - right * floor_div(left, right); }
"""
CHOICE, OR, AND, COMPARISON, SUM, PRODUCT, SIGN, ATOM = range(8)
"""How tightly the outermost operator of an expression binds."""
OPERATORS: dict[type[ast.AST], tuple[str, int]] = {
    ast.Or: ("||", OR),
    ast.And: ("&&", AND),
    ast.Lt: ("<", COMPARISON),
    ast.LtE: ("<=", COMPARISON),
    ast.Gt: (">", COMPARISON),
    ast.GtE: (">=", COMPARISON),
    ast.Eq: ("==", COMPARISON),
    ast.NotEq: ("!=", COMPARISON),
    ast.Add: ("+", SUM),
    ast.Sub: ("-", SUM),
    ast.Mult: ("*", PRODUCT),
}
BITS: dict[type[ast.AST], str] = {ast.LShift: "<<", ast.RShift: ">>", ast.BitXor: "^"}
DIVISIONS: dict[type[ast.AST], str] = {ast.FloorDiv: "floor_div", ast.Mod: "floor_mod"}
CASTS = {"int": "(long)", "bool": "0 != ", "np.int64": "(long)", "np.uint64": "(ulong)"}


class Printer:
    """Prints functions in C, each after those that it calls; `lengths` are those of the arrays of a room."""

    def __init__(self, lengths: Mapping[str, int]) -> None:
        self.lengths = lengths
        self.printed: dict[str, str] = {}

    @property
    def text(self) -> str:
        """Return all that is printed."""
        return "\n".join(self.printed.values())

    def add(self, function: Callable[..., Any]) -> None:
        """Print a kernel, or a plain function, and all that it calls."""
        plain = getattr(function, "py_func", function)
        self.add_source(dedent(inspect.getsource(plain)), plain.__globals__)

    def add_source(self, source: str, names: Mapping[str, Any]) -> None:
        """Print a function from its source, where `names` are global."""
        [node] = ast.parse(source).body
        assert isinstance(node, ast.FunctionDef)
        if node.name not in self.printed:
            text = "\n".join(_Function(self, node, names).lines())
            self.printed[node.name] = text


class _Function:
    """Prints one function."""

    def __init__(self, printer: Printer, node: ast.FunctionDef, names: Mapping[str, Any]) -> None:
        self.printer, self.node, self.names = printer, node, names
        kinds = {one.arg: _annotation(one.annotation) for one in node.args.args}
        self.functions = {name: FUNCTIONS[kind] for name, kind in kinds.items() if kind in FUNCTIONS}
        self.arguments = {name: kind for name, kind in kinds.items() if kind not in FUNCTIONS}
        loops = {ast.unparse(one.target) for one in ast.walk(node) if isinstance(one, ast.For)}
        self.locals: dict[str, str] = {}
        for assigned in (one for one in ast.walk(node) if isinstance(one, ast.Assign)):
            for target in assigned.targets:
                if isinstance(target, ast.Name) and target.id not in self.arguments:
                    assert target.id not in loops, f"{node.name} assigns the variable of a loop: {target.id}"
                    self.locals.setdefault(target.id, self._kind(assigned.value))
        self.known = {*self.arguments, *self.locals, *loops}

    def _kind(self, value: ast.expr) -> str:
        """Return the type of a local by what is assigned to it first: what a kernel returns, or a whole number."""
        called = self.names.get(ast.unparse(value.func)) if isinstance(value, ast.Call) else None
        plain = getattr(called, "py_func", called)
        return TYPES[getattr(plain, "__annotations__", {}).get("return", "int")]

    def lines(self) -> Iterator[str]:
        """Print the function."""
        arguments = [f"{self._argument(name, kind)}{name}" for name, kind in self.arguments.items()]
        kind = TYPES[_annotation(self.node.returns)]
        yield f"static inline {kind}{self.node.name}({', '.join(arguments)}) {{"
        yield from (f"{kind}{name} = 0;" for name, kind in self.locals.items())
        yield from self.block(self.node.body)
        yield "}"

    def _argument(self, name: str, kind: str) -> str:
        return "OWN long *" if name in OWN else TYPES[kind]

    def block(self, body: Sequence[ast.stmt]) -> Iterator[str]:
        """Print statements."""
        for one in body:
            yield from self.statement(one)

    def _braced(self, head: str, body: Sequence[ast.stmt]) -> Iterator[str]:
        yield f"{head} {{"
        yield from self.block(body)
        yield "}"

    def statement(self, node: ast.stmt) -> Iterator[str]:
        """Print a statement."""
        value = self.value
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return
            case ast.Expr(value=call):
                yield f"{value(call)};"
            case ast.Assign(targets=[target]):
                yield f"{value(target)} = {value(node.value)};"
            case ast.AugAssign():
                yield f"{value(node.target)} {OPERATORS[type(node.op)][0]}= {value(node.value)};"
            case ast.Return():
                yield f"return {value(node.value)};" if node.value else "return;"
            case ast.If():
                yield from self._braced(f"if ({value(node.test)})", node.body)
                if node.orelse:
                    yield from self._braced("else", node.orelse)
            case ast.While():
                yield from self._braced(f"while ({value(node.test)})", node.body)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=ends)):
                start, stop = (ast.Constant(0), ends[0]) if len(ends) == 1 else ends[:2]
                down = len(ends) == 3
                assert not down or ast.unparse(ends[2]) == "-1"
                begin = f"long {name} = {value(start)}, end_{name} = {value(stop)}"
                steps = f"{name} > end_{name}; {name}--" if down else f"{name} < end_{name}; {name}++"
                yield from self._braced(f"for ({begin}; {steps})", node.body)
            case ast.Break():
                yield "break;"
            case ast.Continue():
                yield "continue;"
            case _:
                raise AssertionError(f"kernels have no {ast.unparse(node)}")

    def value(self, node: ast.expr, least: int = CHOICE) -> str:
        """Print an expression, in brackets unless it binds at least this tightly: compilers take some 250 of them."""
        text, tight = self._value(node)
        return f"({text})" if tight < least else text

    def _value(self, node: ast.expr) -> tuple[str, int]:
        value = self.value
        match node:
            case ast.Constant(value=int(number)):
                return f"{int(number)}L", ATOM
            case ast.Name(id=name):
                return (name if name in self.known else _literal(self.names[name])), ATOM
            case ast.Attribute(value=whole, attr=name):
                return f"{value(whole)}.{name}", ATOM
            case ast.Subscript(value=array, slice=index):
                return f"{value(array)}[{value(index)}]", ATOM
            case ast.BinOp(op=op) if type(op) in DIVISIONS:
                return f"{DIVISIONS[type(op)]}({value(node.left)}, {value(node.right)})", ATOM
            case ast.BinOp(op=op) if type(op) in BITS:
                return f"{value(node.left, ATOM)} {BITS[type(op)]} {value(node.right, ATOM)}", CHOICE
            case ast.BinOp(op=op):
                symbol, tight = OPERATORS[type(op)]
                return f"{value(node.left, tight)} {symbol} {value(node.right, tight + 1)}", tight
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                symbol, tight = OPERATORS[type(op)]
                return f"{value(left, SUM)} {symbol} {value(right, SUM)}", tight
            case ast.BoolOp(op=op, values=values):
                symbol, tight = OPERATORS[type(op)]
                return f" {symbol} ".join(value(one, tight + 1) for one in values), tight
            case ast.UnaryOp(op=op, operand=operand):
                return f"{'!' if isinstance(op, ast.Not) else '-'}{value(operand, ATOM)}", SIGN
            case ast.IfExp():
                return f"{value(node.test, OR)} ? {value(node.body, OR)} : {value(node.orelse, OR)}", CHOICE
            case ast.Call(func=called, args=arguments):
                return self._call(ast.unparse(called), arguments)
            case _:
                raise AssertionError(f"kernels have no {ast.unparse(node)}")

    def _call(self, name: str, arguments: Sequence[ast.expr]) -> tuple[str, int]:
        """Print a call of a kernel, of UTILFN or a built-in function, a conversion, or the length of an array."""
        if name == "len" and isinstance(arguments[0], ast.Attribute):
            return f"{self.printer.lengths[arguments[0].attr]}L", ATOM
        if name in CASTS:
            return f"{CASTS[name]}{self.value(arguments[0], ATOM)}", COMPARISON if name == "bool" else SIGN
        if callable(self.names.get(name)):
            self.printer.add(self.names[name])
        values = [self.value(one) for one in arguments if not (isinstance(one, ast.Name) and one.id in self.functions)]
        return f"{self.functions.get(name, name)}({', '.join(values)})", ATOM


def _literal(constant: int | np.uint64) -> str:
    return f"{constant}UL" if isinstance(constant, np.uint64) else f"{int(constant)}L"


def _annotation(node: ast.expr | None) -> str:
    assert node is not None
    return ast.unparse(node)
