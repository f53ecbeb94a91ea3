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
_BYTES = "B: b byte bytes, kB: kb, MB: mb, GB: gb, TB: tb, KiB: kib, MiB: mib, GiB: gib, TiB: tib"
_TIMES = "0.001 us: ns, us: us, ms: ms, s: s sec secs seconds, min: min mins minutes, h: h hr hours hrs, d: d days"
_CORES = "millicores: m milli millis millicores"
_UNITS = {
    kind: {
        word: unit.strip() for unit, words in (each.split(":") for each in units.split(",")) for word in words.split()
    }
    for kind, units in {"cpu": _CORES, "mem": _BYTES, "disk": _BYTES, "time": _TIMES}.items()
}
"""The words of a name that say its unit."""
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


@dataclass
class Proposal:
    """What a table's columns probably are.

    `labels` maps a label to its column, `empty` and `keep` are as a scenario has them, `doubts` are sentences, and
    `others` columns that are not read.
    """

    guesses: list[Guess] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    empty: dict[str, str] = field(default_factory=dict)
    keep: dict[str, str] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    @property
    def names(self) -> set[str]:
        """What was found of the columns of requests."""
        return {guess.name for guess in self.guesses}

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
        """Return the plain numbers of a column of amounts, of which some may say their unit, or have a comma."""
        if self.numbers is not None or self.there.dtype != pl.String:
            return self.numbers
        if self._mostly(lambda text: is_number(text) or bool(AMOUNT.fullmatch(text) or COMMA.fullmatch(text))):
            return self.there.cast(pl.Float64, strict=False).drop_nulls()
        return None

    @cached_property
    def is_dates(self) -> bool:
        """Whether it is dates that can be read."""
        dates = self.there.dtype == pl.Date or isinstance(self.there.dtype, pl.Datetime)
        return dates or (self.there.dtype == pl.String and self._mostly(is_date))

    def _mostly(self, fits: Callable[[str], bool]) -> bool:
        """Whether nine tenths of its first cells or more are so; of the others, reading says the line."""
        some = self.there.head(50)
        return len(some) > 0 and 10 * sum(map(fits, some)) >= 9 * len(some)

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

    def is_numeric(self) -> bool:
        return self.numbers is not None


