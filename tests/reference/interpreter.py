"""Run a program of UTILFN in plain Python, node by node: this defines what programs mean."""

import ast
from collections.abc import Sequence
from contextlib import suppress

from binwright.agents.solver.model.program import BALL, BIN, OPERATIONS, Program, Reject, placed
from binwright.agents.solver.model.source import utilfn

SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
    ast.BitAnd: "&", ast.BitOr: "|", ast.Lt: "<", ast.LtE: "<=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
"""How operators are written."""


class _Ended(Exception):
    """Raised where UTILFN returns."""


def call(program: Program, ball: int, place: int, alloc: Sequence[int]) -> list[tuple[int, int]] | None:
    """Run the program once, and return (dimension, millionths) of each addition; None if it rejects.

    `alloc` is [balls], -1 for NULL; a program that does not read ALLOC may be given an empty one.
    """
    end, added = _call(program, ball, place, alloc)
    return None if end < 0 else added


def rejection(program: Program, ball: int, place: int, alloc: Sequence[int]) -> Reject | None:
    """Return what rejects the ball, None if nothing does."""
    end, _ = _call(program, ball, place, alloc)
    return None if end >= 0 else program.rejects[-1 - end]


def _call(program: Program, ball: int, place: int, alloc: Sequence[int]) -> tuple[int, list[tuple[int, int]]]:
    """Run the program, and return what it returns, and its additions."""
    values = {BALL: ball, BIN: place, "n": 0}
    arrays: dict[str, dict[int, int]] = {"dims": {}, "amounts": {}}
    [function] = ast.parse(utilfn(program, spelt=True, early=False)[0]).body
    assert isinstance(function, ast.FunctionDef)

    def value(node: ast.AST | None) -> int:
        match node:
            case ast.Constant(value=int(number)):
                return number
            case ast.Name(id=name):
                return values[name]
            case ast.UnaryOp(op=ast.USub()):
                return -value(node.operand)
            case ast.UnaryOp(op=ast.Not()):
                return int(not value(node.operand))
            case ast.BinOp():
                return OPERATIONS[SYMBOLS[type(node.op)]](value(node.left), value(node.right))
            case ast.Compare(ops=[operator], comparators=[right]):
                return int(OPERATIONS[SYMBOLS[type(operator)]](value(node.left), value(right)))
            case ast.BoolOp(op=ast.And(), values=[left, right]):
                return value(left) and value(right)
            case ast.BoolOp(op=ast.Or(), values=[left, right]):
                return value(left) or value(right)
            case ast.IfExp():
                return value(node.body) if value(node.test) else value(node.orelse)
            case ast.Subscript(value=ast.Name(id="data")):
                return int(program.data[value(node.slice)])
            case ast.Call(func=ast.Name(id="placed"), args=[_, other, one]):
                return placed(alloc, value(other), value(one))
            case ast.Call(func=ast.Name(id=name), args=[left, right]):
                return OPERATIONS[name](value(left), value(right))
        raise AssertionError(f"programs have no {node and ast.unparse(node)}")

    def run(body: Sequence[ast.stmt]) -> None:
        for one in body:
            match one:
                case ast.Assign(targets=[ast.Name(id=name)]):
                    values[name] = value(one.value)
                case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]):
                    arrays[name][values["n"]] = value(one.value)
                case ast.AugAssign():
                    values["n"] += 1
                case ast.If():
                    run(one.body if value(one.test) else one.orelse)
                case ast.For(target=ast.Name(id=name), iter=ast.Call(args=[start, stop])):
                    for number in range(value(start), value(stop)):
                        values[name] = number
                        run(one.body)
                case ast.Return():
                    values["end"] = value(one.value)
                    raise _Ended
                case _:
                    assert isinstance(one, ast.Pass)

    with suppress(_Ended):
        run(function.body)
    return values["end"], list(zip(arrays["dims"].values(), arrays["amounts"].values(), strict=True))
