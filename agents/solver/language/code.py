"""Write the code of a program, and count what one call of it takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate

import numpy as np

from binwright.agents.solver.language.errors import At, SpecError
from binwright.agents.solver.language.tables import Table
from binwright.agents.solver.model.arithmetic import OPERATIONS
from binwright.agents.solver.model.program import Const, Expr, If, Local, Op, Reject, Set, Stmt
from binwright.simcore.types import Ints

STEP_LIMIT = 1_000_000
"""Nodes that one call of UTILFN may evaluate."""
DATA_LIMIT = 50_000_000
"""Entries of all tables that a program reads."""


def op(kind: str, left: Expr, right: Expr) -> Expr:
    """Make an operation, or its result where the operands are known."""
    if isinstance(left, Const) and isinstance(right, Const):
        return Const(OPERATIONS[kind](left.value, right.value))
    if (kind == "add" and left == Const(0)) or (kind == "mul" and left == Const(1)):
        return right
    if (kind in ("add", "sub") and right == Const(0)) or (kind in ("mul", "div") and right == Const(1)):
        return left
    if kind == "mul" and Const(0) in (left, right):
        return Const(0)
    return Op(kind, left, right)


class Code:
    """The statements that are written so far, and what is counted on the way. All methods but the last two write it."""

    def __init__(self) -> None:
        self.out: list[Stmt] = []
        self.slots = 2
        """Locals, the two arguments included."""
        self.steps = 0
        """Nodes that one call evaluates, at most."""
        self.trips = 1
        """How often the current place runs in one call, at most."""
        self.guards: list[tuple[int, str]] = []
        """(line, what) of each test that rejects at run time."""
        self.notes: list[str] = []
        """What may not be meant."""
        self.strict = False
        """Nothing may be tested at run time: there is nothing to reject."""
        self._offsets: dict[str, tuple[int, int]] = {}
        self._parts: list[Ints] = []
        self._size = 0

    def local(self) -> Local:
        """Make a new local."""
        self.slots += 1
        return Local(self.slots - 1)

    def stored(self, value: Expr) -> Local:
        """Store a value in a local of its own."""
        local = self.local()
        self.out.append(Set(local.slot, value))
        return local

    def repeatable(self, value: Expr) -> Local | Const:
        """Store a value in a local, unless it is one or a number: it may be written more than once then."""
        return value if isinstance(value, Local | Const) else self.stored(value)

    @contextmanager
    def apart(self) -> Iterator[list[Stmt]]:
        """Collect what is written meanwhile, instead of adding it to `out`."""
        before, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = before

    def guard(self, wrong: Expr, what: str, at: At) -> None:
        """Write a test that rejects at run time."""
        if self.strict:
            problem = f"{what} is not certain to be legal here"
            raise SpecError(problem, "Bound it with min(..., ...), max(..., ...) or %, or run over a range.", at)
        self.out.append(If(wrong, (Reject(at.line, what),)))
        self.guards.append((at.line, what))

    def step(self, at: At) -> None:
        """Count a node, which is evaluated as often as this place runs."""
        self.steps += self.trips
        if self.steps > STEP_LIMIT:
            remedy = "Loop over fewer, or put what does not depend on ALLOC into a TABLE."
            raise SpecError(f"one call of UTILFN may take more than {STEP_LIMIT:,} steps", remedy, at)

    def offsets(self, table: Table, at: At) -> tuple[int, int]:
        """Return where in `data` the values of a table start, and where the starts of its rows do.

        The table is added the first time.
        """
        if table.name not in self._offsets:
            offsets = []
            for part in (table.values, table.starts):
                offsets.append(self._size)
                if part is not None:
                    self._parts.append(part)
                    self._size += part.size
            if self._size > DATA_LIMIT:
                raise SpecError(f"the tables have more than {DATA_LIMIT:,} entries", "Aggregate them first.", at)
            self._offsets[table.name] = offsets[0], offsets[1]
        return self._offsets[table.name]

    def places(self) -> dict[str, int]:
        """Return where in `data` the values of each table start that is read."""
        return {name: values for name, (values, _) in self._offsets.items()}

    def parts(self) -> tuple[int, ...]:
        """Return where in `data` the values of tables, and the starts of rows, begin, ascending."""
        return tuple(accumulate((part.size for part in self._parts[:-1]), initial=0)) if self._parts else ()

    def data(self) -> Ints:
        """Join all tables that are read."""
        return np.concatenate(self._parts) if self._parts else np.zeros(0, np.int64)
