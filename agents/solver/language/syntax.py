"""Parse the text of a specification into a tree: its nodes are the alternatives of the grammar in alloc.lark."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from binwright.agents.solver.language.errors import DEPTH_LIMIT, LARGEST, TEXT_LIMIT, At, SpecError, refuse
from binwright.agents.solver.model.program import MICRO
from binwright.simcore.errors import short, suggest
from binwright.simcore.extras import LazyModule

lark: Any = LazyModule("lark")


@dataclass(frozen=True)
class Node:
    """An alternative of the grammar, as written. Two nodes are equal if they say the same, wherever they stand."""

    kind: str
    """The name of the alternative."""
    at: At = field(compare=False)
    parts: tuple[Any, ...] = ()
    """Nodes, words, numbers and tuples of them in the order of the grammar; None for what is left out."""


Block = tuple[Node, ...]


class Tree(NamedTuple):
    """A whole specification."""

    declarations: tuple[Node, ...]
    body: Block


def name(at: At, word: str) -> Node:
    """Make a name, or BALL, BIN, BALLS, BINS, MOVES, NULL."""
    return Node("name", at, (word,))


def walk(part: object) -> Iterator[Node]:
    """Iterate over all nodes in a part of a tree, those further out first."""
    if isinstance(part, Node):
        yield part
        part = part.parts
    if isinstance(part, tuple):
        for inner in part:
            yield from walk(inner)


def mapped(part: Any, change: Callable[[Any], Any], at: At | None = None) -> Any:
    """Return a part of a tree with nodes and words as `change` makes them; where that is None, what is in them is.

    Nodes that are not changed themselves are `at` this place then, if it is given.
    """
    changed = change(part)
    if changed is not None or part is None:
        return changed
    if isinstance(part, Node):
        return replace(part, at=at or part.at, parts=mapped(part.parts, change, at))
    return tuple(mapped(inner, change, at) for inner in part) if isinstance(part, tuple) else part


def names_in(part: object) -> set[str]:
    """Find the names in a part of a tree, those of tables too."""
    return {node.parts[0] for node in walk(part) if node.kind in ("name", "index")}


@lru_cache(maxsize=8)  # the runs of a batch state the same templates, each for several sizes
def parse(text: str) -> Tree:
    """Return the tree, or raise a `SpecError` that says where the mistake is and what to do."""
    remedy = 'Put large tables into a CSV or Parquet file: TABLE NAME FROM "file.csv".'
    refuse(len(text) > TEXT_LIMIT, f"is longer than {TEXT_LIMIT:,} letters", remedy, None)
    try:
        raw = _parser().parse(text)
    except lark.UnexpectedCharacters as error:
        at, letter = At(error.line, error.column), text[error.pos_in_stream or 0]
        remedy = 'Leave it out. Comments begin with #, names have A to Z, digits and _, texts are "like this".'
        raise SpecError(f"this letter means nothing here: {letter!r}", remedy, at) from None
    except lark.UnexpectedToken as error:
        raise _unexpected(error) from None
    _check_depth(raw)
    nodes = [node for part in _built(raw, text) for node in (part if isinstance(part, tuple) else (part,))]
    [procedure] = (node for node in nodes if node.kind == "procedure")
    order = sorted((node for node in nodes if node is not procedure), key=lambda node: node.at)
    return Tree(tuple(order), procedure.parts[0])


@cache
def _parser() -> Any:
    grammar = files("binwright.agents.solver.language").joinpath("alloc.lark").read_text(encoding="utf-8")
    return lark.Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=True)


def _unexpected(error: Any) -> SpecError:
    """Say what is wrong about a word that cannot stand where it does."""
    token, expected = error.token, error.accepts or error.expected
    before = (error.token_history or [None])[-1]
    if token.type == "LPAR" and before is not None and before.type == "NAME":
        functions = "abs", "ceil", "count", "floor", "len", "max", "min", "sum"
        remedy = f"{suggest(before, functions)} Tables and resources have square brackets: {before}[...]."
        return SpecError(f"unknown function {before}", remedy, _at(before))
    words = {t.name: t.pattern.value if t.pattern.type == "str" else t.name for t in _parser().terminals}
    known = sorted(words.get(kind, kind) for kind in expected)
    if expected >= {"NUMBER", "NAME", "LPAR"}:
        known = ["a value"]
    remedy = f"Expected here: {', '.join(known)}."
    if token.type == "NAME" and "NAME" not in expected:
        remedy = suggest(token, known)
    if "END" in expected:
        remedy += " Every if, for and procedure ends with end."
    if token.type != "$END":
        return SpecError(f"{short(token, 40)} cannot stand here", remedy, _at(token))
    if "PROCEDURE" in expected:
        return SpecError("there is no UTILFN", "Write procedure UTILFN(BALL, BIN, ALLOC) ... end.", _at(before))
    return SpecError(f"the text ends {'inside a block' if 'END' in expected else 'too early'}", remedy, _at(before))


def _check_depth(tree: Any) -> None:
    """Refuse trees that are too deep for what follows, which walks them by recursion."""
    level = [tree]
    for _ in range(DEPTH_LIMIT):
        level = [child for node in level for child in node.children if isinstance(child, lark.Tree)]
    at = next((_at(node.meta) for node in level if not node.meta.empty), At(1, 1))
    remedy = "Name a part of it with let or PARAM, or use sum(...) or a table."
    refuse(level, f"nests deeper than {DEPTH_LIMIT}", remedy, at)


def number(text: str, at: At | None) -> tuple[int, bool]:
    """Read a decimal number as (raw, whole).

    `raw` is the number itself, or millionths, rounded half to even.
    """
    try:
        value = Decimal(text)
    except InvalidOperation:
        if at is None:
            raise
        value = Decimal("inf")  # an exponent of more than eighteen digits
    large = not value.is_finite() or (value and (value.adjusted() > 9 or abs(value) > LARGEST))
    refuse(large, f"{short(text, 40)} is out of range", "Numbers are at most 1e9: choose a larger unit.", at)
    if text.lstrip("+-").isdigit():
        return int(value), True
    return int((value * MICRO).to_integral_value()), False


def _at(place: Any) -> At:
    return At(getattr(place, "line", None) or 1, getattr(place, "column", None) or 1)


def _built(part: Any, text: str) -> Any:
    """Make a node of each named alternative, a tuple of any other rule; its place is that of a word that begins it.

    A token is its text; a quoted one, what is between the marks.
    """
    if isinstance(part, lark.Token):
        return str(part)[1:-1] if part.type == "TEXT" else str(part)
    if not isinstance(part, lark.Tree):
        return None
    kind, children = str(part.data), part.children
    if kind == "star":
        return None
    if kind == "binary":  # the operator comes first
        children = [children[1], children[0], children[2]]
    parts = tuple(_built(child, text) for child in children)
    if isinstance(part.data, lark.Token):  # a rule without a name of its own
        return parts
    at = _at(children[0] if children and isinstance(children[0], lark.Token) else part.meta)
    if kind == "bins_searched":
        kind, parts = "bins", (None, None, *parts)
    elif kind == "axis":
        parts = (*parts, None)[:3]
    elif kind == "number":
        parts = number(parts[0], at)
    elif kind == "goal":
        parts = *parts, " ".join(text[children[0].end_pos : part.meta.end_pos].split())
    return Node(kind, at, parts)
