"""What the columns of a stranger's table probably are, in which unit, why, and what is doubtful."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from binwright.simcore.errors import WorkloadError
from binwright.simcore.extras import pl
from binwright.simcore.units import DATA
from binwright.workloads.traces.cells import AMOUNT, COMMA, DAY_FIRST, REWRITE, filled, is_date, is_number
from binwright.workloads.traces.faults import collecting
from binwright.workloads.traces.table import CENSORED, is_parquet, read_parquet
from binwright.workloads.traces.text import read_text

_WORDS = {
    "arrival": "arrival arrived submit submitted submission requested created creation create start started begin "
    "launch launched provisioned at timestamp ts time date",
    "end": "end ended finish finished deleted deletion delete stop stopped terminated termination removed destroyed "
    "completed completion decommissioned until",
    "lifetime": "lifetime duration runtime elapsed lt uptime walltime seconds",
    "id": "id uuid guid vmid name instance vm job pod key",
    "cpu": "cpu cpus vcpu vcpus core cores vcore vcores ncpu ncpus processors millicores",
    "mem": "mem memory ram",
    "gpu": "gpu gpus accelerators cards",
    "disk": "disk storage ssd hdd",
    "group": "group app application service deployment batch",
    "tenant": "tenant customer project account organisation organization org team department user owner "
    "namespace subscription",
    "priority": "priority prio qos class tier",
    "zone": "zone az region location datacenter",
    "state": "state status phase",
    "censored": "censored running alive open active",
}
"""The words by which columns are known, those that say most first."""
_NOT = "usage used util utilisation utilization percent pct avg average peak limit model family price cost"
"""Words of columns that are about something else than what was asked for."""
_UNITS = {
    "cpu": {"m": "millicores", "milli": "millicores", "millis": "millicores", "millicores": "millicores"},
    "mem": {"b": "B", "byte": "B", "bytes": "B"}
    | {f"{x.lower()}b": f"{x}B" for x in "kMGT"}
    | {f"{x.lower()}ib": f"{x}iB" for x in "KMGT"},
    "time": {"ns": "0.001 us", "us": "us", "ms": "ms", "s": "s", "sec": "s", "secs": "s", "seconds": "s", "min": "min"}
    | {"mins": "min", "minutes": "min", "h": "h", "hr": "h", "hours": "h", "hrs": "h", "d": "d", "days": "d"},
}
_UNITS["disk"] = _UNITS["mem"]
LEAST_MEMORY, MOST_MEMORY, LEAST_MILLICORES = 0.064, 24_576.0, 50
"""GB and millicores of a usual request: what the middle one must have to be believed in the unit that a name says."""
IDS = range(4)
"""Ranks of the words by which nothing but a name is meant: id, uuid, guid, vmid."""
_FAILED = r"(?:^|[^a-z])(fail|error|crash|kill|reject|abort|cancel|denied|refused|invalid|unschedul)"
"""What words begin with that are said of a machine that never ran."""
_SOME = 20
"""Distinct words up to which a column of them is worth naming."""


@dataclass(frozen=True)
class Guess:
    """Says that a column is one of ours: in which unit, if it needs one, and why."""

    name: str
    column: str
    unit: str
    why: str


@dataclass(frozen=True)
class Proposal:
    """What a table's columns probably are.

    `labels` maps a label to its column, `empty` and `keep` are as a scenario has them, and `doubts` are sentences.
    """

    guesses: tuple[Guess, ...]
    labels: dict[str, str] = field(default_factory=dict)
    empty: dict[str, str] = field(default_factory=dict)
    keep: dict[str, str] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def workload(self) -> dict[str, Any]:
        """The keys of `workload:` that read the table so, but for `path`."""
        found: dict[str, Any] = {
            "trace": "table",
            "columns": {guess.name: guess.column for guess in self.guesses},
            "units": {guess.name: guess.unit for guess in self.guesses if guess.unit},
            "empty": self.empty,
            "keep": self.keep,
            "labels": self.labels,
        }
        return {key: value for key, value in found.items() if value}


class _Column:
    """Looks at one column: the words of its name, and what its cells are."""

    def __init__(self, frame: pl.DataFrame, name: str) -> None:
        self.name = name
        parts = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).replace("vCPU", "vcpu").replace("v CPU", "vcpu")
        whole, split = (re.split(r"[^A-Za-z0-9]+", text.lower()) for text in (name, parts))
        self.words = [word for word in split if word]
        self.all_words = [word for word in (*split, *whole) if word]
        self.cells = filled(frame, name)
        self.there = self.cells.drop_nulls()
        self.missing = len(self.cells) - len(self.there)

    @cached_property
    def numbers(self) -> pl.Series | None:
        """Return its numbers if there is nothing else in it."""
        if self.there.is_empty() or not (self.there.dtype.is_numeric() or self.there.dtype == pl.String):
            return None
        values = self.there.cast(pl.Float64, strict=False)
        return None if values.null_count() else values

    @cached_property
    def amounts(self) -> pl.Series | None:
        """Return the plain numbers of a column of amounts, of which some may say their unit, or have a comma.

        Nine tenths of its cells or more must be amounts; of the others, reading says the line.
        """
        if self.numbers is not None or self.there.dtype != pl.String:
            return self.numbers
        values = self.there.cast(pl.Float64, strict=False).drop_nulls()
        some = self.there.head(50)
        fit = [text for text in some if is_number(text) or AMOUNT.fullmatch(text) or COMMA.fullmatch(text)]
        return values if len(fit) and 10 * len(fit) >= 9 * len(some) else None

    @cached_property
    def is_dates(self) -> bool:
        """Whether nine tenths of it or more are dates that can be read; of the others, reading says the line."""
        if self.there.dtype == pl.Date or isinstance(self.there.dtype, pl.Datetime):
            return True
        some = self.there.head(50)
        return self.there.dtype == pl.String and len(some) > 0 and 10 * sum(map(is_date, some)) >= 9 * len(some)

    @cached_property
    def looks_dated(self) -> bool:
        """Whether it has dates that are not read, as nobody knows which of two orders they have: 03/11/2026."""
        some = self.there.head(50)
        if some.dtype != pl.String or self.is_dates or not any(map(DAY_FIRST.fullmatch, some)):
            return False
        return all(DAY_FIRST.fullmatch(text) or is_date(text) for text in some)

    def rank(self, kind: str) -> int | None:
        """How well its name says what it is, 0 the best; `None` where it does not."""
        known = _WORDS[kind].split()
        if set(_NOT.split()) & set(self.words) or (kind == "arrival" and set(_WORDS["end"].split()) & set(self.words)):
            return None
        return min((known.index(word) for word in self.words if word in known), default=None)

    def unit(self, kind: str) -> str:
        """Return the unit that its name says, if it does."""
        named = _UNITS.get(kind, {})
        return next((named[word] for word in reversed(self.all_words) if word in named), "")


class _Look:
    """Goes over the columns, takes the best for each of ours, and collects what is doubtful."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.columns = [_Column(frame, name) for name in frame.columns if name != "line"]
        self.taken: set[str] = set()
        self.guesses: list[Guess] = []
        self.doubts: list[str] = []

    def best(self, kind: str, fits: Callable[[_Column], bool]) -> _Column | None:
        """Take the column whose name says most of those that fit."""
        ranked = [(not each.is_dates, each.rank(kind), place) for place, each in enumerate(self.columns)]
        order = sorted((dated, rank, place) for dated, rank, place in ranked if rank is not None)
        found = [each for *_, place in order if (each := self.columns[place]).name not in self.taken and fits(each)]
        if not found:
            return None
        if len(found) > 1 and kind in ("arrival", "end", "lifetime", "cpu", "mem"):
            others = [each.name for each in found[1:] if each.is_dates == found[0].is_dates]
            if others:
                self.doubts.append(f"{found[0].name} is taken for {kind}; so might be {', '.join(others)}.")
        self.taken.add(found[0].name)
        return found[0]

    def take(self, name: str, column: _Column, unit: str, why: str) -> None:
        self.guesses.append(Guess(name, column.name, unit, why))


