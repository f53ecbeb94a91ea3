"""Every message of the language beside an input that causes it; the documentation shows the same table."""

import re
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.solver import examples, load_problem, problem
from binwright.agents.solver.language.errors import COUNT_LIMIT, TEXT_LIMIT, SpecError
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO
from binwright.simcore.errors import UserError
from tests.support.properties import scaled

TOP = """TABLE T = [1, 2, 3] TABLE Q = [0.5, 1] TABLE R = [[1], [2, 0]]
BALLS 3 BINS 2 RESOURCES CPU[s in BINS] => 4, ALL => 9"""


def spec(body: str = "UTIL.CPU[BIN] += 1", more: str = "", top: str = TOP) -> str:
    return f"{top}\n{more}\nprocedure UTILFN(BALL, BIN, ALLOC)\n{body}\nend"


def nested(depth: int) -> str:
    return "(" * depth + "1" + " + 1)" * depth


MESSAGES = [
    # Words
    ("é", "this letter means nothing here"),
    ('TABLE X FROM "a', "this letter means nothing here"),
    ("", "there is no UTILFN"),
    (spec("if BALL == 1 REJECT"), "the text ends inside a block"),
    (spec(more="PARAM x ="), "procedure cannot stand here"),
    (spec("UTIL.CPU[BIN] = 1"), "= cannot stand here"),
    (spec("BALL = 1"), "BALL cannot stand here"),
    (spec("UTIL.CPU[BIN] += summ(i in 3: i)"), "unknown function summ"),
    (" " * (TEXT_LIMIT + 1), f"is longer than {TEXT_LIMIT:,} letters"),
    (spec(more=f"PARAM x = {nested(99)}"), "nests deeper than 80"),
    (spec(more="PARAM x = 1e10"), "1e10 is out of range"),
    # Declarations
    (spec(top="BINS 2 RESOURCES C => 1"), "there is no BALLS"),
    (spec(more="BALLS 4"), "BALLS is there twice"),
    (spec(more="RESOURCES CPU => 1"), "CPU is there twice"),
    (spec(top="BALLS 0 BINS 1 RESOURCES C => 1"), "0 is not a number of BALLS"),
    (spec(more="PARAM x = y"), "unknown name y"),
    (spec(more="PARAM x = 1 / 0"), "division by zero"),
    (spec(more="PARAM x = 1e9 * 1e9"), "this may go beyond 1e12"),
    (spec(more="PARAM x = T"), "T is a table"),
    (spec(more="PARAM x = 1 < 2"), "this must be a number"),
    (spec(more="PARAM x = if 1 then 2 else 3"), "this must be true or false"),
    (spec(more="PARAM x = (1 == 1) == 1"), "truth values and numbers differ"),
    (spec(more="PARAM x = NULL"), "this may be NULL, and must be a number"),
    (spec(more="PARAM x = T[3]"), "index 3 leaves T"),
    (spec(more="PARAM x = R[0, 1]"), "index 1 leaves the row of R"),
    (spec(more="PARAM x = T[0, 0]"), "T takes 1 index, not 2"),
    (spec(more="PARAM x = 1.5 % 2"), "this must be a whole number"),
    (spec(more="PARAM x = len(3)"), "len takes a table or a row of it"),
    (spec(more="PARAM x = ALLOC[0]"), "ALLOC is known in UTILFN only"),
    (spec(more="PARAM x = UTIL.CPU[0]"), "UTIL is known in goals only"),
    (spec(more="PARAM x = max(i in 0: i)"), "max of nothing"),
    (spec("let x = UTIL.CPU[0]"), "UTIL is known in goals only"),
    (spec("let x = max(i in 3: i)"), "max over a range is for goals"),
    (spec(more="MINIMISE max(i in ALLOC[0]: i)"), "max may be of nothing"),
    (spec(more="MINIMISE T[ALLOC[0] + 2]"), "an index of T is not certain to be legal here"),
    (spec(more="MINIMISE BIN"), "unknown name BIN"),
    (spec(more="PARAM x = sum(i in Q: i)"), "Q has quantities"),
    (spec(more="TABLE X = [[0.5], [0.5]] PARAM x = sum(i in X[0]: i)"), "X has quantities"),
    (spec(more="PARAM x = sum(i in 0.5: i)"), "a range must be a whole number"),
    (
        spec(more="PARAM x = sum(i in 1000000: sum(j in 1000000: 1))"),
        f"the constants take more than {COUNT_LIMIT:,} steps",
    ),
    (spec(more="TABLE X = [1, [2]]"), "X mixes numbers and rows"),
    (spec(more="TABLE X = [[[1]], [[2], [3]]]"), "X mixes numbers and rows"),
    (spec(more="TABLE X = [1e9 + 1]"), "X has entries out of range"),
    (spec(more="TABLE X[i in 1 .. 3] = i"), "the range of i has two ends, or is below zero"),
    (spec(more="TABLE X[i in 100000, j in 100000] = i"), "10,000,000,000 entries are too many"),
    (spec(more=f"TABLE X[{', '.join(f'i{n} in 1' for n in range(9))}] = 1"), "more than 8 indices"),
    (spec(more='TABLE X FROM "x.csv"'), "'x.csv' is not in the specification's folder"),
    (spec(more="RESOURCES L => -1"), "this capacity is out of range"),
    # Sets
    (spec(more="FRIENDS 0, 3"), "there is no ball 3"),
    (spec(more="FOES 1"), "a single ball cannot be apart"),
    (spec(more="DIFFERENT 0, 1 WITH 0.5"), "WITH cannot stand here"),
    (spec(more="FOES 0, 1 WITH 1.5"), "a probability is out of range"),
    (spec(top="BALLS 4 BINS ? FROM 5 TO 3 RESOURCES C => 1"), "BINS ? goes from 5 to 3"),
    (spec(more="GROUPS 0, 1 GROUPS 1"), "a bin is in two GROUPS"),
    (spec(more="FRIENDS 0 .. 1000 for i in 2000", top=TOP.replace("BALLS 3", "BALLS 1000")), "the constants take more"),
    (spec(top="FOES 0, 1 " + TOP), "BALLS is not known yet"),
    (spec(more="AT LEAST 1 OF BALLS[2]"), "index 2 leaves BALLS"),
    (spec(more="AT LEAST -1 OF CPU[0]"), "this amount is out of range"),
    (spec(more="PIPE 0 .. 3 RATE 1 OVER CPU[BIN]"), "a pipe has two ends, not 3"),
    (spec(more="PIPE 0, i RATE 1 OVER CPU[i] for i in 1 .. 2"), "i is not known behind OVER"),
    (spec(more="HOSE 0, 1 RATE 1 OVER CPU[BALL % 2]"), "BALL is not known behind OVER"),
    (spec(more="HOSE 0, 1 RATE 1 OVER CPU[BIN + 2]"), "index 2 .. 4 leaves CPU"),
    (spec(more="PIN 0 TO 2"), "there is no bin 2"),
    (spec(more="PIN 0 TO 1 PIN 0 TO 0"), "ball 0 is pinned to two bins"),
    (spec(more="SOFT CPU SHARE 2 OVER 1"), "SHARE is out of range"),
    (spec(more="SOFT CPU SHARE 1 OVER 1 SOFT CPU[0] SHARE 1 OVER 1"), "a dimension is in two SOFT groups"),
    # UTILFN
    (spec("UTIL.CPU[BIN] += T[BALL + 3]"), "index 3 .. 6 leaves T"),
    (spec("UTIL.CPU[BIN] += if BALL == 1 then BALL == 2 else 1"), "truth values and numbers differ"),
    (spec("let x = if BALL == 1 then NULL else 0.5"), "a quantity, or a number below zero, is not a bin"),
    (spec("UTIL.CPU[BIN] += ALLOC[0]"), "this may be NULL"),
    (spec("UTIL.CPU[BIN] += 1.5 // BALL"), "this must be a whole number"),
    (spec("UTIL.CPU[BIN] += 1 / (1e9 * (BALL + 2))"), "this divisor may go beyond 1e9"),
    (spec("let x = BALL * 1e9 * 1000 * 1000"), "this may go beyond 1e12"),
    (
        spec("for i in 100 UTIL.ALL += BALL * 1e9 end for i in 400 UTIL.ALL += BALL * 1e9 end"),
        "the utilisation may go beyond 1e12",
    ),
    (spec("UTIL.DISK += 1"), "unknown resource DISK"),
    (spec("UTIL.CPU += 1"), "CPU takes 1 index, not 0"),
    (spec("for T in 3 REJECT end"), "T has a meaning already"),
    (
        spec("for i in 1000 for j in 1000 UTIL.ALL += 1 end end"),
        "one call of UTILFN may take more than 1,000,000 steps",
    ),
    (spec("".join(f"for i{n} in 2 " for n in range(9)) + "REJECT " + "end " * 9), "more than 8 loops in one another"),
]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(text, message, id=f"{n}-{message[:30]}", marks=pytest.mark.long if "steps" in message else ())
        for n, (text, message) in enumerate(MESSAGES)
    ],
)
def test_every_mistake_has_its_message(text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        problem(text)
    error = caught.value
    assert message in error.problem
    assert error.remedy
    shown = str(error).split("\n")
    assert len(shown) >= 2
    if error.at is not None and "longer" not in message:
        assert shown[2].strip() == "^" or error.at.line > len(text.split("\n"))


def test_a_caret_points_at_the_mistake() -> None:
    with pytest.raises(SpecError) as caught:
        problem(spec("UTIL.CPU[BIN] += DEMND[BALL]", more="TABLE DEMAND = [1, 2, 3]"))
    assert str(caught.value) == (
        "specification:5:18: unknown table DEMND\n"
        "    UTIL.CPU[BIN] += DEMND[BALL]\n"
        "                     ^\n"
        "  Did you mean 'DEMAND'? Known: DEMAND, Q, R, T."
    )


def test_files_are_found_beside_the_specification_only(tmp_path: Path) -> None:
    (tmp_path / "outside.csv").write_text("a\n1\n")
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "vms.csv").write_text("name,cpu,mem\na,0.5,2\nb,1,3\nc,0.25,4\n")
    (folder / "bad.csv").write_text("a,b\n1,x\n2,\n")
    odd = {"wide": [1 << 100], "decimal": [Decimal(1)], "words": [["x"]]}
    pl.DataFrame(odd, schema_overrides={"wide": pl.Int128}).write_parquet(folder / "odd.parquet")
    file = folder / "spec.alloc"

    def load(line: str) -> Problem:
        file.write_text(spec(more=line))
        return load_problem(file)

    assert load('TABLE V FROM "vms.csv" COLUMNS "cpu", "mem" RESOURCES X => V[2, 0]').capacity[-1] == 0.25 * MICRO
    for line, message in (
        ('TABLE V FROM "../outside.csv"', "is not in the specification's folder"),
        ('TABLE V FROM "none.csv"', "cannot be read"),
        ('TABLE V FROM "spec.alloc"', "neither .csv nor .parquet"),
        ('TABLE V FROM "vms.csv" COLUMN "cpux"', "has no column 'cpux'"),
        ('TABLE V FROM "vms.csv"', "'a' in line 2 of vms.csv, column 'name', is not a number"),
        ('TABLE V FROM "bad.csv" COLUMNS "a", "b"', "column 'b', is not a number"),
        ('TABLE V FROM "a\0.csv"', "is not in the specification's folder"),
        ('TABLE V FROM "*.csv"', "cannot be read"),
        ('TABLE V FROM "odd.parquet" COLUMN "wide"', "has no numbers"),
        ('TABLE V FROM "odd.parquet" COLUMN "decimal"', "is not numeric"),
        ('TABLE V FROM "odd.parquet" COLUMN "words"', "has no numbers"),
    ):
        with pytest.raises(SpecError, match=re.escape(message)):
            load(line)


