"""Asks for memory ahead of its use, so that a kernel waits once for many places and not for each in turn."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

READ, SOON, DATA = 0, 3, 1


@intrinsic  # type: ignore[untyped-decorator]  # numba has no types
def ask_for(_: Any, array: Any, place: Any) -> Any:
    """Ask for what is at a place of an array in memory, counted in numbers from its first; nothing waits for it."""

    def code(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        at = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        asks = ir.FunctionType(ir.VoidType(), [at.type, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", (at.type,), asks)
        builder.call(prefetch, [at, number(READ), number(SOON), number(DATA)])
        return context.get_dummy_value()

    return types.void(array, types.intp), code