def propose(path: Path) -> Proposal:
    """Look at a CSV or Parquet file; refuses one in which nothing says when requests arrive or what they ask for."""
    with collecting():  # whoever reads the rows refuses those that cannot be read
        frame = read_parquet(path) if is_parquet(path) else read_text(path)
    if frame.is_empty():
        remedy = "Give a row for every request, below the names of the columns."
        raise WorkloadError("no requests: the table has no rows", file=path, remedy=remedy)
    look = _Look(frame)
    empty: dict[str, str] = {}
    keep: dict[str, str] = {}
    _demands(look, empty, keep)
    _times(look, empty, keep)
    _name(look)
    labels, group = _labels(look)
    if group:
        look.take("group", group, "", "its name")
    found = {guess.name for guess in look.guesses}
    missing = [] if "arrival" in found else ["when requests arrive"]
    missing += [] if {"cpu", "mem", "gpu"} & found else ["what they ask for"]
    if missing:
        line = None if is_parquet(path) else 1
        if dated := [each for each in look.columns if each.looks_dated]:
            problem, key = "dates that do not begin with the year", " and ".join(each.name for each in dated)
            row = next(row for row, text in enumerate(dated[0].cells) if text and DAY_FIRST.fullmatch(text))
            value, line = dated[0].cells[row], frame["line"][row] if "line" in frame.columns else None
            raise WorkloadError(problem, file=path, line=line, key=key, value=value, remedy=REWRITE)
        raise WorkloadError(
            f"no column says {' or '.join(missing)}",
            file=path,
            line=line,
            remedy=f"Its columns: {', '.join(each.name for each in look.columns)}. If one of them does, write "
            "`columns: {arrival: ..., end: ..., cpu: ...}` into a scenario with `trace: table`. "
            "The page 'Traces and generated workloads' says how.",
        )
    others = tuple(each.name for each in look.columns if each.name not in look.taken)
    return Proposal(tuple(look.guesses), labels, empty, keep, tuple(look.doubts), others)


