"""Put the numbers of balls, bins and named columns where a specification has their names: `"web-1"`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.errors import At, SpecError
from binwright.simcore.errors import suggest

Columns = list[str | None]
"""For each index of a table or a resource what stands behind AS where its names are read; None where it has none."""


_READ = 'Names are read from columns, TABLE ZONE FROM "nodes.csv" COLUMN "zone" AS zone; then write zone["west"].'


class Named:
    """Knows the names that are read, and what they are names of; more of both comes with every declaration."""

    def __init__(self, numbers: Mapping[str, Mapping[str, int]]) -> None:
        self.numbers = numbers
        """By what stands behind AS: the number of every name."""
        self.entries: dict[str, str] = {}
        """By table: what stands behind AS where its entries are read."""
        self.indices: dict[str, Columns] = {}
        """By table and resource."""
        self.balls: str | None = None
        self.bins: str | None = None
        """What stands behind AS at BALLS and BINS."""

    def axes(self, axes: Sequence[s.Axis]) -> Columns:
        """Find out which names the indices of a table or a resource have."""
        return [self._runs_over(axis.range) for axis in axes]

    def name(self, of: str | None, number: int) -> str:
        """Return what something named `of` is called: the number itself where it has no name."""
        return next((name for name, one in self.numbers.get(of or "", {}).items() if one == number), str(number))

    def labels(self, axes: Sequence[s.Axis]) -> tuple[tuple[str, ...], ...]:
        """Return the names of the indices of a resource, in the order of their numbers; none where it has none."""
        return tuple(() if of is None else tuple(self.numbers.get(of, ())) for of in self.axes(axes))

    def _runs_over(self, range_: s.Expr | s.Span) -> str | None:
        """`len(zone)` is as many as there are names of zones, BALLS and BINS have names of their own."""
        if isinstance(range_, s.Unary) and isinstance(range_.operand, s.Name) and range_.op == "len":
            return range_.operand.name if range_.operand.name in self.numbers else None
        own = {"BALLS": self.balls, "BINS": self.bins}
        return own.get(range_.name) if isinstance(range_, s.Name) else None

    def numbered(self, part: Any, of: str | None = None) -> Any:
        """Return a part of a tree with numbers instead of names; the part itself would be the name of an `of`."""
        if isinstance(part, s.Text):
            return self._number(part, of)
        if isinstance(part, s.Index) and part.table in self.numbers and isinstance(part.arguments[0], s.Text):
            return self._number(part.arguments[0], part.table)
        if isinstance(part, tuple) and not isinstance(part, At):
            return tuple(self.numbered(one, of) for one in part)
        if not isinstance(part, s.Node):
            return part
        changed: dict[str, Any] = {}
        for name, old in vars(part).items():
            meant = self._meant(part, name)
            if isinstance(meant, list) and old is not None:
                changed[name] = tuple(map(self.numbered, old, [*meant, *[None] * (len(old) - len(meant))]))
            else:
                changed[name] = self.numbered(old, meant)
        return replace(part, **changed)

    def _meant(self, node: s.Node, field: str) -> Any:
        """Find out what a name in this field of a node would be the name of: the same for all, or a list for each."""
        if isinstance(node, s.Index) and field == "arguments":
            return self.indices.get(node.table)
        if isinstance(node, s.AddTo | s.Used | s.Soft) and field in ("arguments", "slots"):
            return self.indices.get(node.family)
        if isinstance(node, s.Binary) and node.op in ("==", "!="):
            return self._says(node.right if field == "left" else node.left)
        if isinstance(node, s.Company) and field == "items":
            return self.bins if node.kind in ("GROUPS", "DRAIN") else self.balls
        if isinstance(node, s.Placed) or (isinstance(node, s.Linked) and field == "items"):
            return self.balls
        if isinstance(node, s.Pin):
            return {"ball": self.balls, "bin": self.bins}.get(field)
        return None

    def _says(self, node: s.Expr | None) -> str | None:
        """Find out what an expression is the number of: what it may be compared with by name."""
        if isinstance(node, s.Index):
            return self.entries.get(node.table)
        if isinstance(node, s.Placed):
            return self.bins
        own = {"BALL": self.balls, "BIN": self.bins}
        return own.get(node.name) if isinstance(node, s.Name) else None

    def _number(self, node: s.Text, of: str | None) -> s.Number:
        if of is None:
            remedy = " or ".join(f'{of}["{node.text}"]' for of, names in self.numbers.items() if node.text in names)
            raise SpecError(
                f'it is not clear what "{node.text}" is the name of', f"Write {remedy}." if remedy else _READ, node.at
            )
        names = self.numbers.get(of, {})
        if node.text not in names:
            raise SpecError(f'no {of} is called "{node.text}"', suggest(node.text, names), node.at)
        return s.Number(node.at, names[node.text], True)
