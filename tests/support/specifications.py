"""Random specifications for hypothesis: most compile, and use everything that the language has."""

from collections.abc import Callable

from hypothesis import strategies as st

BALLS, BINS = 5, 4
HEAD = f"""PARAM P = 3
TABLE T = [0, 2, 1, 3, 2]
TABLE Q = [[0.5, 1, 2.25], [3, 0.000001, 1], [0, 4, 0.3], [1, 1, 1], [2.5, 0.125, 7]]
TABLE ROWS = [[0, 1], [], [3, 3, 2], [4], [1, 0]]
TABLE SQUARE[i in {BALLS}, j in {BINS}] = (i * 7 + j * 3) % 5 / 2
BALLS {BALLS}
BINS {BINS}
RESOURCES CPU[s in BINS] => 6, GRID[s in BINS, k in 3] => 4 + 2 * k, ALL => 20
"""


class _Writer:
    """Draws text, with the names that are in scope."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.count = 0
        self.ints = ["BALL", "BIN", "P"]
        self.quantities: list[str] = []
        self.places: list[str] = []
        self.loops = 0

    def pick(self, choices: list[str]) -> str:
        return self.draw(st.sampled_from(choices))

    def name(self) -> str:
        self.count += 1
        return f"x{self.count}"

    def int_(self, depth: int) -> str:
        kinds = ["name", "number"]
        if depth:
            kinds += ["+", "-", "*", "//", "%", "min", "max", "abs", "-x", "if", "table", "rows", "len"]
            kinds += ["floor", "ceil", *(["count", "sum"] if self.loops < 2 else [])]
        kind = self.pick(kinds)
        if kind == "name":
            return self.pick(self.ints)
        if kind == "number":
            return str(self.draw(st.integers(0, 5)))
        if kind in "+ - // %":
            return f"({self.int_(depth - 1)} {kind} {self.int_(depth - 1)})"
        if kind == "*":
            return f"(min(9, {self.int_(depth - 1)}) * {self.draw(st.integers(-2, 3))})"
        if kind in ("min", "max"):
            return f"{kind}({self.int_(depth - 1)}, {self.int_(depth - 1)})"
        if kind in ("abs", "-x"):
            return f"{kind[:-1] if kind == '-x' else kind}({self.int_(depth - 1)})"
        if kind in ("floor", "ceil"):
            return f"min(9, {kind}({self.quantity(depth - 1)}))"
        if kind == "if":
            return f"(if {self.bool_(depth - 1)} then {self.int_(depth - 1)} else {self.int_(depth - 1)})"
        if kind == "table":
            return f"T[{self.int_(depth - 1)}]"
        if kind == "rows":
            return f"ROWS[{self.ball(depth - 1)}, {self.int_(depth - 1)}]"
        if kind == "len":
            return f"len(ROWS[{self.ball(depth - 1)}])"
        return self.reduce(kind, depth)

    def reduce(self, kind: str, depth: int) -> str:
        name, range_ = self.name(), self.range(depth)
        self.ints.append(name)
        self.loops += 1
        body = self.bool_(depth - 1) if kind == "count" else self.int_(depth - 1)
        self.loops -= 1
        self.ints.remove(name)
        return f"{kind}({name} in {range_}: {body})"

    def range(self, depth: int) -> str:
        return self.pick(
            [
                "BALLS except BALL", "BINS", "3", f"ROWS[{self.ball(0)}]", "T", "1 .. 4 except 2",
                f"min(3, {self.int_(0)})",
            ],
        )  # fmt: skip

    def ball(self, depth: int) -> str:
        return self.pick(["BALL", "0", "4", f"({self.int_(depth)}) % BALLS"])

    def quantity(self, depth: int) -> str:
        kinds = ["number", "table", "square", *(["name"] if self.quantities else [])]
        kinds += ["+", "-", "*", "/", "min", "if", "int"] if depth else []
        kind = self.pick(kinds)
        if kind == "name":
            return self.pick(self.quantities)
        if kind == "number":
            return self.pick(["0.5", "1.25", "3", "0.000001", "2e-1"])
        if kind == "table":
            return f"Q[{self.ball(0)}, {self.pick(['0', '1', '2', 'BALL % 3'])}]"
        if kind == "square":
            return f"SQUARE[{self.ball(0)}, BIN]"
        if kind in "+ -":
            return f"({self.quantity(depth - 1)} {kind} {self.quantity(depth - 1)})"
        if kind == "*":
            return f"(min(50, {self.quantity(depth - 1)}) * max(-50, min(50, {self.quantity(depth - 1)})))"
        if kind == "/":
            return f"(min(50, {self.quantity(depth - 1)}) / {self.quantity(depth - 1)})"
        if kind == "if":
            return f"(if {self.bool_(depth - 1)} then {self.quantity(depth - 1)} else {self.int_(depth - 1)})"
        if kind == "int":
            return self.int_(depth - 1)
        return f"min({self.quantity(depth - 1)}, {self.quantity(depth - 1)})"

    def bool_(self, depth: int) -> str:
        kinds = ["<", "<=", "==", "!=", ">", ">=", "null", "same"]
        kinds += ["and", "or", "not", "guarded"] if depth else []
        kind = self.pick(kinds)
        if kind == "null":
            return f"{self.place()} {self.pick(['==', '!='])} NULL"
        if kind == "same":
            return f"{self.place()} {self.pick(['==', '!='])} {self.pick(['BIN', 'BIN - 1', self.int_(0)])}"
        if kind in ("and", "or"):
            return f"({self.bool_(depth - 1)} {kind} {self.bool_(depth - 1)})"
        if kind == "not":
            return f"(not {self.bool_(depth - 1)})"
        if kind == "guarded":
            place = self.place()
            return f"({place} != NULL and {place} // 2 {self.pick(['==', '<'])} {self.int_(0)})"
        take = self.draw(st.sampled_from([self.int_, self.quantity]))
        return f"{take(max(0, depth - 1))} {kind} {take(0)}"

    def place(self) -> str:
        return self.pick([*self.places, f"ALLOC[{self.ball(0)}]", "ALLOC[T[BALL]]"])

    def block(self, depth: int) -> str:
        scopes = list(self.ints), list(self.quantities), list(self.places)
        text = " ".join(self.statement(depth) for _ in range(self.draw(st.integers(1, 3))))
        self.ints, self.quantities, self.places = scopes
        return text

    def statement(self, depth: int) -> str:
        kind = self.pick(["add", "add", "let", "let", "place", *(["if", "for"] if depth else [])])
        if kind == "add":
            where = self.pick(["CPU[BIN]", "CPU[BIN]", f"GRID[BIN, {self.int_(0)} % 3]", "ALL", f"CPU[{self.int_(1)}]"])
            return f"UTIL.{where} {self.pick(['+=', '-='])} {self.quantity(2)}"
        name = self.name()
        if kind == "place":
            text = f"let {name} = {self.place()}"
            self.places.append(name)
            return text
        if kind == "let":
            whole = self.draw(st.booleans())
            text = f"let {name} = {self.int_(2) if whole else self.quantity(2)}"
            (self.ints if whole else self.quantities).append(name)
            return text
        if kind == "if":
            other = f" else {self.block(depth - 1)}" if self.draw(st.booleans()) else ""
            reject = " REJECT" if self.draw(st.integers(0, 9)) == 0 else ""
            return f"if {self.bool_(2)} {self.block(depth - 1)}{reject}{other} end"
        range_ = self.range(1)
        self.ints.append(name)
        self.loops += 1
        text = f"for {name} in {range_} {self.block(depth - 1)} end"
        self.loops -= 1
        return text


SUMS = 8
"""Dimensions of a bin that a straight program adds to."""


class _Straight:
    """Draws expressions that never need a test at run time, of numbers that stay small."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.loops: list[str] = []

    def pick(self, *choices: str) -> str:
        return self.draw(st.sampled_from(choices))

    def range(self) -> str:
        low = self.draw(st.integers(0, 2))
        return f"{low} .. {low + self.draw(st.integers(0, 3))}" if low else str(self.draw(st.integers(1, 4)))

    def whole(self, depth: int) -> str:
        kind = self.pick("+", "-", "*", "//", "%", "min", "max", "abs", "floor", "sum") if depth else "name"
        if kind == "name":
            return self.pick("BALL", "T[BALL]", "2", "7", *self.loops)
        if kind in "+ -":
            return f"({self.whole(depth - 1)} {kind} {self.whole(depth - 1)})"
        if kind == "*":
            return f"(min(99, {self.whole(depth - 1)}) * {self.draw(st.integers(-3, 3))})"
        if kind in "// %":
            return f"(({self.whole(depth - 1)}) {kind} {self.pick('3', '-2', '(BALL + 1)', '(-1 - BALL)')})"
        if kind in ("min", "max"):
            return f"{kind}({self.whole(depth - 1)}, {self.whole(depth - 1)})"
        if kind == "abs":
            return f"abs({self.whole(depth - 1)})"
        if kind == "floor":
            return f"{self.pick('floor', 'ceil')}({self.quantity(depth - 1)})"
        return self.sum(self.whole, depth)

    def sum(self, body: Callable[[int], str], depth: int) -> str:
        name = f"i{len(self.loops)}"
        range_ = self.range()
        self.loops.append(name)
        text = f"sum({name} in {range_}: {body(depth - 1)})"
        self.loops.pop()
        return text

    def quantity(self, depth: int) -> str:
        kind = self.pick("+", "-", "*", "/", "min", "max", "sum", "whole") if depth else "name"
        if kind == "name":
            return self.pick("Q[BALL]", "0.3", "1.000001", "-2.5")
        if kind in "+ -":
            return f"({self.quantity(depth - 1)} {kind} {self.quantity(depth - 1)})"
        if kind == "*":
            return f"(max(-50, min(50, {self.quantity(depth - 1)})) * max(-50, min(50, {self.quantity(depth - 1)})))"
        if kind == "/":
            return f"({self.quantity(depth - 1)} / {self.pick('0.7', '-3', '(1.5 + BALL)')})"
        if kind in ("min", "max"):
            return f"{kind}({self.quantity(depth - 1)}, {self.whole(depth - 1)})"
        return self.whole(depth - 1) if kind == "whole" else self.sum(self.quantity, depth)

    def statement(self, number: int) -> str:
        """Add to a dimension of its own, mostly in a loop."""
        name, range_ = f"j{number}", self.range()
        if self.draw(st.booleans()):
            return f"UTIL.SUM[BIN, {number}] += {self.quantity(2)}"
        self.loops.append(name)
        text = f"let x{number} = {self.quantity(2)} UTIL.SUM[BIN, {number}] {self.pick('+=', '-=')} x{number}"
        self.loops.pop()
        return f"for {name} in {range_} {text} end"


