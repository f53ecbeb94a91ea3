"""Print kernels as OpenCL C, so that devices run the very source that numba compiles.

A kernel that can be printed has whole numbers of 64 bits, booleans, the arrays of a `Flat` and a `Room` and parts of
them; assignments, `if`, `while`, and `for` over a range whose variable nothing else assigns; and calls of other such
kernels. Annotations say what its arguments are; what else it assigns has a sign in C, whatever it is in Python. UTILFN,
which numba's kernels take as an argument, is a function in C.
"""

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from textwrap import dedent
from typing import Any

import numpy as np

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
HEAD = """
#define GLOBAL __global
#define and &&
#define or ||
static inline long floor_div(const long left, const long right) {
    const long whole = left / right;
    return whole - ((left % right != 0 && (left < 0) != (right < 0)) ? 1 : 0);
}
static inline long floor_mod(const long left, const long right) { return left - right * floor_div(left, right); }
static inline long choose(const long test, const long yes, const long no) { return test ? yes : no; }
static inline long is_true(const long value) { return value != 0; }
static inline long is_not(const long value) { return !value; }
"""
CALLS: dict[type[ast.AST], str] = {ast.FloorDiv: "floor_div", ast.Mod: "floor_mod", ast.Not: "is_not"}
"""Functions of C that stand for operators of Python; the others mean the same, and bind as tightly, in both."""
CASTS = {"int": "(long)", "bool": "is_true", "np.int64": "(long)", "np.uint64": "(ulong)"}


class Printer:
    """Prints functions in C, each after those that it calls; `lengths` are those of arrays by name."""

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
            self.printed[node.name] = text  # behind those that it calls


class _Function(ast.NodeTransformer):
    """Prints one function."""

    def __init__(self, printer: Printer, node: ast.FunctionDef, names: Mapping[str, Any]) -> None:
        self.printer, self.node, self.names = printer, node, names
        kinds = {arg.arg: _annotation(arg.annotation) for arg in node.args.args}
        self.utilfn = {name for name, kind in kinds.items() if kind == "Utilfn"}
        self.arguments = {name: kind for name, kind in kinds.items() if kind != "Utilfn"}
        loops = {ast.unparse(loop.target) for loop in ast.walk(node) if isinstance(loop, ast.For)}
        targets = [target for part in ast.walk(node) if isinstance(part, ast.Assign) for target in part.targets]
        assigned = {target.id for target in targets if isinstance(target, ast.Name)}
        assert loops.isdisjoint(assigned), f"{node.name} assigns the variable of a loop"
        self.locals = sorted(assigned - self.arguments.keys())
        self.known = {*self.arguments, *self.locals, *loops}

    def lines(self) -> Iterator[str]:
        """Print the function."""
        arguments = [f"{TYPES[kind]}{name}" for name, kind in self.arguments.items()]
        head = f"static inline {TYPES[_annotation(self.node.returns)]}{self.node.name}({', '.join(arguments)})"
        yield from self.block(head, self.node.body, [f"long {name} = 0;" for name in self.locals])

    def block(self, head: str, body: Sequence[ast.stmt], first: Sequence[str] = ()) -> Iterator[str]:
        """Print statements in braces."""
        yield f"{head} {{"
        yield from first
        for each in body:
            yield from self.statement(each)
        yield "}"

    def statement(self, node: ast.stmt) -> Iterator[str]:
        """Print a statement."""
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return
            case ast.If():
                yield from self.block(f"if ({self.text(node.test)})", node.body)
                if node.orelse:
                    yield from self.block("else", node.orelse)
            case ast.While():
                yield from self.block(f"while ({self.text(node.test)})", node.body)
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=[*start, stop])) if len(start) < 2:
                begin = f"long {name} = {self.text(start[0]) if start else 0}, end_{name} = {self.text(stop)}"
                yield from self.block(f"for ({begin}; {name} < end_{name}; {name}++)", node.body)
            case ast.Expr() | ast.Assign() | ast.AugAssign() | ast.Return() | ast.Break() | ast.Continue():
                yield f"{self.text(node)};"
            case _:
                raise AssertionError(f"kernels have no {ast.unparse(node)}")

    def text(self, node: ast.AST) -> str:
        """Print an expression, or a statement without others in it: as Python does, once its parts are those of C."""
        return ast.unparse(self.visit(node))

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Print a whole number, or a boolean."""
        return ast.Name(f"{int(node.value)}L")  # type: ignore[arg-type]  # kernels have nothing else

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Print a variable, or the value of what is global."""
        if node.id in self.known:
            return node
        number = self.names[node.id]
        return ast.Name(f"{int(number)}{'UL' if isinstance(number, np.uint64) else 'L'}")

    def visit_operation(self, node: ast.BinOp | ast.UnaryOp) -> ast.expr:
        """Print an operation: a call where C has no such operator."""
        self.generic_visit(node)
        operands = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
        name = CALLS.get(type(node.op))
        return ast.Call(ast.Name(name), operands, []) if name else node

    visit_BinOp = visit_UnaryOp = visit_operation

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """Print a choice: both sides are evaluated."""
        return ast.Call(ast.Name("choose"), [self.visit(part) for part in (node.test, node.body, node.orelse)], [])

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Print a call of a kernel, of UTILFN or a built-in function, a conversion, or the length of an array."""
        name, arguments = ast.unparse(node.func), node.args
        if name == "len" and isinstance(arguments[0], ast.Attribute):
            return ast.Name(f"{self.printer.lengths[arguments[0].attr]}L")
        if name not in CASTS and callable(self.names.get(name)):
            self.printer.add(self.names[name])
        values = [self.visit(arg) for arg in arguments if not (isinstance(arg, ast.Name) and arg.id in self.utilfn)]
        return ast.Call(ast.Name("utilfn" if name in self.utilfn else CASTS.get(name, name)), values, [])


def _annotation(node: ast.expr | None) -> str:
    assert node is not None
    return ast.unparse(node)
