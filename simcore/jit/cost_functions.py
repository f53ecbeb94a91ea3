"""Reads what cost functions return in kernels: one number or several, whole ones or floats."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.core.cgutils import unpack_tuple
from numba.extending import intrinsic, overload
from numba.np.arrayobj import populate_array

NOTHING = np.iinfo(np.int64).max
"""More than any place costs, where costs are whole numbers."""
ANY = np.iinfo(np.int64).min
"""Less than any place costs."""


def bound_of(cost: Any) -> Any:
    """Return what no place of a server costs less than, by the cost of its first node. For kernels only.

    A cost is one number, the place's; or two, the server's cost and the node's; or three, the bound, the place's cost
    and its order among the server's equals.
    """
    raise NotImplementedError


def at_place(cost: Any, bound: Any) -> tuple[Any, Any]:
    """Return what the place costs, and its order among its server's equals. For kernels only."""
    raise NotImplementedError


def is_somewhere(cost: Any) -> bool:
    """Tell whether a place of this cost may be taken: not of `NOTHING`, infinity or no number. For kernels only."""
    raise NotImplementedError


def ordered(cost: Any) -> int:
    """Return an int64 below `NOTHING` for a cost that is somewhere, in the order of the costs. For kernels only."""
    raise NotImplementedError


@overload(bound_of, strict=False)  # type: ignore[untyped-decorator]  # numba's have no types
def _bound_of(cost: Any) -> Any:
    return (lambda cost: cost[0]) if isinstance(cost, types.BaseTuple) else (lambda cost: ANY)


@overload(at_place, strict=False)  # type: ignore[untyped-decorator]
def _at_place(cost: Any, bound: Any) -> Any:
    count = len(cost) if isinstance(cost, types.BaseTuple) else 1
    forms = {1: lambda cost, bound: (cost, 0), 2: lambda cost, bound: (bound, cost[1]), 3: lambda cost, bound: cost[1:]}
    return forms.get(count)


@overload(is_somewhere, strict=False)  # type: ignore[untyped-decorator]
def _is_somewhere(cost: Any) -> Any:
    return (lambda cost: cost < np.inf) if isinstance(cost, types.Float) else (lambda cost: cost < NOTHING)


@overload(ordered, strict=False)  # type: ignore[untyped-decorator]
def _ordered(cost: Any) -> Any:
    if not isinstance(cost, types.Float):
        return lambda cost: np.int64(cost)  # noqa: PLW0108 (numba takes functions of Python only)

    def of_float(cost: Any) -> Any:
        bits = np.float64(cost + 0.0).view(np.int64)  # -0.0 becomes 0.0
        return bits if bits >= 0 else bits ^ NOTHING

    return of_float


def _array(context: Any, builder: Any, kind: Any, data: Any, shape: Sequence[Any]) -> Any:
    """Write the code of an array at an address."""
    item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides = [reduce(builder.mul, shape[place + 1 :], item) for place in range(len(shape))]
    array = context.make_array(kind)(context, builder)
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=item, meminfo=None)
    return array._getvalue()


@intrinsic  # type: ignore[untyped-decorator]  # numba's have no types
def on_stack(typing: Any, shape: Any) -> Any:
    """Return an array int64 [shape] of any content, which exists until the kernel returns. For kernels only."""
    kind = types.Array(types.int64, shape.count, "C")

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sizes = unpack_tuple(builder, arguments[0])
        data = builder.alloca(context.get_value_type(types.int64), size=reduce(builder.mul, sizes))
        return _array(context, builder, kind, data, sizes)

    return kind(types.UniTuple(types.intp, shape.count)), code


def table_of(arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
    """Return the addresses and shapes of arrays, int64 [any]; it does not keep the arrays."""
    return np.array([word for each in arrays for word in (each.ctypes.data, *each.shape)], np.int64)


def arrays_in(kinds: tuple[tuple[str, int], ...]) -> Any:
    """Make what returns, in a kernel, the arrays of a table of `table_of`, whose types and dimensions these are."""

    @intrinsic  # type: ignore[untyped-decorator]
    def arrays(typing: Any, table: Any) -> Any:
        members = [types.Array(getattr(types, dtype), dimensions, "C") for dtype, dimensions in kinds]

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            words, at, made = context.make_array(table)(context, builder, arguments[0]).data, 0, []
            for kind in members:
                places = [context.get_constant(types.intp, at + n) for n in range(1 + kind.ndim)]
                address, *shape = [builder.load(builder.gep(words, [place])) for place in places]
                data = builder.inttoptr(address, context.get_data_type(kind.dtype).as_pointer())
                made.append(_array(context, builder, kind, data, shape))
                at += 1 + kind.ndim
            return context.make_tuple(builder, signature.return_type, made)

        return types.Tuple(members)(table), code

    return arrays
