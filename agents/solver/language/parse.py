"""Parse the text of a specification into a tree, by the grammar in alloc.lark."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Transformer, Tree, UnexpectedCharacters, UnexpectedToken
from lark.exceptions import VisitError
from lark.tree import Meta

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.errors import At, SpecError
from binwright.agents.solver.language.hints import for_letter, for_word
from binwright.agents.solver.language.limits import DEPTH_LIMIT, LARGEST, TEXT_LIMIT
from binwright.agents.solver.model.program import MICRO
from binwright.simcore.errors import suggest


@lru_cache(maxsize=8)  # the runs of a batch state the same templates, each for several sizes
def parse(text: str) -> s.Tree:
    """Return the tree, or raise a `SpecError` that says where the mistake is and what to do."""
    if len(text) > TEXT_LIMIT:
        remedy = 'Put large tables into a CSV or Parquet file: TABLE NAME FROM "file.csv".'
        raise SpecError(f"is longer than {TEXT_LIMIT:,} letters", remedy)
    try:
        raw = _parser().parse(text)
        _check_depth(raw, text)
        tree: s.Tree = _Build(text).transform(raw)
    except UnexpectedCharacters as error:
        at = At(error.line, error.column)
        letter = text[error.pos_in_stream or 0]
        raise SpecError(f"this letter means nothing here: {letter!r}", for_letter(letter), at, text) from None
    except UnexpectedToken as error:
        raise _unexpected(error, text) from None
    except VisitError as error:
        if isinstance(error.orig_exc, SpecError):
            raise error.orig_exc.located(text, None) from None
        raise
    return tree


@cache
def _parser() -> Lark:
    grammar = files("binwright.agents.solver.language").joinpath("alloc.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=True)


def _unexpected(error: UnexpectedToken, text: str) -> SpecError:
    """Say what is wrong about a word that cannot stand where it does."""
    token = error.token
    expected = error.accepts or error.expected
    if token.type == "$END":
        lines = text.rstrip().split("\n")
        at = At(len(lines), len(lines[-1]) + 1)
        if "END" in expected:
            return SpecError("the text ends inside a block", "Close every if, for and procedure with end.", at, text)
        if "PROCEDURE" in expected:
            remedy = "Write procedure UTILFN(BALL, BIN, ALLOC) ... end."
            return SpecError("there is no UTILFN", remedy, at, text)
        return SpecError("the text ends too early", _expecting(expected), at, text)
    at = At(token.line or 1, token.column or 1)
    before = (error.token_history or [None])[-1]
    if token.type == "LPAR" and before is not None and before.type == "NAME":
        function = str(before)
        remedy = f"{suggest(function, _FUNCTIONS)} Tables and resources have square brackets: {function}[...]."
        return SpecError(f"unknown function {function}", remedy, _at(before), text)
    word = str(token)
    shown = word if len(word) <= 40 else f"{word[:40]}..."
    start = token.start_pos or 0
    hint = for_word(word, text[:start], text[start + len(word) :], expected)
    if hint is not None:
        return SpecError(f"{shown} cannot stand here", hint, at, text)
    if token.type == "NAME" and "SIGN" not in expected and "EQUAL" not in expected:
        words = [word for kind in expected for word in _WORDS.get(kind, kind).split(" or ") if word.isalpha()]
        if words and "NAME" not in expected:
            return SpecError(f"{shown} cannot stand here", suggest(word, words), at, text)
    if word in ("UTIL", "PROCEDURE", "procedure") and "END" in expected:
        return SpecError(f"{shown} cannot stand here", "Close the block before it with end.", at, text)
    if word == "=" and "SIGN" in expected:
        return SpecError("utilisation is added to, never set", "Write += or -=.", at, text)
    if (word.isupper() or expected == {"NAME"}) and token.type != "NAME" and "NAME" in expected and word.isalpha():
        return SpecError(f"{shown} is a word of the language", "Choose another name.", at, text)
    return SpecError(f"{shown} cannot stand here", _expecting(expected), at, text)


_FUNCTIONS = "abs", "ceil", "count", "floor", "len", "max", "min", "sum"
_KEYWORDS = "let if then else elif end for all in except and or not abs floor ceil len procedure"
_WORDS = {
    "LSQB": "[", "RSQB": "]", "LPAR": "(", "RPAR": ")", "COMMA": ",", "DOT": ".", "EQUAL": "=", "COLON": ":",
    "QMARK": "?", "MINUS": "-", "STAR": "*", "SUM": "+ or -", "PRODUCT": "* / // %", "COMPARE": "a comparison",
    "NUMBER": "a number", "NAME": "a name", "TEXT": 'a "text"', "SIGN": "+= or -=", "AIM": "MINIMISE or MAXIMISE",
    "LINKING": "HOSE or PIPE", "OR_NONE": "OR NONE",
    "EXTREME": "min or max",
    "REDUCE": "sum or count", "$END": "the end of the text", "__ANON_0": "=>", "__ANON_1": "..",
} | {word.upper(): word for word in _KEYWORDS.split()}  # fmt: skip
_STARTS = {"NUMBER", "NAME", "LPAR"}


def _expecting(expected: set[str]) -> str:
    """List what is expected, in words: all that begins an expression is one item."""
    words = sorted(_WORDS.get(kind, kind) for kind in expected)
    if expected >= _STARTS:
        keep = "RSQB", "STAR", "LSQB", "IF"
        words = ["a value", *(_WORDS[kind] for kind in keep[:3] if kind in expected)]
    return f"Expected here: {', '.join(words)}."


def _check_depth(tree: Tree[Token], text: str) -> None:
    """Refuse trees that are too deep for what follows, which walks them by recursion."""
    level = [tree]
    for _ in range(DEPTH_LIMIT):
        level = [child for node in level for child in node.children if isinstance(child, Tree)]
        if not level:
            return
    at = next((_at(node.meta) for node in level if not node.meta.empty), None)
    problem = f"nests deeper than {DEPTH_LIMIT}"
    raise SpecError(problem, "Name a part of it with let or PARAM, or use sum(...) or a table.", at, text)


def number(text: str, at: At | None) -> tuple[int, bool]:
    """Read a decimal number as (raw, whole).

    `raw` is the number itself, or millionths, rounded half to even.
    """
    try:
        value = Decimal(text)
    except InvalidOperation:
        if at is None:
            raise
        raise _out_of_range(text, at) from None  # an exponent of more than eighteen digits
    if not value.is_finite() or (value and (value.adjusted() > 9 or abs(value) > LARGEST)):
        raise _out_of_range(text, at)
    if text.lstrip("+-").isdigit():
        return int(value), True
    return int((value * MICRO).to_integral_value()), False


def _out_of_range(text: str, at: At | None) -> SpecError:
    return SpecError(f"{text[:40]} is out of range", "Numbers are at most 1e9: choose a larger unit.", at)


def _at(place: Meta | Token) -> At:
    return At(getattr(place, "line", None) or 1, getattr(place, "column", None) or 1)


def _terms(value: s.Node, text: str) -> tuple[s.Term, ...]:
    """List what is added up on the outside of a goal, not within brackets; one term at least."""
    found, node = list[s.Term](), value
    while node.kind == "binary" and node.parts[0] in ("+", "-"):
        sign, left, right = node.parts
        if node.span[0] < left.span[0]:  # it is within brackets
            break
        found.append(s.Term(1 if sign == "+" else -1, right, _written(right, text)))
        node = left
    return (s.Term(1, node, _written(node, text)), *reversed(found))


def _written(node: s.Node, text: str) -> str:
    return " ".join(text[slice(*node.span)].split())


_LISTS = {
    "columns", "axes", "indices", "over", "slots", "items", "links", "arguments", "places", "block", "nothing",
    "resources",
}  # fmt: skip


class _Build(Transformer[Token, Any]):
    """Makes a node of each alternative, or a tuple of its parts; its place is that of a word that begins it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def __default__(self, data: str, children: list[Any], meta: Meta) -> Any:
        kind = str(data)
        if kind == "binary":  # the operator comes first
            children = [children[1], children[0], children[2]]
        at = _at(children[0] if children and isinstance(children[0], Token) else meta)
        parts = tuple(map(_plain, children))
        if kind in _LISTS:
            return parts
        if kind == "bins":
            parts = *parts, None, None
        elif kind == "bins_searched":
            kind, parts = "bins", (None, None, *parts)
        elif kind == "axis":
            parts = (*parts, None)[:3]
        elif kind == "literal":
            parts = tuple(entry for entry in parts if entry is not None)
        elif kind == "number":
            parts = number(parts[0], at)
        elif kind == "goal":
            parts = *parts, _written(parts[1], self._text), _terms(parts[1], self._text)
        elif kind == "elif_":
            return (s.Node("if_", at, parts),)
        span = getattr(meta, "container_start_pos", 0), getattr(meta, "container_end_pos", 0)
        return s.Node(kind, at, parts, span)

    def start(self, children: list[Any]) -> s.Tree:
        flat = [node for part in children for node in (part if isinstance(part, tuple) else (part,))]
        [procedure] = (node for node in flat if node.kind == "procedure")
        if "MOVES" in s.names_in(procedure):
            raise SpecError("MOVES stands in UTILFN", "It is for goals, and for limits: MOVES 10.", procedure.at)
        order = sorted((node for node in flat if node is not procedure), key=lambda node: node.at)
        return s.Tree(tuple(order), procedure.parts[0])

    def star(self, children: list[Any]) -> None:
        return None

    def else_(self, children: list[Any]) -> Any:
        return children[0]


def _plain(part: Any) -> Any:
    """Return the text of a token; of a quoted one, what is between the marks."""
    if not isinstance(part, Token):
        return part
    return str(part)[1:-1] if part.type == "TEXT" else str(part)
