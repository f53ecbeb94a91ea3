"""Which rows of a trace are read: conditions on the cells of its columns."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from binwright.simcore.errors import UserError, WorkloadError, suggest
from binwright.simcore.extras import pl
from binwright.workloads.traces.cells import NOTHING, is_date, plain_number, report, seconds_of_date

COMPARES: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}
REMEDY = 'Write a value, a list of values, or comparisons: "> 0", "!= failed", ">= 2026-11-01".'


def split(condition: str) -> tuple[str, str]:
    """Split a comparison into its sign and the rest; a plain value has no sign."""
    sign = next((sign for sign in COMPARES if condition.startswith(sign)), "")
    return sign, condition[len(sign) :].strip()


def check_conditions(conditions: Sequence[str]) -> None:
    """Refuse conditions that cannot be meant: values beside comparisons, or an order of words."""
    signs = [split(each)[0] for each in conditions]
    if not signs or (any(signs) and not all(signs)):
        raise UserError("needs values, or comparisons, and not both", value=list(conditions), remedy=REMEDY)
    for sign, value in map(split, conditions):
        if sign and sign != "!=" and _number(value) is None:
            problem = "compares with a value that is neither a number nor a date"
            raise UserError(problem, value=f"{sign} {value}", remedy=REMEDY)


def keep_rows(frame: pl.DataFrame, keep: Mapping[str, Sequence[str]], path: Path) -> pl.DataFrame:
    """Keep the rows whose cells meet all conditions: one of the values of a column, or each of its comparisons."""
    for column, conditions in keep.items():
        if column not in frame.columns:
            remedy = suggest(column, [name for name in frame.columns if name != "line"])
            raise WorkloadError(f"has no column {column}", file=path, key="workload.keep", remedy=remedy)
        # Those that say what a cell is not come first: they may leave out words.
        pairs = sorted(map(split, conditions), key=lambda each: each[0] not in ("", "!="))
        rest = frame
        for sign, value in pairs if pairs[0][0] else ():
            rest = rest.filter(_meets(rest, column, sign, value, path))
        if not pairs[0][0]:
            rest = frame.filter(reduce(operator.or_, (_meets(frame, column, "", value, path) for _, value in pairs)))
        if rest.is_empty():
            counts = frame[column].value_counts(sort=True)[column]
            remedy = f"It has {', '.join(map(str, counts.head(8)))}{', ...' * (len(counts) > 8)}."
            key, value = f"workload.keep.{column}", ", ".join(conditions)
            raise WorkloadError("keeps no row of the file", file=path, key=key, value=value, remedy=remedy)
        frame = rest
    return frame


def _meets(frame: pl.DataFrame, column: str, sign: str, value: str, path: Path) -> pl.Series:
    """Tell which cells meet a condition, bool [rows]; words that are to be compared by size are refused."""
    text = frame[column].cast(pl.String).fill_null("").str.strip_chars()
    lower = text.str.to_lowercase()
    if sign in ("", "!="):
        same = (lower if value in ("true", "false") else text) == value
        if not value:  # an empty cell is what is read as one
            same = lower.is_in(NOTHING)
        if (number := plain_number(value)) is not None:
            same = same | (text.cast(pl.Float64, strict=False) == number).fill_null(False)
        return ~same if sign else same
    numbers = text.cast(pl.Float64, strict=False)
    dates = {date: seconds_of_date(date) for date in text.filter(numbers.is_null()).unique().to_list() if is_date(date)}
    sizes = numbers.fill_null(text.replace_strict(dates, default=None, return_dtype=pl.Float64)) if dates else numbers
    odd = sizes.is_null() & ~lower.is_in(NOTHING)
    if odd.any():
        word = text.filter(odd)[0]
        remedy = f'Correct it, or leave such rows out: `{column}: ["!= {word}", "{sign} {value}"]`.'
        report(frame, odd, path, column, "neither a number nor a date", remedy, word)
    met: pl.Series = COMPARES[sign](sizes, _number(value)).fill_null(False)
    return met


def _number(value: str) -> float | None:
    return seconds_of_date(value) if is_date(value) else plain_number(value)
