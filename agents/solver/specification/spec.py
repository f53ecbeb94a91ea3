"""Read a specification, its parameters and tables, and make problems: from files, shipped examples, and Python."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Any, Self

from binwright.agents.solver.language import declared
from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.errors import LARGEST, NOW_OUTSIDE, OUTSIDE, At, SpecError, refuse
from binwright.agents.solver.language.tables import Now, Table, are_names, from_array, is_list
from binwright.agents.solver.model.problem import Fault, Problem
from binwright.agents.solver.specification.build import Build
from binwright.simcore.errors import UserError, meant, suggest, unread
from binwright.simcore.extras import need

EXAMPLES = Path(__file__).parents[1] / "examples"
LIMITS = (("moves",), ("pin",), ("friends", "foes", "different", "drain"), ("family",))
"""Kinds of declarations that limit allocations, the most particular first."""


class Spec:
    """A parsed specification with everything that comes from outside, `Problem.source`; files are read once."""

    def __init__(
        self,
        text: str,
        *,
        file: Path | None = None,
        params: Mapping[str, object] | None = None,
        tables: Mapping[str, Any] | None = None,
    ) -> None:
        need("lark", "solver", what="the solver")
        self.text, self.file, data = text, file, tables or {}
        self.names: dict[str, dict[str, int]] = {}
        """By what stands behind AS: the names of columns that are read, each with its number."""
        self.now: Now = ()
        """Where the balls are, as NOW that is not in the text says."""
        self.files: dict[str, Table] = {}
        """Tables that are read from files, by name."""
        self._built: dict[int | None, Problem] = {}
        """By number of bins."""
        with self._located():
            self.tree = s.parse(text)
        for name, rows in data.items():
            if not is_list(rows):
                remedy = "Give a list or a numpy array, an entry or a row per number from 0 on; a number is a PARAM."
                raise UserError("is no table", key=f"tables[{name!r}]", value=type(rows).__name__, remedy=remedy)
        self.params = {name: _constant(name, value) for name, value in (params or {}).items()}
        named = {node.parts[0] for node in self.tree.declarations if node.kind == "table_from" and node.parts[3]}
        self.cells = {name: list(cells) for name, cells in data.items() if name in named and are_names(cells)}
        """Columns of names that take the place of what TABLEs of the same name read AS names."""
        with self._located():
            self.tables = {name: from_array(name, data[name], None) for name in data if name not in self.cells}
            """Those that take the place of TABLEs of the same name."""
            self._check_declarations()

    def changed(self, now: Now | None = None, moves: int | None = None, drain: Iterable[int | str] = ()) -> Self:
        """Return it with NOW and MOVES, where these are given, in the place of its own, and more bins to DRAIN."""
        remedy = "Give a list of bins: of every ball, -1 for none, such as answer.alloc; or those to empty."
        for key, bins in (("now", () if now is None else now), ("drain", drain)):
            if isinstance(bins, str) or not isinstance(bins, Iterable) or (key == "now" and isinstance(bins, Set)):
                raise UserError("is no list of bins", key=key, value=bins, remedy=remedy)
        named = self.bins.parts[1] is not None
        empty = tuple(
            s.Node("text", OUTSIDE, (part,)) if named and isinstance(part, str) else _constant("drain", part)
            for part in drain
        )
        more = [s.Node("now", NOW_OUTSIDE, (declared.NOW,))] if now is not None else []
        more += [s.Node("moves", OUTSIDE, (_constant("moves", moves),))] if moves is not None else []
        more += [s.Node("drain", OUTSIDE, (empty, ()))] if empty else []
        if not more:
            return self
        tree = _without(self.tree, *{node.kind for node in more} - {"drain"})
        other = self._with_tree(tree._replace(declarations=(*tree.declarations, *more)))
        other.now = self.now if now is None else now
        return other

    def _with_tree(self, tree: s.Tree) -> Self:
        """Return what another tree of this specification says."""
        other = copy(self)
        other.__dict__.pop("limits", None)
        other.tree, other._built = tree, {}
        return other

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
        with self._located():
            build = Build(self._with_tree(_without(self.tree, "goal", "least")), 1)
            low, most = build.least, build.most
            refuse(low > most, f"BINS ? goes from {low} to {most}", "Write the smaller number first.", self.bins.at)
            low = max([low, *(place + 1 for place in build.pins.values())])
            bins_now = 0 if build.now is None else int(build.now.max()) + 1
            return low, max(low, build.scope.balls, bins_now) if self.bins.parts[3] is None else most

    def problem(self, bins: int | None = None) -> Problem:
        """Make the problem; with `BINS ?` for this many bins, by default for the least that may be tried."""
        with self._located():
            fixed = bins is not None and not self.searched
            refuse(fixed, "the number of bins is fixed", "Write BINS ? to choose it.", self.bins.at)
            if self.bins.parts[0] is None and bins is None:
                bins = self.limits[0 if self.searched else 1]
            if bins not in self._built:
                self._built[bins] = Build(self, bins).problem()
        return self._built[bins]

    def at_fault(self, until: float, why: Callable[[Problem], str]) -> tuple[tuple[Fault, ...], str]:
        """Find declarations that together are impossible, and of which none can be left out; and say why.

        Nothing is found if all together are not impossible, or if `monotonic()` is `until` before that is known.
        UTILFN and the numbers of balls and bins are never at fault. `why` says why a problem is impossible, or nothing.
        """
        limits = [node for kinds in LIMITS for node in self.tree.declarations if node.kind in kinds]
        untried, reason = [limits], why(self._limited_by(limits))
        while untried and reason:  # halves of halves: few of thousands of declarations take few tries
            if monotonic() > until:
                return (), ""
            part = untried.pop()
            left_out = {id(node) for node in part}
            others = [node for node in limits if id(node) not in left_out]
            if without := why(self._limited_by(others)):
                limits, reason = others, without
            elif len(part) > 1:
                untried += [part[len(part) // 2 :], part[: len(part) // 2]]
        names = (f"RESOURCES {node.parts[0]}" if node.kind == "family" else node.kind.upper() for node in limits)
        faults = (Fault(name, node.at.line or None) for name, node in zip(names, limits, strict=True))
        return (tuple(faults), reason) if reason else ((), "")

    def _limited_by(self, only: Sequence[s.Node]) -> Problem:
        """Make the problem without goals, and without limits other than these."""
        ids, limits = {id(node) for node in only}, [*chain(*LIMITS), "goal", "least"]
        declarations = list[s.Node]()
        for node in self.tree.declarations:
            if id(node) in ids or node.kind not in limits:
                declarations.append(node)
            elif node.kind == "family":  # UTILFN adds to it
                unlimited = s.Node("number", node.at, (LARGEST, True))
                declarations.append(replace(node, parts=(*node.parts[:2], unlimited)))
        return self._with_tree(self.tree._replace(declarations=tuple(declarations))).problem()

    @contextmanager
    def _located(self) -> Iterator[None]:
        """Give errors the text and the file."""
        try:
            yield
        except SpecError as error:
            error.text, error.file = error.text or self.text, error.file or self.file
            raise

    def _check_declarations(self) -> None:
        """Refuse declarations that are missing or there twice, and parameters that do not exist."""
        for kind, what in (("balls", "BALLS"), ("bins", "BINS"), ("family", "RESOURCES"), ("now", ""), ("moves", "")):
            nodes = [node for node in self.tree.declarations if node.kind == kind]
            refuse(what and not nodes, f"there is no {what}", "Write BALLS 4 BINS 2 RESOURCES NAME => 8.", At(1, 1))
            if len(nodes) > 1 and kind != "family":
                raise SpecError(f"{kind.upper()} is there twice", "Keep one of them.", nodes[1].at)
        for name in self.params:
            refuse(name not in self.declared, f"there is no parameter {name}", suggest(name, self.declared), None)


def _without(tree: s.Tree, *kinds: str) -> s.Tree:
    """Leave out declarations of some kinds."""
    return tree._replace(declarations=tuple(node for node in tree.declarations if node.kind not in kinds))


def _constant(name: str, value: object) -> s.Node:
    """Make the node of a number that comes from outside."""
    try:
        return s.Node("number", OUTSIDE, s.number("" if isinstance(value, bool) else str(value).strip(), None))
    except ArithmeticError:
        raise SpecError(f"{name} is not a number: {value!r}", "Give a number, like 4 or 0.5.") from None


def examples() -> dict[str, str]:
    """Return the shipped specifications: name and text."""
    return {file.stem: file.read_text(encoding="utf-8") for file in sorted(EXAMPLES.glob("*.alloc"))}


def load_problem(
    source: str | Path,
    params: Mapping[str, object] | None = None,
    now: Now | None = None,
    moves: int | None = None,
    drain: Iterable[int | str] = (),
) -> Problem:
    """Load the problem in a file, or in a shipped example by name; the rest is as in `problem`.

    With `BINS ?` it has the least number of bins that may be tried.
    """
    path = Path(source)
    if not path.is_file() and str(source) in examples():
        path = EXAMPLES / f"{source}.alloc"
    if not path.is_file():
        remedy = meant(path, ".alloc") or suggest(str(source), examples())
        raise UserError("no such file or example", file=path, remedy=remedy)
    return Spec(text_of(path), file=path, params=params).changed(now, moves, drain).problem()


def text_of(path: Path) -> str:
    """Read a text file."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem, remedy = unread(error, path, "Give a text file in UTF-8.")
        raise UserError(problem, file=path, remedy=remedy) from None


def problem(
    text: str,
    *,
    tables: Mapping[str, Any] | None = None,
    params: Mapping[str, object] | None = None,
    now: Now | None = None,
    moves: int | None = None,
    drain: Iterable[int | str] = (),
) -> Problem:
    """Make a problem from a specification's text.

    `tables` are numpy arrays, or sequences of rows of unequal length; they take the place of TABLEs of the same name,
    or are added. `params` are the values of PARAMs. `now` has the bin that each ball is in now, -1 or None for none, or
    a mapping from balls to bins; `moves` is how many may leave it, `drain` has bins that are to be empty. Balls and
    bins that have names are named by them.
    """
    if not isinstance(text, str):
        raise UserError("is no text", key="problem", value=text, remedy="Give the text of a specification.")
    return Spec(text, params=params, tables=tables).changed(now, moves, drain).problem()