def test_parameters_come_from_outside(tmp_path: Path) -> None:
    text = "PARAM n = 2 BALLS n BINS 1 RESOURCES C => n procedure UTILFN(BALL, BIN, ALLOC) UTIL.C += 0.5 end"
    assert problem(text).balls == 2
    assert problem(text, params={"n": 7}).balls == 7
    assert problem(text, params={"n": "3"}).capacity.tolist() == [3 * MICRO]
    for params, message in (
        ({"m": 1}, "there is no parameter m"),
        ({"n": "x"}, "is not a number"),
        ({"n": 1e300}, "range"),
    ):
        with pytest.raises(UserError, match=message):
            problem(text, params=params)


PROOFS = {
    "alloc_free": ("UTIL.CPU[BIN] += 1", "if ALLOC[0] == NULL UTIL.CPU[BIN] += 1 end"),
    "non_negative": ("UTIL.CPU[BIN] += T[BALL]", "UTIL.CPU[BIN] += T[BALL] - 2"),
    "bin_local": ("UTIL.CPU[BIN] += 1", "UTIL.CPU[1 - BIN] += 1"),
    "bin_blind": ("UTIL.CPU[BIN] += BALL", "UTIL.CPU[BIN] += BIN"),
}


@pytest.mark.parametrize("name", PROOFS)
def test_program_properties_are_proven_where_they_hold(name: str) -> None:
    yes, no = PROOFS[name]
    assert getattr(problem(spec(yes)).program, name) is True
    assert getattr(problem(spec(no)).program, name) is False


