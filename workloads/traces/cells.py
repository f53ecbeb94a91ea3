"""Reads cells of a table as numbers, moments and spans of time, and reports those that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from binwright.simcore.errors import UserError, WorkloadError
from binwright.simcore.extras import pl
from binwright.simcore.units import TIME, amount

NOTHING = ("", "-", "null", "none", "n/a", "na", "\\n", "unknown")
"""What stands for an empty cell, in small letters, where a number or a time is expected."""
DATES = "2026-11-03, 2026-11-03 08:15, 2026-11-03T08:15:00Z, ...T08:15:00+01:00"
DATED = 1e9
"""Seconds since 1970 in 2001: a clock that is so late is one of dates, since no trace is as long."""
AMOUNT = re.compile(r"[+-]?[\d.]+\s*[A-Za-z]+")
"""An amount with its unit."""
_ZONE = re.compile(r"\s*(?:(UTC|GMT|Z)|([+-]\d\d:?\d\d)(?:\s+[A-Z]{2,5})?)$")
_CLOCK = re.compile(r"(?:(\d+)(?:-|\s*days?,?\s*))?(\d+):(\d\d)(?::(\d\d(?:\.\d+)?))?")
NAMED = 10
"""Further rows that an error names in which the same is wrong."""


def report(
    frame: pl.DataFrame, wrong: pl.Series, path: Path, key: str, problem: str, remedy: str, value: object
) -> None:
    """Refuse rows, bool [rows], in which something is wrong.

    The error names the first of them, which has this `value`, and some others, by line, or else by id.
    """
    rows = wrong.arg_true().to_list()
    of, what = next((each for each in (("line", "line"), ("id", "request")) if each[0] in frame.columns), ("", "row"))
    first, *others = [frame[of][row] if of else row for row in rows[: NAMED + 1]]
    if of == "id":
        problem += f" in request {first!r}"
    if others:
        more = f"{', '.join(map(str, others))}{', ...' * (len(rows) - 1 > NAMED)}"
        s = "s" * (len(others) > 1)
        problem += f", and so in {len(rows) - 1:,} row{s} more ({what}{s} {more})"
    raise WorkloadError(problem, file=path, line=first if of == "line" else None, key=key, value=value, remedy=remedy)


def filled(frame: pl.DataFrame, column: str) -> pl.Series:
    """Read a column with null for cells that hold nothing; numbers stay, texts lose the blanks around them."""
    cells = frame[column]
    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    if cells.dtype != pl.String:
        return cells
    cells = cells.str.strip_chars()
    return pl.select(pl.when(~cells.str.to_lowercase().is_in(NOTHING)).then(cells)).to_series().alias(column)


def number(frame: pl.DataFrame, column: str, path: Path) -> pl.Series:
    """Read a column of text as Float64; what is not a number is refused, an empty cell stays null."""
    return _each(frame, frame[column].str.strip_chars(), path, None, "not a number", "Give a number.")


def amounts(frame: pl.DataFrame, column: str, path: Path, resource: str, unit: float) -> pl.Series:
    """Read amounts of a resource, Float64: numbers, or a number and its unit, `16 GiB`; an empty cell stays null.

    Numbers count in `unit`s of the resource. What says its own unit is turned into as many of these.
    """
    cells = filled(frame, column)
    if cells.dtype != pl.String:
        return _plain(cells, path, "numbers")

    def read(text: str) -> float:
        if plain_number(text) is not None:
            return float(text)
        if AMOUNT.fullmatch(text):
            return amount(resource, text) / unit
        raise ValueError(text)

    plain = cells.cast(pl.Float64, strict=False).null_count() == cells.null_count()
    return _each(frame, cells, path, None if plain else read, "not a number", "Give a number; decimals have a point.")


def moments(frame: pl.DataFrame, column: str, path: Path, unit: float) -> pl.Series:
    """Read points in time, Float64 in seconds: numbers in `unit`, or dates in ISO 8601 as seconds since 1970.

    Dates without a zone count as UTC; a column that has both, or dates beside numbers, is refused.
    """
    cells = filled(frame, column)
    if cells.dtype == pl.Date or isinstance(cells.dtype, pl.Datetime):
        return cells.cast(pl.Datetime("us", getattr(cells.dtype, "time_zone", None))).dt.epoch("us") / 1e6
    if cells.dtype != pl.String:
        return _plain(cells, path, "times") * unit
    first = cells.drop_nulls().head(1).to_list()
    if not first or not is_date(first[0]):
        problem = "not a number" if not first or plain_number(first[0]) is not None else "neither a number nor a date"
        return _each(frame, cells, path, None, problem, f"Give a number, or in the whole column dates: {DATES}.") * unit
    zoned = _parsed(first[0]).tzinfo is not None

    def read(text: str) -> float:
        if (_parsed(text).tzinfo is not None) is not zoned:
            kind, others = ("no", "one") if zoned else ("a", "none")
            problem = f"a date with {kind} zone, where others have {others}"
            raise UserError(problem, remedy="Write all in UTC, with Z.")
        return seconds_of_date(text)

    return _each(frame, cells, path, read, "not a date", f"Give dates in ISO 8601: {DATES}.")


def spans(frame: pl.DataFrame, column: str, path: Path, unit: float) -> pl.Series:
    """Read how long something takes, Float64 in seconds: numbers in `unit`, `inf`, `2 h`, `1-02:03:04` or `02:03`."""
    cells = filled(frame, column)
    if isinstance(cells.dtype, pl.Duration):
        return cells.dt.total_microseconds() / 1e6
    if cells.dtype != pl.String:
        return _plain(cells, path, "times") * unit

    def read(text: str) -> float:
        if plain_number(text) is not None:
            return float(text) * unit
        if clock := _CLOCK.fullmatch(text):
            days, hours, minutes, seconds = clock.groups()
            return ((int(days or 0) * 24 + int(hours)) * 60 + int(minutes)) * 60.0 + float(seconds or 0)
        try:
            return TIME.parse(text)
        except UserError:
            raise ValueError(text) from None

    return _each(frame, cells, path, read, "not a number", "Give a number, or a time: 2 h, 1-02:03:04 (days-h:min:s).")


def _each(
    frame: pl.DataFrame, cells: pl.Series, path: Path, read: Callable[[str], float] | None, problem: str, remedy: str
) -> pl.Series:
    """Turn texts into Float64, as plain numbers where `read` is None; the first that cannot be read is named."""
    values = cells.cast(pl.Float64, strict=False)
    if read is not None:
        known, mistakes = dict[str, float](), list[tuple[str, str]]()
        for text in cells.drop_nulls().unique(maintain_order=True).to_list():
            try:
                known[text] = read(text)
            except UserError as error:
                mistakes.append((error.problem, error.remedy))
            except (ValueError, OverflowError):
                mistakes.append((problem, remedy))
        problem, remedy = [*mistakes, (problem, remedy)][0]
        values = cells.replace_strict(known, default=None, return_dtype=pl.Float64)
    if values.null_count() > cells.null_count():
        wrong = values.is_null() & cells.is_not_null()
        report(frame, wrong, path, cells.name, problem, remedy, cells.filter(wrong)[0])
    return values.alias(cells.name)


def _plain(cells: pl.Series, path: Path, what: str) -> pl.Series:
    if not (cells.dtype.is_numeric() or cells.dtype == pl.Null):
        remedy = "Store this column as numbers."
        raise WorkloadError(f"not {what} but {cells.dtype}", file=path, key=cells.name, remedy=remedy)
    return cells.cast(pl.Float64)


def plain_number(text: str) -> float | None:
    """Read a plain number; None where a text is none."""
    try:
        return float(text)
    except ValueError:
        return None


def is_date(text: str) -> bool:
    """Tell whether a text is a date in ISO 8601, with or without a time of day and a zone."""
    try:
        return plain_number(text) is None and bool(_parsed(text))
    except ValueError:
        return False


def seconds_of_date(text: str) -> float:
    """Read a date as seconds since 1970; one without a zone is in UTC. Raises `ValueError`."""
    result = _parsed(text)
    return (result if result.tzinfo else result.replace(tzinfo=UTC)).timestamp()


def _parsed(text: str) -> datetime:
    """Read a date as people write it: with a blank before the zone, or UTC by name."""
    if zone := _ZONE.search(text[10:]):
        text = text[: 10 + zone.start()] + (zone[2] or "+00:00")
    return datetime.fromisoformat(text)


def moment(seconds: float) -> str:
    """Write a time on a trace's clock for people: a date, or seconds where the clock has no dates."""
    if seconds < DATED:
        return f"{seconds:g} s"
    return datetime.fromtimestamp(seconds, UTC).isoformat(" ", "seconds").removesuffix("+00:00")
