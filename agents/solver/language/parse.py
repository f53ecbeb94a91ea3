"""Parse the text of a specification into a tree, by the grammar in alloc.lark."""

from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Transformer, Tree, UnexpectedCharacters, UnexpectedToken
from lark.exceptions import VisitError
from lark.lexer import PatternStr
from lark.tree import Meta

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.errors import DEPTH_LIMIT, LARGEST, TEXT_LIMIT, At, SpecError, refuse
from binwright.agents.solver.model.program import MICRO
from binwright.simcore.errors import short, suggest


@lru_cache(maxsize=8)  # the runs of a batch state the same templates, each for several sizes
def parse(text: str) -> s.Tree:
    """Return the tree, or raise a `SpecError` that says where the mistake is and what to do."""
    remedy = 'Put large tables into a CSV or Parquet file: TABLE NAME FROM "file.csv".'
    refuse(len(text) > TEXT_LIMIT, f"is longer than {TEXT_LIMIT:,} letters", remedy, None)
    try:
        raw = _parser().parse(text)
        _check_depth(raw)
        tree: s.Tree = _Build(text).transform(raw)
    except UnexpectedCharacters as error:
        at, letter = At(error.line, error.column), text[error.pos_in_stream or 0]
        remedy = 'Leave it out. Comments begin with #, names have A to Z, digits and _, texts are "like this".'
        raise SpecError(f"this letter means nothing here: {letter!r}", remedy, at) from None
    except UnexpectedToken as error:
        raise _unexpected(error) from None
    except VisitError as error:
        raise error.orig_exc from None
    return tree


@cache
def _parser() -> Lark:
    grammar = files("binwright.agents.solver.language").joinpath("alloc.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=True)


def _unexpected(error: UnexpectedToken) -> SpecError:
    """Say what is wrong about a word that cannot stand where it does."""
    token, expected = error.token, error.accepts or error.expected
    before = (error.token_history or [None])[-1]
    if token.type == "LPAR" and before is not None and before.type == "NAME":
        functions = "abs", "ceil", "count", "floor", "len", "max", "min", "sum"
        remedy = f"{suggest(before, functions)} Tables and resources have square brackets: {before}[...]."
        return SpecError(f"unknown function {before}", remedy, _at(before))
    words = {t.name: t.pattern.value if isinstance(t.pattern, PatternStr) else t.name for t in _parser().terminals}
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


def _check_depth(tree: Tree[Token]) -> None:
    """Refuse trees that are too deep for what follows, which walks them by recursion."""
    level = [tree]
    for _ in range(DEPTH_LIMIT):
        level = [child for node in level for child in node.children if isinstance(child, Tree)]
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


def _at(place: Meta | Token | None) -> At:
    return At(getattr(place, "line", None) or 1, getattr(place, "column", None) or 1)


class _Build(Transformer[Token, Any]):
    """Makes a node of each named alternative, a tuple of any other rule; its place is that of a word that begins it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def __default__(self, data: str, children: list[Any], meta: Meta) -> Any:
        kind = str(data)
        if kind == "binary":  # the operator comes first
            children = [children[1], children[0], children[2]]
        begin = children[0] if children and isinstance(children[0], Token) else meta
        at, parts = _at(begin), tuple(map(_plain, children))
        if isinstance(data, Token):  # a rule without a name of its own
            return parts
        if kind == "bins":
            parts = *parts, None, None
        elif kind == "bins_searched":
            kind, parts = "bins", (None, None, *parts)
        elif kind == "axis":
            parts = (*parts, None)[:3]
        elif kind == "number":
            parts = number(parts[0], at)
        elif kind == "goal":
            parts = *parts, " ".join(self._text[children[0].end_pos : meta.end_pos].split())
        return s.Node(kind, at, parts)

    def start(self, children: list[Any]) -> s.Tree:
        flat = [node for part in children for node in (part if isinstance(part, tuple) else (part,))]
        [procedure] = (node for node in flat if node.kind == "procedure")
        order = sorted((node for node in flat if node is not procedure), key=lambda node: node.at)
        return s.Tree(tuple(order), procedure.parts[0])

    def star(self, children: list[Any]) -> None:
        return None


def _plain(part: Any) -> Any:
    """Return the text of a token; of a quoted one, what is between the marks."""
    if not isinstance(part, Token):
        return part
    return str(part)[1:-1] if part.type == "TEXT" else str(part)
