"""Find the numbers of balls, bins and named columns for which a specification has their names: `"web-1"`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from binwright.agents.solver.language.errors import SpecError
from binwright.agents.solver.language.syntax import Node
from binwright.simcore.errors import suggest

_READ = 'Names are read from columns, TABLE ZONE FROM "nodes.csv" COLUMN "zone" AS zone; then write zone["west"].'


class Named:
    """Knows the names that are read, and what they are names of; more of both comes with every declaration."""

    def __init__(self, numbers: Mapping[str, Mapping[str, int]]) -> None:
        self.numbers = numbers
        """By what stands behind AS: the number of every name."""
        self.entries: dict[str, str] = {}
        """By table: what stands behind AS where its entries are read."""
        self.indices: dict[str, list[str | None]] = {}
        """By table and resource: for each index what stands behind AS where its names are read."""
        self.balls: str | None = None
        self.bins: str | None = None
        """What stands behind AS at BALLS and BINS."""

    def axes(self, axes: Sequence[Node]) -> list[str | None]:
        """Find out which names the indices of a table or a resource have."""
        return [self._runs_over(axis.parts[1]) for axis in axes]

    def name(self, of: str | None, number: int) -> str:
        """Return what something named `of` is called: the number itself where it has no name."""
        return next((name for name, other in self.numbers.get(of or "", {}).items() if other == number), str(number))

    def labels(self, axes: Sequence[Node]) -> tuple[tuple[str, ...], ...]:
        """Return the names of the indices of a resource, in the order of their numbers; none where it has none."""
        return tuple(() if of is None else tuple(self.numbers.get(of, ())) for of in self.axes(axes))

    def _runs_over(self, range_: Node) -> str | None:
        """`len(zone)` is as many as there are names of zones, BALLS and BINS have names of their own."""
        if range_.kind == "length":
            of = range_.parts[0].parts[0] if range_.parts[0].kind == "name" else None
            return of if of in self.numbers else None
        return {"BALLS": self.balls, "BINS": self.bins}.get(range_.parts[0]) if range_.kind == "name" else None

    def meant(self, node: Node) -> str | None:
        """Find out what an expression is the number of: what it may be compared with by name."""
        if node.kind == "index":
            return self.entries.get(node.parts[0])
        if node.kind == "placed":
            return self.bins
        return {"BALL": self.balls, "BIN": self.bins}.get(node.parts[0]) if node.kind == "name" else None

    def number(self, node: Node, of: str | None) -> int:
        """Return the number of the `of` with this name."""
        [text] = node.parts
        if of is None:
            remedy = " or ".join(f'{of}["{text}"]' for of, names in self.numbers.items() if text in names)
            problem = f'it is not clear what "{text}" is the name of'
            raise SpecError(problem, f"Write {remedy}." if remedy else _READ, node.at)
        names = self.numbers.get(of, {})
        if text not in names:
            raise SpecError(f'no {of} is called "{text}"', suggest(text, names), node.at)
        return names[text]
