"""Read a specification, its parameters and tables, and make the `Problem` for a number of bins."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from heapq import nlargest
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.compile import INT, PLACE, QUANTITY, Typed
from binwright.agents.solver.language.constants import Constants, total
from binwright.agents.solver.language.errors import At, SpecError
from binwright.agents.solver.language.parse import number, parse
from binwright.agents.solver.language.tables import LARGEST, are_names, from_array
from binwright.agents.solver.model.problem import Fault, Part, Problem, Valued
from binwright.agents.solver.model.program import MICRO, Const, Program
from binwright.agents.solver.model.verify import utilisation
from binwright.agents.solver.specification.build import Build, Given
from binwright.simcore.errors import suggest

_MARKS = re.compile(r'"[^"\n]*"|#[^\n]*|[()\[\]]')


class Term(NamedTuple):
    """A part of a goal."""

    sign: int
    """1 or -1: it is added, or subtracted."""
    node: s.Expr
    text: str
    """As written, without the sign."""


def terms(goal: s.Goal, text: str) -> list[Term]:
    """List what is added up on the outside of a goal in this text, not within parentheses; one term at least."""
    if goal.said:
        return [Term(1, goal.value, goal.said)]
    begin, end = goal.span
    lines = [0, *(mark.end() for mark in re.finditer("\n", text))]
    node, found = goal.value, list[Term]()
    while isinstance(node, s.Binary) and node.op in ("+", "-"):
        place = lines[node.at.line - 1] + node.at.column - 1
        marks = [mark.group() for mark in _MARKS.finditer(text[begin:place])]
        if sum(mark in "([" for mark in marks) > sum(mark in ")]" for mark in marks):  # it is within parentheses
            break
        found.append(Term(1 if node.op == "+" else -1, node.right, " ".join(text[place + 1 : end].split())))
        node, end = node.left, place
    return [Term(1, node, " ".join(text[begin:end].split())), *reversed(found)]


T = TypeVar("T")


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
        ends: tuple[int, ...] = (),
    ) -> None:
        """Read a text. NOW and MOVES give way to others after one of the lines `ends` that are behind them."""
        self.text = text
        self.file = file
        self._outside = dict(params or {}), dict(tables or {})
        self._ends = ends
        self.tree = _latest(self._located(lambda: parse(text)), ends)
        values = {name: _param(name, value) for name, value in (params or {}).items()}
        cells = {name: list(data) for name, data in (tables or {}).items() if are_names(data)}
        arrays = {
            name: self._located(partial(from_array, name, data, None))
            for name, data in (tables or {}).items()
            if name not in cells
        }
        self.given = Given(self.tree, text, file, values, arrays, cells)
        self._located(self._check_declarations)
        self._problems: dict[int | None, Problem] = {}

    def extended(self, text: str, tables: Mapping[str, Any]) -> Spec:
        """Read it again with further tables and declarations, of which NOW and MOVES take the place of its own."""
        params, known = self._outside
        ends, tables = (*self._ends, self.text.count("\n") + 1), known | dict(tables)
        return Spec(f"{self.text}\n{text}", file=self.file, params=params, tables=tables, ends=ends)

    def _with_tree(self, tree: s.Tree) -> Spec:
        """Return what another tree of this specification says, without goals."""
        other = copy(self)
        other.__dict__.pop("limits", None)  # they are cached
        other.tree = _without(tree, s.Goal)
        other.given, other._problems = replace(self.given, tree=other.tree), {}
        return other

    def without_goals(self) -> Problem | None:
        """Return what asks for the fewest bins, without goals and AT LEAST, where this is `BINS ?`."""
        if self.searched or self.given.bins.count is not None:
            return None
        return self._with_tree(_without(self.tree, s.Goal, s.Least)).problem()

    @property
    def declared(self) -> list[str]:
        """Return the names of its parameters."""
        return [one.name for one in self.tree.declarations if isinstance(one, s.Param)]

    @property
    def searched(self) -> bool:
        """Tell whether the fewest bins are asked for, by `BINS ?` without goals."""
        return self.given.bins.count is None and not self.given.has_goals

    @cached_property
    def limits(self) -> tuple[int, int]:
        """The least and the largest number of bins that `BINS ?` may try: bins that balls are pinned to are there."""
        return self._located(self._limits)

    def _limits(self) -> tuple[int, int]:
        build, asked = Build(replace(self.given, tree=_without(self.tree, s.Goal, s.Least)), 1), self.given.bins
        low = 1 if asked.low is None else build.count(asked.low, "BINS")
        if asked.high is not None and low > build.most:
            remedy = "Write the smaller number first."
            raise SpecError(f"BINS ? goes from {low} to {build.most}", remedy, asked.at)
        low = max([low, *(place + 1 for place, _ in build.pins.values())])
        there = 0 if build.now is None else int(build.now.max()) + 1
        return low, max(low, build.balls, there) if asked.high is None else build.most

    def problem(self, bins: int | None = None) -> Problem:
        """Make the problem; with `BINS ?` for this many bins, by default for the least that may be tried."""
        if bins is not None and not self.searched:
            at = self.given.bins.at
            raise SpecError("the number of bins is fixed", "Write BINS ? to choose it.", at, self.text, self.file)
        if self.given.bins.count is None and bins is None:
            bins = self.limits[0 if self.searched else 1]
        if bins not in self._problems:
            made = self._located(lambda: Build(self.given, bins).problem(self))
            self._problems = {bins: made}  # the latest is enough
        return self._problems[bins]

    def at_fault(self, until: float, why: Callable[[Problem], str]) -> tuple[tuple[Fault, ...], str]:
        """Find declarations that are impossible together, and of which none can be left out; and say why.

        `why` says why a problem is impossible, or nothing. There are none if all together are not, or if that is not
        known when `monotonic()` is `until`.
        """
        own_lines = self._ends[0] if self._ends else self.text.count("\n") + 1
        return at_fault(self.tree, own_lines, lambda tree: why(self._with_tree(tree).problem()), until)

    def without_alloc(self, bins: int) -> Program:
        """Make UTILFN without the statements that depend on ALLOC."""
        return Build(self.given, bins, limits=False).utilfn(blind=True)[0]

    def goals(self, bins: int, alloc: Sequence[int]) -> list[Valued]:
        """Evaluate the goals from their text for an allocation of all balls [balls]."""
        build = Build(self.given, bins, limits=False)
        used, _ = utilisation(self.problem(), alloc)
        whole = Whole(build, alloc, used)
        return self._located(lambda: [whole.goal(terms(node, self.text)) for node in build.goals])

    def _located(self, run: Callable[[], T]) -> T:
        """Call `run`, and give its errors the text and the file."""
        try:
            return run()
        except SpecError as error:
            if self._ends and error.at is not None and error.at.line > self._ends[0]:  # it is not in the file
                raise SpecError(error.problem, error.remedy, None, "", self.file) from None
            raise error.located(self.text, self.file) from None

    def _check_declarations(self) -> None:
        """Refuse declarations that are missing or there twice, and parameters that do not exist."""
        declared = self.tree.declarations
        for kind, what in ((s.Balls, "BALLS"), (s.Bins, "BINS"), (s.Resource, "RESOURCES")):
            found = [one for one in declared if isinstance(one, kind)]
            if not found:
                remedy = f"Write {what} {'NAME => capacity' if kind is s.Resource else 'number'}."
                raise SpecError(f"there is no {what}", remedy, At(1, 1))
            if kind is not s.Resource and len(found) > 1:
                raise SpecError(f"{what} is there twice", "Keep one of them.", found[1].at)
        named = {one.name for one in declared if isinstance(one, s.TableFrom) and one.names is not None}
        for name in self.given.cells:
            if name not in named:
                remedy = f'Write TABLE {name} FROM "{name.lower()}.csv" COLUMN "name" AS a_word, or give numbers.'
                raise SpecError(f"{name} has names, and no TABLE {name} reads them AS anything", remedy)
        for name in self.given.params:
            if name not in self.declared:
                raise SpecError(f"there is no parameter {name}", suggest(name, self.declared))


def _without(tree: s.Tree, *kinds: type[s.Node]) -> s.Tree:
    """Leave out declarations of some kinds."""
    return replace(tree, declarations=tuple(one for one in tree.declarations if not isinstance(one, kinds)))


def _latest(tree: s.Tree, ends: Sequence[int]) -> s.Tree:
    """Leave out NOW and MOVES in parts of the text that come before others with the same."""
    last: dict[type[s.Node], int] = {}
    for one in tree.declarations:
        if isinstance(one, s.Now | s.Moves):
            last[type(one)] = bisect_left(ends, one.at.line)
    kept = [one for one in tree.declarations if last.get(type(one), -1) <= bisect_left(ends, one.at.line)]
    return replace(tree, declarations=tuple(kept))


def _param(name: str, value: object) -> Typed:
    """Read the value of a parameter."""
    try:
        if isinstance(value, bool):
            raise ValueError
        raw, whole = number(str(value).strip(), None)
    except (ArithmeticError, ValueError):
        raise SpecError(f"parameter {name} is not a number: {value!r}", "Give a number, like 4 or 0.5.") from None
    return Typed.of(INT if whole else QUANTITY, raw)


def at_fault(
    tree: s.Tree, own_lines: int, impossible: Callable[[s.Tree], str], until: float
) -> tuple[tuple[Fault, ...], str]:
    """Find declarations that together are impossible, and of which none can be left out; and say why.

    Nothing is found if all together are not impossible, or if `monotonic()` is `until` before that is known.
    The number of balls and of bins is never at fault. The text itself has `own_lines`, and `impossible` says why
    another tree is, or nothing.
    """
    kept = every = _limits(tree)

    def still(kept: Sequence[s.Node]) -> str:
        gone = {id(node) for node in every} - {id(node) for node in kept}
        declarations: list[s.Declaration] = []
        for node in tree.declarations:
            if isinstance(node, s.Resource) and id(node) in gone:  # UTILFN adds to it
                declarations.append(replace(node, capacity=s.Number(node.at, LARGEST, True)))
            elif id(node) not in gone:
                declarations.append(node)
        accepts = any(isinstance(node, s.Rejection) and id(node) in gone for node in every)
        body = _accepting(tree.body) if accepts else tree.body
        return impossible(replace(tree, declarations=tuple(declarations), body=body))

    why = still(kept)
    for same in (True, False):  # a smaller set may be found without what the first reason needs, but for its rest
        untried = [kept] if kept else []
        while untried:
            if monotonic() > until or not why:
                return (), ""
            some = untried.pop()
            tried = {id(node) for node in some}
            others = [node for node in kept if id(node) not in tried]
            then = still(others)
            if then == why or (then and not same):
                kept, why = others, then
            elif len(some) > 1:  # so thousands of declarations, of which few are at fault, take few tries
                half = len(some) // 2
                untried += [some[half:], some[:half]]
    return tuple(Fault(_word(node), node.at.line if node.at.line <= own_lines else None) for node in kept), why


def _limits(tree: s.Tree) -> list[s.Node]:
    """List what limits allocations, the most particular first: declarations, and one for all rejections in UTILFN."""
    kinds = (s.Moves, s.Pin, s.Least, s.Company, s.Resource)
    found: list[s.Node] = [node for kind in kinds for node in tree.declarations if isinstance(node, kind)]
    rejections = (node for node in s.walk(tree.body) if isinstance(node, s.Rejection))
    return [node for node in found if getattr(node, "kind", "") != "GROUPS"] + [*islice(rejections, 1)]


def _word(node: s.Node) -> str:
    """Return the word with which people know a declaration."""
    if isinstance(node, s.Resource):
        return f"RESOURCES {node.name}"
    words = {s.Least: "AT LEAST", s.Rejection: "REJECT"}
    return node.kind if isinstance(node, s.Company) else words.get(type(node), type(node).__name__.upper())


def _accepting(body: s.Block) -> s.Block:
    """Leave REJECT out of statements."""

    def change(part: Any) -> Any:
        if isinstance(part, tuple) and any(isinstance(node, s.Rejection) for node in part):
            return s.mapped(tuple(node for node in part if not isinstance(node, s.Rejection)), change)
        return None

    accepting: s.Block = s.mapped(body, change)
    return accepting


STEPS = 100_000_000
"""Nodes evaluated for all goals: the checker allows a million for each evaluation of them."""
ENTRIES = 5
"""Entries of a sum that are told."""


class Whole(Constants):
    """Evaluates expressions that see the bin of every ball, and what is used of every dimension."""

    limit = STEPS

    def __init__(self, build: Build, alloc: Sequence[int], used: Sequence[int]) -> None:
        super().__init__(build.names, build.tables)
        self.families, self._called, self._alloc, self._utilisation = build.families, build.called, alloc, used

    def goal(self, terms: Sequence[Term]) -> Valued:
        """Evaluate a goal by its terms."""
        values, parts = [], []
        for sign, node, text in terms:
            largest: list[tuple[str, float]] = []
            if isinstance(node, s.Reduce) and node.op == "sum":
                entries = [(at, self.number(node.body)) for at in self.each(node.axis)]
                value = total([entry for _, entry in entries])
                some = (entry for entry in entries if entry[1].low)
                most = nlargest(ENTRIES, some, key=lambda entry: abs(entry[1].micro().low))
                of = self._called.axes([node.axis])[0]
                largest = [
                    (f"{node.axis.name} = {self._called.name(of, at)}", sign * _float(entry)) for at, entry in most
                ]
            else:
                value = self.number(node)
            values.append(value if sign == 1 else value.negated())
            parts.append(Part(text, sign * _float(value), tuple(largest)))
        return Valued(total(values).low, tuple(parts))

    def _placed(self, node: s.Placed) -> Typed:
        return Typed.of(PLACE, self._alloc[self.within(node.ball, len(self._alloc), "BALLS").low])

    def _used(self, node: s.Used) -> Typed:
        _, dim, _ = self.dimension(node, node.arguments)
        assert isinstance(dim, Const)
        return Typed.of(QUANTITY, self._utilisation[dim.value])


def _float(value: Typed) -> float:
    return value.low / MICRO if value.kind == QUANTITY else value.low