class _Look:
    """Goes over the columns, takes the best for each of ours, and notes in `found` what they are, and doubts."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.columns = [_Column(frame, name) for name in frame.columns if name != "line"]
        self.rows = len(frame)
        self.taken: set[str] = set()
        self.found = Proposal()

    def best(self, kind: str, fits: Callable[[_Column], bool]) -> _Column | None:
        """Take the column whose name says most of those that fit."""
        ranked = [(not each.is_dates, each.rank(kind), place) for place, each in enumerate(self.columns)]
        order = sorted((dated, rank, place) for dated, rank, place in ranked if rank is not None)
        found = [each for *_, place in order if (each := self.columns[place]).name not in self.taken and fits(each)]
        if not found:
            return None
        others = [each.name for each in found[1:] if each.is_dates == found[0].is_dates]
        if others and kind in ("arrival", "end", "lifetime", "cpu", "mem"):
            self.doubt(f"{found[0].name} is taken for {kind}; so might be {', '.join(others)}.")
        self.taken.add(found[0].name)
        return found[0]

    def take(self, name: str, column: _Column, unit: str, why: str) -> None:
        self.found.guesses.append(Guess(name, column.name, unit, why))

    def doubt(self, sentence: str) -> None:
        self.found.doubts.append(sentence)

    def times(self) -> None:
        """Find when requests arrive, and when they end or how long they stay."""
        arrival = self._moment("arrival")
        if arrival and arrival.missing:
            self.found.keep[arrival.name] = "!="
            self.doubt(f"{arrival.name} is empty in {arrival.missing:,} rows: they are left out.")
        end, key = self._moment("end"), "end"
        if end is None:
            end = self.best("lifetime", lambda each: each.is_numeric() or isinstance(each.there.dtype, pl.Duration))
            if end:
                unit, key = end.unit("time"), "lifetime"
                why = f"its name; {'in it the unit' if unit else 'seconds'}"
                self.take("lifetime", end, "" if unit == "s" else unit, why)
                if not unit and end.is_numeric():
                    self.doubt(f"{end.name} does not say its unit: seconds are assumed.")
        if end is None and (end := self.best("end", lambda each: each.there.is_empty())):
            self.take("end", end, "", "its name")
        if end is None:
            self.found.empty["end"] = "never"
            self.doubt("No column says when requests end: all of them stay for ever.")
            return
        marks = self.best(CENSORED, lambda each: each.numbers is not None and each.numbers.is_in([0.0, 1.0]).all())
        if marks and marks.numbers is not None:
            self.take(CENSORED, marks, "", "its name; 1 for those that run on")
            self.doubt(f"{marks.name} marks {int(marks.numbers.sum()):,} rows: they are taken to run on for ever.")
        if end.missing:
            self.found.empty[key] = "never"
            many = f"{end.missing:,} of {self.rows:,} rows"
            self.doubt(f"{end.name} is empty in {many}: they are taken to run on for ever.")

    def _moment(self, kind: str) -> _Column | None:
        """Take a column of points in time, and guess its unit."""
        column = self.best(kind, lambda each: each.is_dates or each.is_numeric())
        if column is None:
            return None
        unit, why = "", "dates"
        if not column.is_dates:
            middle = float(column.numbers.median() or 0)  # type: ignore[arg-type,union-attr]  # numbers
            sizes = ((1e17, "0.001 us"), (1e14, "us"), (1e11, "ms"), (1e8, "s"))
            if unit := column.unit("time"):
                why = f"its name says {unit}"
            elif unit := next((unit for above, unit in sizes if middle > above), ""):
                why = f"as large as times since 1970 in {unit}"
            else:
                why = "numbers, taken for seconds"
                self.doubt(f"{column.name} does not say its unit: seconds are assumed.")
        self.take(kind, column, "" if unit == "s" else unit, f"its name; {why}")
        return column

    def demands(self) -> None:
        """Find what requests ask for."""
        for name in ("cpu", "mem", "gpu", "disk"):
            column = self.best(name, _Column.is_numeric) or self.best(name, lambda each: each.amounts is not None)
            if column is None:
                self._doubt_words(name)
                continue
            assert column.amounts is not None
            self.take(name, column, *self._amount(name, column, column.amounts))
            none = column.missing + int((column.amounts <= 0).sum())
            if not column.is_numeric() and column.missing:
                self.found.keep[column.name] = "!="
                self.doubt(f"{column.name} is empty in {column.missing:,} rows: they are left out.")
            elif none and name in ("cpu", "mem") and column.is_numeric():
                self.found.keep[column.name] = "> 0"
                many = f"{none:,} of {self.rows:,} rows"
                self.doubt(f"{column.name} is empty or not above 0 in {many}: they are left out.")
            elif column.missing:
                self.found.empty[name] = "0"
                self.doubt(f"{column.name} is empty in {column.missing:,} rows: that is taken for 0.")

    def _doubt_words(self, name: str) -> None:
        """Name a column that sounds right and has something else than numbers."""
        for column in self.columns:
            if column.rank(name) is not None and column.there.dtype == pl.String:
                odd = column.there.filter(column.there.cast(pl.Float64, strict=False).is_null())
                if len(odd):
                    self.doubt(f"{column.name} sounds like {name}, but {odd[0]!r} is no number: it is not read.")
                    return

    def _amount(self, name: str, column: _Column, values: pl.Series) -> tuple[str, str]:
        """Guess the unit of a demand, of which `values` are those that do not say it themselves."""
        data = name in ("mem", "disk")
        if values.is_empty():
            return DATA.base if data else "", f"its name; {column.there[0]!r} says the unit"
        unit = column.unit(name)
        middle = float(values.median() or 0)  # type: ignore[arg-type]  # a number
        shown = f"{middle:,.10g}"
        binary = bool((values % 1024 == 0).all())
        if unit:
            if unit in ("kB", "MB") and binary:
                self.doubt(f"{column.name} has multiples of 1024 only: perhaps {unit[0].upper()}iB is meant.")
            usual = name != "mem" or LEAST_MEMORY <= DATA.parse(f"{middle} {unit}") <= MOST_MEMORY
            if not usual or (name == "cpu" and middle < LEAST_MILLICORES):
                self.doubt(f"{column.name} says {unit}, but has {shown} in the middle: is that the unit?")
            return unit, f"its name says {unit}"
        if data and middle >= 1e8:
            return "B", f"as large as bytes: {shown} in the middle"
        why = f"{shown} in the middle"
        if data and middle >= 2e5:
            unit = "KiB" if binary else "kB"
        elif data and middle >= 200:
            unit = "MiB" if binary or bool((values % 1000 != 0).all()) else "MB"
        elif data:
            unit = "GiB"
        elif name == "cpu" and middle >= 100:
            unit, why = "millicores", f"{why}, more cores than a request asks for"
        else:
            return "", f"its name; {why}"
        verb = "are" if unit == "millicores" else "is"
        self.doubt(f"{column.name} does not say its unit: {unit} {verb} assumed ({shown} in the middle).")
        return unit, why

    def ids(self) -> None:
        """Take a column of ids, if one names every row differently."""
        column = self.best("id", lambda each: not (each.missing or each.there.is_duplicated().any() or each.is_dates))
        named = [each for each in self.columns if each.rank("id") in IDS and each.name not in self.taken]
        if column:
            self.found.guesses.insert(0, Guess("id", column.name, "", "its name; different in every row"))
        elif named:
            there, missing = named[0].there, named[0].missing
            again = len(there) - there.n_unique()
            twice = there.filter(there.is_duplicated()).head(1).to_list()
            counts = [f"repeats one above it in {again:,}"] * bool(again) + [f"is empty in {missing:,}"] * bool(missing)
            example = "".join(f" ({one!r})" for one in twice)
            many = f"{' and '.join(counts)} of {self.rows:,} rows{example}"
            self.doubt(f"{named[0].name} {many}: not read, requests are named by their row.")

    def labels(self) -> None:
        """Take columns of words: labels, and a group."""

        def words(column: _Column) -> bool:
            return (not column.is_numeric() or column.rank("priority") is not None) and not column.is_dates

        for label in ("tenant", "priority", "zone"):
            if column := self.best(label, words):
                self.found.labels[label] = column.name
                if label == "priority" and column.missing:
                    many = f"{column.missing:,} of {self.rows:,} rows"
                    self.doubt(f"{column.name} is empty in {many}: their priority is 0.")
        if (state := self.best("state", words)) and state.there.n_unique() <= _SOME:
            counts = state.there.value_counts(sort=True, name="rows")
            values = ", ".join(f"{value} ({rows:,})" for value, rows in counts.rows())
            self.found.labels["state"] = state.name
            if len(counts) > 1:
                self.doubt(f"{state.name} has {values}: `keep` reads some of them only.")
        for column in self.columns:
            if column is not state and column.there.dtype == pl.String and column.there.n_unique() <= _SOME:
                self._doubt_failed(column)
        if group := self.best("group", words):
            self.take("group", group, "", "its name")

    def _doubt_failed(self, column: _Column) -> None:
        """Doubt a column of few words of which one sounds as if such rows never ran, whatever the column is called."""
        is_failed = column.there.str.to_lowercase().str.contains(_FAILED)
        failed, others = column.there.filter(is_failed), column.there.filter(~is_failed)
        if len(failed) and len(others):
            words, rest = (", ".join(each.unique(maintain_order=True).to_list()) for each in (failed, others))
            many = f"{len(failed):,} of {self.rows:,} rows"
            self.doubt(
                f"{column.name} has {words} in {many}, as if these never ran: "
                f"`keep: {{{column.name}: [{rest}]}}` leaves them out."
            )


def propose(path: Path) -> Proposal:
    """Look at a CSV or Parquet file; refuses one in which nothing says when requests arrive or what they ask for."""
    with collecting():  # whoever reads the rows refuses those that cannot be read
        frame = read_parquet(path) if is_parquet(path) else read_text(path)
    if frame.is_empty():
        remedy = "Give a row for every request, below the names of the columns."
        raise WorkloadError("no requests: the table has no rows", file=path, remedy=remedy)
    look = _Look(frame)
    look.demands()
    look.times()
    look.ids()
    look.labels()
    missing = [] if "arrival" in look.found.names else ["when requests arrive"]
    missing += [] if {"cpu", "mem", "gpu"} & look.found.names else ["what they ask for"]
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
    look.found.others += [each.name for each in look.columns if each.name not in look.taken]
    return look.found
