"""What the checker writes code with: operations, locals, tests at run time, loops' counts, tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from agents.solver.language.errors import At, SpecError
from agents.solver.language.tables import Table
from agents.solver.model.interpreter import OPERATIONS
from agents.solver.model.program import Block, Const, Expr, If, Local, Op, Reject, Set, Stmt
from simcore.vocabulary import Ints

STEP_LIMIT = 1_000_000
"""Nodes that one call of UTILFN may evaluate."""
DATA_LIMIT = 50_000_000
"""Entries of all tables that a program reads."""


class Lowering:
    """Code into `out`, and what is counted on the way."""

    def __init__(self) -> None:
        self.out: list[Stmt] = []
        self.slots = 2
        self.steps = 0
        self.trips = 1
        """How often the current place runs in one call, at most."""
        self.guards: list[tuple[int, str]] = []
        self._offsets: dict[str, tuple[int, int]] = {}
        self._parts: list[Ints] = []
        self._size = 0

    def op(self, kind: str, left: Expr, right: Expr) -> Expr:
        """An operation; constants are folded."""
        if isinstance(left, Const) and isinstance(right, Const):
            return Const(OPERATIONS[kind](left.value, right.value))
        if (kind == "add" and left == Const(0)) or (kind == "mul" and left == Const(1)):
            return right
        if (kind in ("add", "sub") and right == Const(0)) or (kind in ("mul", "div") and right == Const(1)):
            return left
        if kind == "mul" and Const(0) in (left, right):
            return Const(0)
        return Op(kind, left, right)

    def stored(self, code: Expr) -> Local:
        """In a local of its own."""
        local = Local(self.slots)
        self.slots += 1
        self.out.append(Set(local.slot, code))
        return local

    def apart(self, run: Callable[[], None]) -> Block:
        """What it emits, instead of emitting it."""
        before, self.out = self.out, []
        run()
        block, self.out = tuple(self.out), before
        return block

    def guard(self, wrong: Expr, what: str, at: At) -> None:
        """A test at run time that rejects."""
        self.out.append(If(wrong, (Reject(),)))
        self.guards.append((at.line, what))

    def step(self, at: At) -> None:
        """One more node is evaluated, as often as this place runs."""
        self.steps += self.trips
        if self.steps > STEP_LIMIT:
            remedy = "Loop over fewer, or put what does not depend on ALLOC into a TABLE."
            raise SpecError(f"one call of UTILFN may take more than {STEP_LIMIT:,} steps", remedy, at)

    def offsets(self, table: Table, at: At) -> tuple[int, int]:
        """Where its values, and the starts of its rows, are in `data`."""
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
        """Where in `data` the values of the tables that are read start."""
        return {name: values for name, (values, _) in self._offsets.items()}

    def data(self) -> Ints:
        """All tables that are read."""
        return np.concatenate(self._parts) if self._parts else np.zeros(0, np.int64)
