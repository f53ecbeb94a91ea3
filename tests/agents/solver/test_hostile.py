"""Specifications that are damaged: each is a problem, or one message."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from agents.solver import examples, problem
from agents.solver.errors import SpecError
from simcore.errors import UserError
from tests.support.mangling import mangled
from tests.support.properties import scaled

EXAMPLES = examples()
ODD = (
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        " ",
        "\n",
        "#",
        "*",
        "-",
        "+",
        "/",
        "%",
        "=>",
        "+=",
        "==",
        "..",
        ",",
        ":",
        "if",
        "end",
    ),
    *(
        "let",
        "for",
        "in",
        "BALLS",
        "BINS",
        "?",
        "ALLOC",
        "UTIL",
        "REJECT",
        "TO",
        "WITH",
        "FRIENDS",
        "FOES",
        "PIN",
        "NULL",
    ),
    *(
        "9" * 400,
        "1e400",
        "0",
        "-1",
        "1e-9",
        "0.5",
        "\0",
        "é",
        '"',
        "procedure",
        "count(o in BALLS: ",
        "sum(i in 9: ",
        "min(",
    ),
)


def take(text: str) -> None:
    """Have a specification checked and its problem made."""
    try:
        found = problem(text)
    except UserError as error:
        assert isinstance(error, SpecError)  # noqa: PT017 (it need not be raised)
        assert len(str(error)) < 5_000  # noqa: PT017
        return
    assert found.balls > 0
    assert len(found.ceiling) == found.dims


@scaled(1.0)
@given(name=st.sampled_from(sorted(EXAMPLES)), seed=st.integers(0, 2**64))
def test_damaged_specifications_are_answered(name: str, seed: int) -> None:
    take(mangled(EXAMPLES[name], ODD, random.Random(seed)))