def _times(look: _Look, empty: dict[str, str], keep: dict[str, str]) -> None:
    def timely(column: _Column) -> bool:
        return column.is_dates or column.numbers is not None

    def moment(kind: str) -> _Column | None:
        column = look.best(kind, timely)
        if column:
            unit, why = ("", "dates") if column.is_dates else _clock(column, look)
            look.take(kind, column, "" if unit == "s" else unit, f"its name; {why}")
        return column

    if (arrival := moment("arrival")) and arrival.missing:
        keep[arrival.name] = "!="
        look.doubts.append(f"{arrival.name} is empty in {arrival.missing:,} rows: they are left out.")
    end = moment("end")
    if end is None and (end := look.best("lifetime", lambda column: column.numbers is not None or _spans(column))):
        unit = end.unit("time")
        look.take("lifetime", end, "" if unit == "s" else unit, f"its name; {'in it the unit' if unit else 'seconds'}")
        if not unit and end.numbers is not None:
            look.doubts.append(f"{end.name} does not say its unit: seconds are assumed.")
    if end is None and (end := look.best("end", lambda column: column.there.is_empty())):
        look.take("end", end, "", "its name")
    if end is None:
        empty["end"] = "never"
        look.doubts.append("No column says when requests end: all of them stay for ever.")
    elif marks := look.best(CENSORED, _marks):
        assert marks.numbers is not None
        look.take(CENSORED, marks, "", "its name; 1 for those that run on")
        look.doubts.append(f"{marks.name} marks {int(marks.numbers.sum()):,} rows: they are taken to run on for ever.")
    if end is not None and end.missing:
        empty["lifetime" if any(guess.name == "lifetime" for guess in look.guesses) else "end"] = "never"
        look.doubts.append(
            f"{end.name} is empty in {end.missing:,} of {len(end.cells):,} rows: they are taken to run on for ever."
        )


