"""Numbers with units."""

from contextlib import suppress
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.simcore.errors import UserError
from binwright.simcore.types import QUANTUM
from binwright.simcore.units import (
    BANDWIDTH,
    CARDS,
    COUNT,
    CPU,
    DATA,
    SHARE,
    TIME,
    Measure,
    amount,
    measure_of,
    quanta,
    say,
)

MEASURES = [BANDWIDTH, CARDS, COUNT, CPU, DATA, SHARE, TIME]


@pytest.mark.parametrize(
    ("measure", "text", "value"),
    [
        (DATA, "64 GiB", 68.719476736),
        (DATA, "90 GB", 90),
        (DATA, "0.1 TB", 100),
        (DATA, 90, 90),
        (TIME, "10 min", 600),
        (TIME, "3h", 10800),
        (TIME, "1e6", 1e6),
        (SHARE, "50 %", 0.5),
        (CPU, "500 m", 0.5),
        (BANDWIDTH, "100 Mbps", 0.1),
        (COUNT, "7", 7),
    ],
)
def test_text_and_numbers_become_base_units(measure: Measure, text: object, value: float) -> None:
    assert measure.parse(text) == value


@pytest.mark.parametrize(
    ("measure", "value", "problem", "remedy"),
    [
        (DATA, "90 gb", "'gb' is not a unit of data", "GiB"),
        (TIME, "10 GB", "'GB' is not a unit of time", "or one with us, ms, s, min, h, d, w."),
        (TIME, "soon", "is not a valid time", "a plain number (of s)"),
        (TIME, nan, "must be finite", "Write"),
        (TIME, 10**400, "must be finite", "Write"),
        (TIME, -1, "must not be negative", "Write"),
        (TIME, True, "is not a valid time", "Write"),
        (SHARE, 50, "is more than 1", "Did you mean '50 %'? Write a plain number, or one with %."),
        (COUNT, "3 apples", "'apples' is not a unit of amount", "Write a plain number: only cpu"),
    ],
)
def test_mistakes_name_what_is_accepted(measure: Measure, value: object, problem: str, remedy: str) -> None:
    with pytest.raises(UserError) as caught:
        measure.parse(value)
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy


def test_amounts_are_said_with_their_units() -> None:
    assert say((16_000_000, 32_000_000), ("cpu", "mem")) == "16 cpu, 32 GB mem"


@pytest.mark.parametrize(
    ("value", "problem"), [("2000000000 GB", "is more than"), ("1 B", "is less than 1e-06 GB"), (-1, "negative")]
)
def test_impossible_amounts(value: object, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        amount("mem", value)


def test_resources_are_measured_by_their_name() -> None:
    assert [measure_of(name) for name in ("cpu", "gpu", "bandwidth", "licences")] == [CPU, CARDS, BANDWIDTH, COUNT]
    assert all(measure_of(name) is DATA for name in ("mem", "memory", "disk", "ssd", "hdd"))
    assert amount("memory", "1 GiB") == 1.073741824


@given(st.sampled_from(MEASURES), st.floats(0, 1e300))
def test_shown_amounts_parse_to_the_same(measure: Measure, number: float) -> None:
    number = min(number, measure.largest)
    assert measure.parse(measure.show(number)) == number


@given(st.integers(0, 10**12))
def test_quanta_come_back(count: int) -> None:
    assert quanta(count / QUANTUM) == count


@pytest.mark.long
@given(st.sampled_from(MEASURES), st.text() | st.floats() | st.integers() | st.none() | st.lists(st.integers()))
def test_anything_is_a_number_or_a_user_error(measure: Measure, value: object) -> None:
    with suppress(UserError):
        assert 0 <= measure.parse(value) < inf
