"""What the columns of a stranger's table probably are, in which unit, why, and what is doubtful."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from binwright.simcore.errors import WorkloadError
from binwright.simcore.extras import pl
from binwright.simcore.units import DATA
from binwright.workloads.traces.cells import AMOUNT, filled, is_date, plain_number
from binwright.workloads.traces.check import LABELS
from binwright.workloads.traces.table import read_file

_DATA = yaml.safe_load((Path(__file__).parent / "column_words.yaml").read_text(encoding="utf-8"))
_WORDS: dict[str, list[str]] = {name: words.split() for name, words in _DATA["names"].items()}
_OTHERS = {*_DATA["others"].split()}
_UNITS: dict[str, dict[str, str]] = {
    kind: {word: unit for unit, words in units.items() for word in words.split()}
    for kind, units in _DATA["units"].items()
}
_EPOCHS = ((1e17, "0.001 us"), (1e14, "us"), (1e11, "ms"), (1e8, "s"))
"""Numbers above which times are since 1970, in this unit."""
_SOME = 20
"""Distinct words up to which a column of them is worth naming."""


class Guess(NamedTuple):
    """Says that a column is one of ours, or a label (`labels.tenant`): in which unit, if it needs one, and why."""

    name: str
    column: str
    unit: str
    why: str


class _Column:
    """Looks at one column: the words of its name, and what its cells are.

    `kind` is `empty`, `date`, `number` or, as the first cell is, `amount` (a number with a unit) or `words`; of other
    cells, reading says the line. `numbers` float64 are the cells that are plain numbers.
    """

    def __init__(self, frame: pl.DataFrame, name: str) -> None:
        self.name = name
        parts = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).replace("vCPU", "vcpu").replace("v CPU", "vcpu")
        whole, split = (re.findall(r"[a-z0-9]+", text.lower()) for text in (name, parts))
        self.words, self.all_words = {*split}, split + whole
        cells = filled(frame, name)
        self.present, self.missing = cells.drop_nulls(), cells.null_count()
        dtype, is_text = self.present.dtype, self.present.dtype == pl.String
        readable = is_text or dtype.is_numeric()
        self.numbers = self.present.cast(pl.Float64, strict=False).drop_nulls() if readable else pl.Series([0.0])[:0]
        self.middle = float(self.numbers.median() or 0)  # type: ignore[arg-type]  # a number
        first = self.present[0] if is_text and len(self.present) else ""
        if self.present.is_empty():
            self.kind = "empty"
        elif dtype in (pl.Date, pl.Datetime) or is_date(first):
            self.kind = "date"
        elif len(self.numbers) == len(self.present):
            self.kind = "number"
        else:
            self.kind = "amount" if plain_number(first) is not None or AMOUNT.fullmatch(first) else "words"

    def rank(self, name: str) -> int | None:
        """Tell how well its name says what it is, 0 the best; `None` where it does not."""
        if _OTHERS & self.words or (name == "arrival" and self.words & {*_WORDS["end"]}):
            return None
        return min((_WORDS[name].index(word) for word in self.words if word in _WORDS[name]), default=None)

    def unit(self, measure: str) -> str:
        """Return the unit that its name says, if it does."""
        named = _UNITS.get(measure, {})
        return next((named[word] for word in reversed(self.all_words) if word in named), "")


class Proposal:
    """Says what a table's columns probably are: it takes the best for each of ours, and notes doubts.

    `empty` and `keep` are as a scenario has them, `doubts` are sentences, and `others` columns that are not read.
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self.guesses, self.doubts, self._rows = list[Guess](), list[str](), len(frame)
        self.empty, self.keep = dict[str, str](), dict[str, str]()
        self._free = [_Column(frame, name) for name in frame.columns if name != "line"]
        for name in ("cpu", "mem", "gpu", "disk"):
            self._take_demand(name)
        self._take_times()
        self._take_texts()
        self.others = [each.name for each in self._free]

    @property
    def workload(self) -> dict[str, Any]:
        """The keys of `workload:` that read the table so, but for `path`; columns of our names need no word."""
        columns = {guess.name: guess.column for guess in self.guesses if guess.name != guess.column}
        labels = {name.removeprefix(LABELS): columns.pop(name) for name in [*columns] if name.startswith(LABELS)}
        units = {guess.name: guess.unit for guess in self.guesses if guess.unit}
        result = {"columns": columns, "units": units, "empty": self.empty, "keep": self.keep, "labels": labels}
        return {key: value for key, value in result.items() if value}

    def _best(self, name: str, fits: Callable[[_Column], bool]) -> _Column | None:
        """Take the fitting column whose name says most, dates before others."""
        fitting = [each for each in self._free if each.rank(name) is not None and fits(each)]
        best = min(fitting, key=lambda each: (each.kind != "date", each.rank(name)), default=None)
        if best:
            self._free.remove(best)
        return best

    def _guess(self, name: str, column: _Column, unit: str = "", why: str = "its name") -> None:
        self.guesses.append(Guess(name, column.name, "" if unit == "s" else unit, why))

    def _doubt(self, column: _Column, rows: int, what: str, then: str) -> None:
        self.doubts.append(f"{column.name} is {what} in {rows:,} of {self._rows:,} rows: {then}.")

    def _take_times(self) -> None:
        """Find when requests arrive, and when they end or how long they stay."""
        arrival = self._take_moment("arrival")
        self.unread = None if arrival else self._best("arrival", lambda each: each.kind == "words")
        if arrival and arrival.missing:
            self.keep[arrival.name] = "!="
            self._doubt(arrival, arrival.missing, "empty", "they are left out")
        key, end = "end", self._take_moment("end")
        if end is None and (end := self._best("lifetime", lambda each: each.kind == "number")):
            key, unit = "lifetime", end.unit("time")
            self._guess(key, end, unit, f"its name; {'in it the unit' if unit else 'seconds'}")
            if not unit:
                self.doubts.append(f"{end.name} does not say its unit: seconds are assumed.")
        if end is None and (end := self._best("end", lambda each: each.kind == "empty")):
            self._guess(key, end)
        if end is None:
            self.doubts.append("No column says when requests end: all of them stay for ever.")
        elif end.missing:
            self._doubt(end, end.missing, "empty", "they are taken to run on for ever")
        if end is None or end.missing:
            self.empty[key] = "never"

    def _take_moment(self, name: str) -> _Column | None:
        """Take a column of points in time, and guess its unit."""
        column = self._best(name, lambda each: each.kind in ("date", "number"))
        if column is None:
            return None
        unit, why = column.unit("time"), "dates"
        if column.kind == "date":
            unit = ""
        elif unit:
            why = f"its name says {unit}"
        elif unit := next((unit for above, unit in _EPOCHS if column.middle > above), ""):
            why = f"as large as times since 1970 in {unit}"
        else:
            why = "numbers, taken for seconds"
            self.doubts.append(f"{column.name} does not say its unit: seconds are assumed.")
        self._guess(name, column, unit, f"its name; {why}")
        return column

    def _take_demand(self, name: str) -> None:
        """Find what requests ask for of a resource."""
        numbers = self._best(name, lambda each: each.kind == "number")
        column = numbers or self._best(name, lambda each: each.kind == "amount")
        if column is None:
            return
        self._guess(name, column, *self._unit_of(name, column))
        none = column.missing + int((column.numbers <= 0).sum())
        if none and name in ("cpu", "mem"):
            self.keep[column.name] = "> 0" if numbers else "!="
            self._doubt(column, none, "empty or not above 0", "they are left out")
        elif column.missing:
            self.empty[name] = "0"
            self._doubt(column, column.missing, "empty", "that is taken for 0")

    def _unit_of(self, name: str, column: _Column) -> tuple[str, str]:
        """Guess the unit of a demand from those numbers that do not say it themselves, and say why."""
        data, unit, middle = name in ("mem", "disk"), column.unit(name), column.middle
        if column.numbers.is_empty():
            return DATA.base if data else "", f"its name; {column.present[0]!r} says the unit"
        if unit:
            return unit, f"its name says {unit}"
        why = f"{middle:,.10g} in the middle"
        if data and middle >= 1e8:
            return "B", f"as large as bytes: {why}"
        if data:
            unit = "KiB" if middle >= 2e5 else "MiB" if middle >= 200 else "GiB"
        elif name == "cpu" and middle >= 100:
            unit = "millicores"
        else:
            return "", f"its name; {why}"
        verb = "is" if data else "are"
        self.doubts.append(f"{column.name} does not say its unit: {unit} {verb} assumed ({why}).")
        return unit, why if data else f"{why}, more cores than a request asks for"

    def _take_texts(self) -> None:
        """Take a column of ids, if one names every row differently, and columns of words: labels, and a group."""
        if ids := self._best("id", lambda each: not (each.missing or each.present.is_duplicated().any())):
            self.guesses.insert(0, Guess("id", ids.name, "", "its name; different in every row"))
        for name in ("tenant", "priority", "zone", "state", "group"):
            kinds = ("words", "amount", "empty", *["number"] * (name == "priority"))
            column = self._best(name, lambda each, kinds=kinds: each.kind in kinds)  # type: ignore[misc]
            if column:
                self._guess(name if name == "group" else f"{LABELS}{name}", column)
            if column and name == "state" and 1 < column.present.n_unique() <= _SOME:
                counts = column.present.value_counts(sort=True, name="rows").rows()
                values = ", ".join(f"{value} ({rows:,})" for value, rows in counts)
                self.doubts.append(f"{column.name} has {values}: `keep` reads some of them only.")


def propose(path: Path) -> Proposal:
    """Look at a CSV or Parquet file; refuses one in which nothing says when requests arrive or what they ask for."""
    frame = read_file(path)
    if frame.is_empty():
        remedy = "Give a row for every request, below the names of the columns."
        raise WorkloadError("no requests: the table has no rows", file=path, remedy=remedy)
    proposal = Proposal(frame)
    names = {guess.name for guess in proposal.guesses}
    line = 1 if "line" in frame.columns else None
    if proposal.unread:
        name, first = proposal.unread.name, proposal.unread.present[0]
        remedy = "Dates begin with a year: 2026-12-31 08:00."
        raise WorkloadError("is no time and no date", file=path, line=line, key=name, value=first, remedy=remedy)
    missing = ["when requests arrive"] * ("arrival" not in names)
    missing += ["what they ask for"] * (not {"cpu", "mem", "gpu"} & names)
    if missing:
        remedy = (
            f"Its columns: {', '.join(name for name in frame.columns if name != 'line')}. If one of them does, write "
            "`columns: {arrival: ..., end: ..., cpu: ...}` into a `trace: table` scenario."
        )
        raise WorkloadError(f"no column says {' or '.join(missing)}", file=path, line=line, remedy=remedy)
    return proposal
