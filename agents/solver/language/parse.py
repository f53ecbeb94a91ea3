"""Parse the text of a specification into a tree, by the grammar in alloc.lark."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Transformer, Tree, UnexpectedCharacters, UnexpectedToken, v_args
from lark.exceptions import VisitError
from lark.tree import Meta

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.errors import At, SpecError
from binwright.agents.solver.language.hints import for_letter, for_word
from binwright.agents.solver.model.program import MICRO
from binwright.simcore.errors import suggest

TEXT_LIMIT = 100_000
"""Letters of a specification; larger tables belong into a file."""
DEPTH_LIMIT = 80
"""How deep expressions and blocks may nest, a chain of operators counting as nested."""
LARGEST = 10**9


@lru_cache(maxsize=8)  # the runs of a batch state the same templates, each for several sizes
def parse(text: str) -> s.Tree:
    """Return the tree, or raise a `SpecError` that says where the mistake is and what to do."""
    if len(text) > TEXT_LIMIT:
        remedy = 'Put large tables into a CSV or Parquet file: TABLE NAME FROM "file.csv".'
        raise SpecError(f"is longer than {TEXT_LIMIT:,} letters", remedy)
    try:
        raw = _parser().parse(text)
        _check_depth(raw, text)
        tree: s.Tree = _Build().transform(raw)
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
        return SpecError(f"unknown function {function}", remedy, _token_at(before), text)
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
    value = Decimal(text)
    if not value.is_finite() or (value and (value.adjusted() > 9 or abs(value) > LARGEST)):
        raise _out_of_range(text, at)
    if text.lstrip("+-").isdigit():
        return int(value), True
    return int((value * MICRO).to_integral_value()), False


def _out_of_range(text: str, at: At | None) -> SpecError:
    return SpecError(f"{text[:40]} is out of range", "Numbers are at most 1e9: choose a larger unit.", at)


def _at(meta: Meta) -> At:
    return At(meta.line, meta.column) if not meta.empty else At(1, 1)


def _token_at(token: Token) -> At:
    return At(token.line or 1, token.column or 1)


def _node(kind: type[s.Node], *before: Any) -> Callable[..., s.Node]:
    """Make a node of the parts of an alternative; its place is that of the word with which they begin, if it is one."""

    def made(build: object, meta: Meta, *parts: Any) -> s.Node:
        at = _token_at(parts[0]) if parts and isinstance(parts[0], Token) else _at(meta)
        return kind(at, *before, *map(_plain, parts))

    return made


def _company(kind: str) -> Callable[..., s.Company]:
    """Make a set that has no chance."""
    return lambda build, meta, items, over: s.Company(_at(meta), kind, items, None, over)


def _listed(build: object, meta: Meta, *parts: Any) -> tuple[Any, ...]:
    return tuple(map(_plain, parts))


def _plain(part: Any) -> Any:
    """Return the text of a token; of a quoted one, what is between the marks."""
    if not isinstance(part, Token):
        return part
    return str(part)[1:-1] if part.type == "TEXT" else str(part)


@v_args(meta=True, inline=True)
class _Build(Transformer[Token, Any]):
    """Makes the nodes of our tree; each method is named after an alternative of the grammar."""

    columns = axes = indices = over = slots = items = links = arguments = places = block = nothing = _listed
    or_, and_ = _node(s.Binary, "or"), _node(s.Binary, "and")
    not_, negative, absolute = _node(s.Unary, "not"), _node(s.Unary, "-"), _node(s.Unary, "abs")
    length, floor, ceil = _node(s.Unary, "len"), _node(s.Unary, "floor"), _node(s.Unary, "ceil")
    friends, foes = _node(s.Company, "FRIENDS"), _node(s.Company, "FOES")
    different, groups, drain = _company("DIFFERENT"), _company("GROUPS"), _company("DRAIN")
    moved, bins_searched, reject = _node(s.Name, "MOVES"), _node(s.Bins, None, None), _node(s.Rejection)
    param, table, table_of, table_from = _node(s.Param), _node(s.TableIs), _node(s.TableOf), _node(s.TableFrom)
    balls, bins, family, linked = _node(s.Balls), _node(s.Bins), _node(s.Resource), _node(s.Linked)
    soft, pin, now, moves, axis, span = map(_node, (s.Soft, s.Pin, s.Now, s.Moves, s.Axis, s.Span))
    let, if_, choose, text = map(_node, (s.Let, s.Branch, s.Choose, s.Text))
    name, index, placed = _node(s.Name), _node(s.Index), _node(s.Placed)
    used = link = _node(s.Used)

    def start(self, meta: Meta, *parts: Any) -> s.Tree:
        body = next(part for part in parts if isinstance(part, tuple) and part and part[0] == "procedure")[1]
        if "MOVES" in s.names_in(body):
            raise SpecError("MOVES stands in UTILFN", "It is for goals, and for limits: MOVES 10.", _at(meta))
        declarations: list[Any] = [part for part in parts if isinstance(part, s.Node)]
        declarations += [one for part in parts if isinstance(part, list) for one in part]
        order = sorted(declarations, key=lambda one: one.at)
        return s.Tree(_at(meta), tuple(order), body)

    def procedure(self, meta: Meta, body: s.Block) -> tuple[str, s.Block]:
        return ("procedure", body)

    def resources(self, meta: Meta, *families: s.Resource) -> list[s.Resource]:
        return list(families)

    def least(
        self, meta: Meta, amount: s.Expr, family: Token, places: Any, none: Token | None, over: tuple[s.Axis, ...]
    ) -> s.Least:
        return s.Least(_at(meta), amount, s.Used(_token_at(family), str(family), places), none is not None, over)

    def goal(self, meta: Meta, aim: Token, value: s.Expr) -> s.Goal:
        return s.Goal(_at(meta), str(aim), value, ((aim.end_pos or 0), meta.end_pos))

    def star(self, meta: Meta) -> None:
        return None

    def elif_(self, meta: Meta, test: s.Expr, then: s.Block, other: s.Block) -> s.Block:
        return (s.Branch(_at(meta), test, then, other),)

    def else_(self, meta: Meta, block: s.Block) -> s.Block:
        return block

    def for_(self, meta: Meta, name: Token, range_: Any, skip: s.Expr | None, body: s.Block) -> s.Loop:
        return s.Loop(_at(meta), s.Axis(_token_at(name), str(name), range_, skip), body)

    def add(self, meta: Meta, family: Token, places: Any, sign: Token, amount: s.Expr) -> s.AddTo:
        return s.AddTo(_token_at(family), str(family), places, 1 if sign == "+=" else -1, amount)

    def compare(self, meta: Meta, left: s.Expr, op: Token, right: s.Expr) -> s.Binary:
        return s.Binary(_token_at(op), str(op), left, right)

    binary = compare

    def number(self, meta: Meta, token: Token) -> s.Number:
        at = _token_at(token)
        try:
            return s.Number(at, *number(str(token), at))
        except InvalidOperation:  # an exponent of more than eighteen digits
            raise _out_of_range(str(token), at) from None

    def extreme(self, meta: Meta, op: Token, *arguments: s.Expr) -> s.Extreme:
        return s.Extreme(_token_at(op), str(op), arguments)

    def reduction(self, meta: Meta, op: Token, name: Token, range_: Any, skip: s.Expr | None, body: s.Expr) -> s.Reduce:
        return s.Reduce(_token_at(op), str(op), s.Axis(_token_at(name), str(name), range_, skip), body)

    def literal(self, meta: Meta, *entries: Any) -> s.Literal:
        return s.Literal(_at(meta), tuple(entry for entry in entries if entry is not None))
