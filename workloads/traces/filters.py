"""Which rows of a trace are read: conditions on the cells of its columns."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
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


def kept(frame: pl.DataFrame, keep: Mapping[str, Sequence[str]], path: Path) -> pl.DataFrame:
    """Keep the rows whose cells meet all conditions: one of the values of a column, or each of its comparisons."""
    for column, conditions in keep.items():
        if column not in frame.columns:
            remedy = suggest(column, [name for name in frame.columns if name != "line"])
            raise WorkloadError(f"has no column {column}", file=path, key="workload.keep", remedy=remedy)
        mask = _meets(frame, column, [split(each) for each in conditions], path)
        if not mask.any():
            counts = frame[column].value_counts(sort=True)[column]
            remedy = f"It has {', '.join(map(str, counts.head(8)))}{', ...' * (len(counts) > 8)}."
            key, value = f"workload.keep.{column}", ", ".join(conditions)
            raise WorkloadError("keeps no row of the file", file=path, key=key, value=value, remedy=remedy)
        frame = frame.filter(mask)
    return frame


def _meets(frame: pl.DataFrame, column: str, conditions: list[tuple[str, str]], path: Path) -> pl.Series:
    """Tell which cells meet the conditions, bool [rows]; words that are to be compared by size are refused."""
    cells = frame[column]
    text = cells.cast(pl.String).fill_null("").str.strip_chars()
    lower = text.str.to_lowercase()
    result = pl.Series([bool(conditions[0][0])]).new_from_index(0, len(cells))
    # Those that say what a cell is not come first: they may leave out words.
    for sign, value in sorted(conditions, key=lambda each: each[0] not in ("", "!=")):
        if sign in ("", "!="):
            same = (lower if value in ("true", "false") else text) == value
            if not value:  # an empty cell is what is read as one
                same = lower.is_in(NOTHING)
            if (number := plain_number(value)) is not None:
                same = same | (text.cast(pl.Float64, strict=False) == number).fill_null(False)
            result = result & ~same if sign else result | same
        else:
            sizes = _numbers(cells, text)
            odd = result & sizes.is_null() & ~lower.is_in(NOTHING)
            if odd.any():
                word = text.filter(odd)[0]
                remedy = f'Correct it, or leave such rows out: `{column}: ["!= {word}", "{sign} {value}"]`.'
                report(frame, odd, path, column, "neither a number nor a date", remedy, word)
            result = result & COMPARES[sign](sizes, _number(value)).fill_null(False)
    return result


def _numbers(cells: pl.Series, text: pl.Series) -> pl.Series:
    """Read cells as numbers, or dates as seconds since 1970; null for others."""
    if cells.dtype == pl.Date or isinstance(cells.dtype, pl.Datetime):
        return cells.cast(pl.Datetime("us")).dt.epoch("us") / 1e6
    numbers = text.cast(pl.Float64, strict=False)
    dates = text.filter(numbers.is_null() & (text != "")).unique().to_list()
    known = {date: seconds_of_date(date) for date in dates if is_date(date)}
    return numbers.fill_null(text.replace_strict(known, default=None, return_dtype=pl.Float64)) if known else numbers


def _number(value: str) -> float | None:
    return seconds_of_date(value) if is_date(value) else plain_number(value)