def _marks(column: _Column) -> bool:
    """Whether its cells are 0 and 1."""
    return column.numbers is not None and bool(column.numbers.is_in([0.0, 1.0]).all())


def _spans(column: _Column) -> bool:
    return isinstance(column.there.dtype, pl.Duration)


def _clock(column: _Column, look: _Look) -> tuple[str, str]:
    """Guess the unit of numbers that are times."""
    assert column.numbers is not None
    if unit := column.unit("time"):
        return unit, f"its name says {unit}"
    middle = float(column.numbers.median() or 0)  # type: ignore[arg-type]  # a number
    for above, unit in ((1e17, "0.001 us"), (1e14, "us"), (1e11, "ms"), (1e8, "s")):
        if middle > above:
            return unit, f"as large as times since 1970 in {unit}"
    look.doubts.append(f"{column.name} does not say its unit: seconds are assumed.")
    return "s", "numbers, taken for seconds"


def _demands(look: _Look, empty: dict[str, str], keep: dict[str, str]) -> None:
    for name in ("cpu", "mem", "gpu", "disk"):
        column = look.best(name, lambda column: column.numbers is not None)
        column = column or look.best(name, lambda column: column.amounts is not None)
        if column is None:
            _doubt_words(name, look)
            continue
        assert column.amounts is not None
        unit, why = _amount(name, column, column.amounts, look)
        look.take(name, column, unit, why)
        none = column.missing + int((column.amounts <= 0).sum())
        if column.numbers is None and column.missing:
            keep[column.name] = "!="
            look.doubts.append(f"{column.name} is empty in {column.missing:,} rows: they are left out.")
        elif none and name in ("cpu", "mem") and column.numbers is not None:
            keep[column.name] = "> 0"
            look.doubts.append(
                f"{column.name} is empty or not above 0 in {none:,} of {len(column.cells):,} rows: they are left out."
            )
        elif column.missing:
            empty[name] = "0"
            look.doubts.append(f"{column.name} is empty in {column.missing:,} rows: that is taken for 0.")


def _doubt_words(name: str, look: _Look) -> None:
    """Name a column that sounds right and has something else than numbers."""
    for column in look.columns:
        if column.rank(name) is not None and column.there.dtype == pl.String and not column.there.is_empty():
            odd = column.there.filter(column.there.cast(pl.Float64, strict=False).is_null())
            if len(odd):
                remedy = "it is not read"
                look.doubts.append(f"{column.name} sounds like {name}, but {odd[0]!r} is no number: {remedy}.")
                return