def test_unproven_indices_and_divisors_are_guarded_at_run_time() -> None:
    guards = problem(spec("UTIL.CPU[BIN] += T[T[BALL]] / (2 - BALL)")).program.guards
    assert guards == ((5, "an index of T"), (5, "a divisor"))
    assert problem(spec("let p = ALLOC[0] if p != NULL and p < 1 UTIL.CPU[p] += T[BALL] end")).program.guards == ()


TOKENS = re.compile(r'"[^"\n]*"|[A-Za-z_]\w*|\d+(?:\.\d+)?|\.\.|=>|[-+=!<>]=|//|\s+|.', re.S)
WORDS = [TOKENS.findall(re.sub(r"#[^\n]*", "", text)) for text in examples().values()]
MORE = ["-1", "1e9", "1e99", "?", '"x.csv"', "FROM", "GROUPS", "len"]
POOL = sorted({word for words in WORDS for word in words}) + MORE


@scaled(0.6)
@given(
    st.sampled_from(WORDS), st.lists(st.tuples(st.integers(0, 10**6), st.sampled_from(POOL)), min_size=1, max_size=5)
)
def test_no_text_crashes_the_compiler(words: list[str], changes: list[tuple[int, str]]) -> None:
    words = list(words)
    for where, word in changes:
        if where % 3:
            words.insert(where % len(words), f"{word} ")
        else:
            words[where % len(words)] = word
    with suppress(SpecError):
        assert problem("".join(words)).program.steps <= 1_000_000


@pytest.mark.long
@scaled(0.3)
@given(st.text(max_size=50))
def test_no_letters_crash_the_parser(text: str) -> None:
    with pytest.raises(SpecError):
        problem(text)
