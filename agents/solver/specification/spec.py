"""Read a specification, its parameters and tables, and make the `Problem` for a number of bins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from binwright.agents.solver.language import declared
from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.errors import LARGEST, At, SpecError, refuse
from binwright.agents.solver.language.parse import number, parse
from binwright.agents.solver.language.tables import are_names, from_array
from binwright.agents.solver.language.values import INT, QUANTITY, Typed
from binwright.agents.solver.model.problem import Fault, Problem
from binwright.agents.solver.specification.build import Build
from binwright.simcore.errors import suggest

T = TypeVar("T")
OUTSIDE = At(0, 0)
"""The place of a declaration that is not in the text."""
WHERE_NOW = "where_now"
"""The table of NOW, where it is not in the text."""
LIMITS = (("moves",), ("pin",), ("least",), ("friends", "foes", "different", "drain"), ("family",))
"""Kinds of declarations that limit allocations, the most particular first."""


class Spec:
    """A parsed specification with everything that comes from outside: a `model.problem.Source`.

    Tables are read once.
    """

    def __init__(
        self,
        text: str,
        *,
        file: Path | None = None,
        params: Mapping[str, object] | None = None,
        tables: Mapping[str, Any] | None = None,
    ) -> None:
        self.text = text
        self.file = file
        self.tree = self._located(lambda: parse(text))
        numbers = {name: _number(name, value) for name, value in (params or {}).items()}
        self.params = {name: Typed.of(INT if whole else QUANTITY, raw) for name, (raw, whole) in numbers.items()}
        self.cells = {name: list(data) for name, data in (tables or {}).items() if are_names(data)}
        """Columns of names that take the place of what TABLEs of the same name read AS names."""
        self.tables = {
            name: self._located(partial(from_array, name, data, None))
            for name, data in (tables or {}).items()
            if name not in self.cells
        }
        """Those that take the place of TABLEs of the same name."""
        self.names: dict[str, dict[str, int]] = {}
        """By what stands behind AS: the names of columns that are read, each with its number."""
        self.made: dict[At, Any] = {}
        """Tables, sets and pins of declarations that do not depend on BINS, by their place."""
        self._located(self._check_declarations)
        self._built: dict[int | None, Problem] = {}
        """By number of bins."""

    def changed(self, now: Sequence[int] | None, moves: int | None, drain: Sequence[int]) -> Spec:
        """Return it with NOW and MOVES, where these are given, in the place of its own, and more bins to DRAIN."""
        more, tables = list[s.Node](), self.tables
        if now is not None:
            tables = {**tables, WHERE_NOW: self._located(lambda: from_array(WHERE_NOW, now, None))}
            more.append(s.Node("now", OUTSIDE, (WHERE_NOW,)))
        if moves is not None:
            more.append(s.Node("moves", OUTSIDE, (s.Node("number", OUTSIDE, _number("moves", moves)),)))
        if drain:
            bins = tuple(s.Node("number", OUTSIDE, _number("drain", place)) for place in drain)
            more.append(s.Node("drain", OUTSIDE, (bins, ())))
        tree = _without(self.tree, *{node.kind for node in more} - {"drain"})
        other = self._with_tree(tree._replace(declarations=(*tree.declarations, *more)))
        other.tables = tables
        return other

    def _with_tree(self, tree: s.Tree) -> Spec:
        """Return what another tree of this specification says."""
        other = copy(self)
        other.__dict__.pop("limits", None)
        other.tree, other._built = tree, {}
        return other

    def without_goals(self) -> Problem | None:
        """Return what asks for the fewest bins, without goals and AT LEAST, where this is `BINS ?`."""
        if self.searched or self.bins.parts[0] is not None:
            return None
        return self._with_tree(_without(self.tree, "goal", "least")).problem()

    @property
    def declared(self) -> list[str]:
        """Return the names of its parameters."""
        return [node.parts[0] for node in self.tree.declarations if node.kind == "param"]

    @property
    def bins(self) -> s.Node:
        """The declaration of BINS."""
        return next(node for node in self.tree.declarations if node.kind == "bins")

    @property
    def has_goals(self) -> bool:
        """Tell whether there are goals; what AT LEAST misses is one."""
        return any(node.kind in ("goal", "least") for node in self.tree.declarations)

    @property
    def searched(self) -> bool:
        """Tell whether the fewest bins are asked for, by `BINS ?` without goals."""
        return self.bins.parts[0] is None and not self.has_goals

    @cached_property
    def limits(self) -> tuple[int, int]:
        """The least and the largest number of bins that `BINS ?` may try: bins that balls are pinned to are there."""
        return self._located(self._limits)

    def _limits(self) -> tuple[int, int]:
        build = Build(self._with_tree(_without(self.tree, "goal", "least")), 1)
        _, _, first, last = self.bins.parts
        low = 1 if first is None else build.count(first, "BINS")
        turned = last is not None and low > build.most
        refuse(turned, f"BINS ? goes from {low} to {build.most}", "Write the smaller number first.", self.bins.at)
        low = max([low, *(place + 1 for place, _ in build.pins.values())])
        there = 0 if build.now is None else int(build.now.max()) + 1
        return low, max(low, build.scope.balls, there) if last is None else build.most

    def problem(self, bins: int | None = None) -> Problem:
        """Make the problem; with `BINS ?` for this many bins, by default for the least that may be tried."""
        if bins is not None and not self.searched:
            at = self.bins.at
            raise SpecError("the number of bins is fixed", "Write BINS ? to choose it.", at, self.text, self.file)
        if self.bins.parts[0] is None and bins is None:
            bins = self.limits[0 if self.searched else 1]
        if bins not in self._built:
            self._built[bins] = self._located(lambda: Build(self, bins).problem())
        return self._built[bins]

    def at_fault(self, until: float, why: Callable[[Problem], str]) -> tuple[tuple[Fault, ...], str]:
        """Find declarations that together are impossible, and of which none can be left out; and say why.

        Nothing is found if all together are not impossible, or if `monotonic()` is `until` before that is known.
        The number of balls and of bins is never at fault. `why` says why a problem is impossible, or nothing.
        """
        kept = [node for kinds in LIMITS for node in self.tree.declarations if node.kind in kinds]
        kept += islice((node for node in s.walk(self.tree.body) if node.kind == "reject"), 1)  # one for all

        def still(kept: Sequence[s.Node]) -> str:
            try:
                return why(self._limited_by(kept))
            except SpecError:  # what follows REJECT is safe with it only
                return ""

        reason = still(kept)
        for same in (True, False):  # a smaller set may be found without what the first reason needs, but for its rest
            untried = [kept] if kept else []
            while untried:
                if monotonic() > until or not reason:
                    return (), ""
                some = untried.pop()
                tried = {id(node) for node in some}
                others = [node for node in kept if id(node) not in tried]
                then = still(others)
                if then == reason or (then and not same):
                    kept, reason = others, then
                elif len(some) > 1:  # so thousands of declarations, of which few are at fault, take few tries
                    untried += [some[len(some) // 2 :], some[: len(some) // 2]]
        words = [one.kind.upper() if one.kind != "family" else f"RESOURCES {one.parts[0]}" for one in kept]
        lines = (one.at.line or None for one in kept)
        return tuple(map(Fault, (word.replace("LEAST", "AT LEAST") for word in words), lines)), reason

    def _limited_by(self, kept: Sequence[s.Node]) -> Problem:
        """Make the problem without goals, and without limits other than these."""
        ids, limits = {id(node) for node in kept}, [*chain(*LIMITS), "goal"]
        declarations, body = list[s.Node](), self.tree.body
        for node in self.tree.declarations:
            if id(node) in ids or node.kind not in limits:
                declarations.append(node)
            elif node.kind == "family":  # UTILFN adds to it
                unlimited = s.Node("number", node.at, (LARGEST, True))
                declarations.append(replace(node, parts=(*node.parts[:2], unlimited)))
        if not any(node.kind == "reject" for node in kept):
            [nothing] = declared.statements(OUTSIDE, "if 0 == 1 end")
            body = s.mapped(body, lambda part: nothing if isinstance(part, s.Node) and part.kind == "reject" else None)
        return self._with_tree(s.Tree(tuple(declarations), body)).problem()

    def _located(self, run: Callable[[], T]) -> T:
        """Call `run`, and give its errors the text and the file."""
        try:
            return run()
        except SpecError as error:
            if error.at == OUTSIDE:
                raise SpecError(error.problem, error.remedy, None, "", self.file) from None
            raise error.located(self.text, self.file) from None

    def _check_declarations(self) -> None:
        """Refuse declarations that are missing or there twice, and parameters that do not exist."""
        for kind, what in (("balls", "BALLS"), ("bins", "BINS"), ("family", "RESOURCES"), ("now", ""), ("moves", "")):
            found = [node for node in self.tree.declarations if node.kind == kind]
            refuse(what and not found, f"there is no {what}", "Write BALLS 4 BINS 2 RESOURCES NAME => 8.", At(1, 1))
            if len(found) > 1 and kind != "family":
                raise SpecError(f"{kind.upper()} is there twice", "Keep one of them.", found[1].at)
        named = {node.parts[0] for node in self.tree.declarations if node.kind == "table_from" and node.parts[3]}
        for name in self.cells:
            remedy = f'Write TABLE {name} FROM "{name.lower()}.csv" COLUMN "name" AS a_word, or give numbers.'
            refuse(name not in named, f"{name} has names, and no TABLE {name} reads them AS anything", remedy, None)
        for name in self.params:
            refuse(name not in self.declared, f"there is no parameter {name}", suggest(name, self.declared), None)


def _without(tree: s.Tree, *kinds: str) -> s.Tree:
    """Leave out declarations of some kinds."""
    return tree._replace(declarations=tuple(node for node in tree.declarations if node.kind not in kinds))


def _number(name: str, value: object) -> tuple[int, bool]:
    """Read a number that comes from outside."""
    try:
        return number("" if isinstance(value, bool) else str(value).strip(), None)
    except ArithmeticError:
        raise SpecError(f"{name} is not a number: {value!r}", "Give a number, like 4 or 0.5.") from None