def _amount(name: str, column: _Column, values: pl.Series, look: _Look) -> tuple[str, str]:
    """Guess the unit of a demand, of which `values` are those that do not say it themselves."""
    if values.is_empty():
        return DATA.base if name in ("mem", "disk") else "", f"its name; {column.there[0]!r} says the unit"
    said = column.unit(name)
    middle = float(values.median() or 0)  # type: ignore[arg-type]  # a number
    shown = f"{middle:,.10g}"
    if name in ("mem", "disk"):
        binary = bool((values % 1024 == 0).all())
        if said:
            if said in ("kB", "MB") and binary:
                look.doubts.append(f"{column.name} has multiples of 1024 only: perhaps {said[0].upper()}iB is meant.")
            if name == "mem" and not LEAST_MEMORY <= DATA.parse(f"{middle} {said}") <= MOST_MEMORY:
                look.doubts.append(f"{column.name} says {said}, but has {shown} in the middle: is that the unit?")
            return said, f"its name says {said}"
        if middle >= 1e8:
            return "B", f"as large as bytes: {shown} in the middle"
        if middle >= 2e5:
            unit = "KiB" if binary else "kB"
        elif middle >= 200:
            unit = "MiB" if binary or bool((values % 1000 != 0).all()) else "MB"
        else:
            unit = "GiB"
        look.doubts.append(f"{column.name} does not say its unit: {unit} is assumed ({shown} in the middle).")
        return unit, f"{shown} in the middle"
    if name == "cpu":
        if said:
            if middle < LEAST_MILLICORES:
                look.doubts.append(f"{column.name} says {said}, but has {shown} in the middle: is that the unit?")
            return said, f"its name says {said}"
        if middle >= 100:
            look.doubts.append(f"{column.name} does not say its unit: millicores are assumed ({shown} in the middle).")
            return "millicores", f"{shown} in the middle, more cores than a request asks for"
    return "", f"its name; {shown} in the middle"


def _name(look: _Look) -> None:
    """Take a column of ids, if one names every row differently."""

    def differs(column: _Column) -> bool:
        return not column.missing and not column.there.is_duplicated().any() and not column.is_dates

    column = look.best("id", differs)
    named = [each for each in look.columns if each.rank("id") in IDS and each.name not in look.taken]
    if column is None and named:
        rows, missing = len(named[0].cells), named[0].missing
        again = rows - missing - named[0].there.n_unique()
        twice = named[0].there.filter(named[0].there.is_duplicated()).head(1).to_list()
        counts = [f"repeats one above it in {again:,}"] * bool(again) + [f"is empty in {missing:,}"] * bool(missing)
        look.doubts.append(
            f"{named[0].name} {' and '.join(counts)} of {rows:,} rows{''.join(f' ({one!r})' for one in twice)}: "
            "not read, requests are named by their row."
        )
    if column:
        look.taken.add(column.name)
        look.guesses.insert(0, Guess("id", column.name, "", "its name; different in every row"))


def _doubt_failed(column: _Column, look: _Look) -> None:
    """Doubt a column of few words of which one sounds as if such rows never ran, whatever the column is called."""
    if column.there.dtype != pl.String or column.there.n_unique() > _SOME:
        return
    failed = column.there.filter(column.there.str.to_lowercase().str.contains(_FAILED))
    if 0 < len(failed) < len(column.there):
        words = ", ".join(failed.unique(maintain_order=True).to_list())
        others = column.there.filter(~column.there.is_in(failed.implode())).unique(maintain_order=True).to_list()
        keep = f"`keep: {{{column.name}: [{', '.join(others)}]}}`"
        many = f"{len(failed):,} of {len(column.cells):,} rows"
        look.doubts.append(f"{column.name} has {words} in {many}, as if these never ran: {keep} leaves them out.")


def _labels(look: _Look) -> tuple[dict[str, str], _Column | None]:
    def words(column: _Column) -> bool:
        return bool(column.numbers is None or column.rank("priority") is not None) and not column.is_dates

    found = {}
    for label in ("tenant", "priority", "zone"):
        if column := look.best(label, words):
            found[label] = column.name
            if label == "priority" and column.missing:
                many = f"{column.missing:,} of {len(column.cells):,} rows"
                look.doubts.append(f"{column.name} is empty in {many}: their priority is 0.")
    if (state := look.best("state", words)) and state.there.n_unique() <= _SOME:
        counts = state.there.value_counts(sort=True, name="rows")
        values = ", ".join(f"{value} ({rows:,})" for value, rows in counts.rows())
        found["state"] = state.name
        if len(counts) > 1:
            look.doubts.append(f"{state.name} has {values}: `keep` reads some of them only.")
    for column in look.columns:
        if column is not state:
            _doubt_failed(column, look)
    return found, look.best("group", words)