@st.composite
def straight_specifications(draw: st.DrawFn) -> str:
    """A specification whose UTILFN has no branches: a vector problem with many sums."""
    writer = _Straight(draw)
    body = "\n".join(map(writer.statement, range(SUMS)))
    return f"""TABLE T = [0, 2, 1, -3, 2]
TABLE Q = [0.5, -1.25, 2.000001, 0.000003, 7]
BALLS {BALLS}
BINS {BINS}
RESOURCES SUM[s in BINS, k in {SUMS}] => 1e9
procedure UTILFN(BALL, BIN, ALLOC)
{body}
end
"""


@st.composite
def specifications(draw: st.DrawFn) -> str:
    """A whole specification."""
    writer = _Writer(draw)
    more = draw(
        st.lists(
            st.sampled_from(
                [
                    "FRIENDS 0, 2", "FRIENDS 1, 3 WITH 0.5", "FOES 0, 1", "FOES 1, 2, 4 WITH 0.3", "PIN 3 TO 1",
                    "SOFT GRID[s, *] SHARE 0.5 OVER 0.4 for s in BINS", "GROUPS 0, 2", "FOES i, 4 for i in 1 .. 3",
                ]
            ),
            max_size=3,
            unique=True,
        )
    )  # fmt: skip
    body = writer.block(2)
    return HEAD + "\n".join(more) + f"\nprocedure UTILFN(BALL, BIN, ALLOC)\n{body}\nend\n"
