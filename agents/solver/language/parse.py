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

from binwright.agents.solver.language import moves
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


def _text(token: Token | None) -> str | None:
    return None if token is None else str(token)


def _binary(meta: Meta, left: s.Expr, op: Token, right: s.Expr) -> s.Binary:
    return s.Binary(_token_at(op), str(op), left, right)


def _joined(op: str) -> Callable[..., s.Binary]:
    return lambda build, meta, left, right: s.Binary(_at(meta), op, left, right)


def _unary(op: str) -> Callable[..., s.Unary]:
    return lambda build, meta, operand: s.Unary(_at(meta), op, operand)


def _company(kind: str) -> Callable[..., s.Company]:
    return lambda build, meta, items, chance, over: s.Company(_at(meta), kind, items, chance, over or ())


def _listed(build: object, meta: Meta, *parts: Any) -> tuple[Any, ...]:
    return parts


@v_args(meta=True, inline=True)
class _Build(Transformer[Token, Any]):
    """Makes the nodes of our tree; each method is named after an alternative of the grammar."""

    columns = axes = slots = items = links = arguments = block = _listed
    or_, and_ = _joined("or"), _joined("and")
    not_, negative, absolute, length = _unary("not"), _unary("-"), _unary("abs"), _unary("len")
    floor, ceil = _unary("floor"), _unary("ceil")
    friends, foes = _company("FRIENDS"), _company("FOES")

    def start(self, meta: Meta, *parts: Any) -> s.Tree:
        body = next(part for part in parts if isinstance(part, tuple) and part and part[0] == "procedure")[1]
        if moves.NOW in s.names_in(body):
            raise SpecError("MOVES stands in UTILFN", "It is for goals, and for limits: MOVES 10.", _at(meta))
        declarations: list[Any] = [part for part in parts if isinstance(part, s.Node)]
        declarations += [one for part in parts if isinstance(part, list) for one in part]
        order = sorted(declarations, key=lambda one: one.at)
        return s.Tree(_at(meta), tuple(order), body)

    def procedure(self, meta: Meta, body: s.Block) -> tuple[str, s.Block]:
        return ("procedure", body)

    def param(self, meta: Meta, name: Token, value: s.Expr) -> s.Param:
        return s.Param(_token_at(name), str(name), value)

    def table(self, meta: Meta, name: Token, value: s.Literal) -> s.TableIs:
        return s.TableIs(_token_at(name), str(name), value)

    def table_of(self, meta: Meta, name: Token, axes: tuple[s.Axis, ...], value: s.Expr) -> s.TableOf:
        return s.TableOf(_token_at(name), str(name), axes, value)

    def table_from(
        self, meta: Meta, name: Token, file: Token, columns: tuple[Token, ...] | None, names: Token | None
    ) -> s.TableFrom:
        wanted = tuple(str(column)[1:-1] for column in columns or ())
        return s.TableFrom(_token_at(name), str(name), str(file)[1:-1], wanted, _text(names))

    def balls(self, meta: Meta, count: s.Expr, names: Token | None) -> s.Balls:
        return s.Balls(_at(meta), count, _text(names))

    def bins(self, meta: Meta, count: s.Expr, names: Token | None) -> s.Bins:
        return s.Bins(_at(meta), count, names=_text(names))

    def bins_searched(self, meta: Meta, low: s.Expr | None, high: s.Expr | None) -> s.Bins:
        return s.Bins(_at(meta), None, low, high)

    def resources(self, meta: Meta, *families: s.Resource) -> list[s.Resource]:
        return list(families)

    def family(self, meta: Meta, name: Token, axes: tuple[s.Axis, ...] | None, capacity: s.Expr) -> s.Resource:
        return s.Resource(_token_at(name), str(name), axes or (), capacity)

    def different(self, meta: Meta, items: tuple[s.Expr | s.Span, ...], over: tuple[s.Axis, ...] | None) -> s.Company:
        return s.Company(_at(meta), "DIFFERENT", items, None, over or ())

    def linked(
        self, meta: Meta, kind: Token, items: Any, rate: s.Expr, links: Any, over: tuple[s.Axis, ...] | None
    ) -> s.Linked:
        return s.Linked(_at(meta), str(kind), items, rate, links, over or ())

    def least(
        self, meta: Meta, amount: s.Expr, family: Token, slots: Any, none: Token | None, over: tuple[s.Axis, ...] | None
    ) -> s.Least:
        dim = s.Used(_token_at(family), str(family), slots or ())
        return s.Least(_at(meta), amount, dim, none is not None, over or ())

    def groups(self, meta: Meta, items: tuple[s.Expr | s.Span, ...], over: tuple[s.Axis, ...] | None) -> s.Company:
        return s.Company(_at(meta), "GROUPS", items, None, over or ())

    def drain(self, meta: Meta, items: tuple[s.Expr | s.Span, ...], over: tuple[s.Axis, ...] | None) -> s.Company:
        return s.Company(_at(meta), "DRAIN", items, None, over or ())

    def now(self, meta: Meta, table: Token) -> s.Now:
        return s.Now(_token_at(table), str(table))

    def moves(self, meta: Meta, most: s.Expr) -> s.Moves:
        return s.Moves(_at(meta), most)

    def soft(
        self, meta: Meta, family: Token, slots: Any, share: s.Expr, most: s.Expr, over: tuple[s.Axis, ...] | None
    ) -> s.Soft:
        return s.Soft(_token_at(family), str(family), slots, share, most, over or ())

    def pin(self, meta: Meta, ball: s.Expr, place: s.Expr, over: tuple[s.Axis, ...] | None) -> s.Pin:
        return s.Pin(_at(meta), ball, place, over or ())

    def goal(self, meta: Meta, aim: Token, value: s.Expr) -> s.Goal:
        return s.Goal(_at(meta), str(aim), value, ((aim.end_pos or 0), meta.end_pos))

    def over(self, meta: Meta, axes: tuple[s.Axis, ...]) -> tuple[s.Axis, ...]:
        return axes

    def axis(self, meta: Meta, name: Token, range_: s.Expr | s.Span) -> s.Axis:
        return s.Axis(_token_at(name), str(name), range_)

    def star(self, meta: Meta) -> None:
        return None

    def span(self, meta: Meta, start: s.Expr, stop: s.Expr) -> s.Span:
        return s.Span(_at(meta), start, stop)

    def let(self, meta: Meta, name: Token, value: s.Expr) -> s.Let:
        return s.Let(_token_at(name), str(name), value)

    def if_(self, meta: Meta, test: s.Expr, then: s.Block, other: s.Block) -> s.Branch:
        return s.Branch(_at(meta), test, then, other)

    def elif_(self, meta: Meta, test: s.Expr, then: s.Block, other: s.Block) -> s.Block:
        return (s.Branch(_at(meta), test, then, other),)

    def else_(self, meta: Meta, block: s.Block) -> s.Block:
        return block

    def nothing(self, meta: Meta) -> s.Block:
        return ()

    def for_(self, meta: Meta, name: Token, range_: Any, skip: s.Expr | None, body: s.Block) -> s.Loop:
        return s.Loop(_at(meta), s.Axis(_token_at(name), str(name), range_, skip), body)

    def add(self, meta: Meta, family: Token, arguments: Any, sign: Token, amount: s.Expr) -> s.AddTo:
        return s.AddTo(_token_at(family), str(family), arguments or (), 1 if sign == "+=" else -1, amount)

    def reject(self, meta: Meta) -> s.Rejection:
        return s.Rejection(_at(meta))

    def choose(self, meta: Meta, test: s.Expr, yes: s.Expr, no: s.Expr) -> s.Choose:
        return s.Choose(_at(meta), test, yes, no)

    def compare(self, meta: Meta, left: s.Expr, op: Token, right: s.Expr) -> s.Binary:
        return s.Binary(_token_at(op), str(op), left, right)

    binary = compare

    def number(self, meta: Meta, token: Token) -> s.Number:
        at = _token_at(token)
        try:
            return s.Number(at, *number(str(token), at))
        except InvalidOperation:  # an exponent of more than eighteen digits
            raise _out_of_range(str(token), at) from None

    def text(self, meta: Meta, token: Token) -> s.Text:
        return s.Text(_token_at(token), str(token)[1:-1])

    def name(self, meta: Meta, token: Token) -> s.Name:
        return s.Name(_token_at(token), str(token))

    def index(self, meta: Meta, table: Token, arguments: tuple[s.Expr, ...]) -> s.Index:
        return s.Index(_token_at(table), str(table), arguments)

    def placed(self, meta: Meta, ball: s.Expr) -> s.Placed:
        return s.Placed(_at(meta), ball)

    def moved(self, meta: Meta) -> s.Reduce:
        return moves.counted(_at(meta))

    def used(self, meta: Meta, family: Token, arguments: Any) -> s.Used:
        return s.Used(_token_at(family), str(family), arguments or ())

    link = used

    def extreme(self, meta: Meta, op: Token, *arguments: s.Expr) -> s.Extreme:
        return s.Extreme(_token_at(op), str(op), arguments)

    def reduction(self, meta: Meta, op: Token, name: Token, range_: Any, skip: s.Expr | None, body: s.Expr) -> s.Reduce:
        return s.Reduce(_token_at(op), str(op), s.Axis(_token_at(name), str(name), range_, skip), body)

    def literal(self, meta: Meta, *entries: Any) -> s.Literal:
        return s.Literal(_at(meta), tuple(entry for entry in entries if entry is not None))
