"""Where in its trace every seed begins: at a row that is drawn, dealt or listed in a file."""

from __future__ import annotations

from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Field

from binwright.simcore.errors import WorkloadError, unread
from binwright.simcore.extras import pl
from binwright.simcore.fields import Index, Model, Text, wrong
from binwright.workloads.traces.text import read_text

KEY = "workload.start.path"


def _ordered(rows: tuple[int, ...]) -> tuple[int, ...]:
    if rows[0] > rows[1]:
        raise wrong("is an empty range", "Give the lower row first.", value=list(rows))
    return rows


Rows: TypeAlias = Annotated[tuple[Index, ...], Field(min_length=2, max_length=2), AfterValidator(_ordered)]


_Of: TypeAlias = Literal["requests", "events"]


def _of() -> Any:
    """Make the field that says what the rows of a start are."""
    return Field(
        default="requests",
        description="What the rows are: requests, or `events` (arrivals and ends in order of time); a window then "
        "begins with the first request from that event on.",
    )


class RandomStart(Model):
    """A start drawn for every seed."""

    random: Rows = Field(
        description="First and last row that may be drawn, counted from 0.", examples=["[50000, 100000]"]
    )
    of: _Of = _of()

    @property
    def drawn(self) -> bool:
        """Whether seeds may begin at different rows."""
        return self.random[0] < self.random[1]


class ApartStart(Model):
    """Starts whose windows do not overlap, so that seeds are nearly independent."""

    apart: Rows = Field(
        description="First and last row, counted from 0, at which a window may start. Windows lie side by side, one "
        "for each seed.",
        examples=["[0, 100000]"],
    )

    def count(self, length: int) -> int:
        """How many windows of this length there are."""
        return (self.apart[1] - self.apart[0]) // length + 1


class ListedStart(Model):
    """Starts from a file: the first seed takes its first row, seed 1 its second, and so on."""

    path: Text = Field(
        description="A CSV with a column `start`, counted from 0, and without `workload.requests` a column `requests`.",
        examples=["starts.csv"],
    )
    of: _Of = _of()

    @property
    def first(self) -> int:
        """The first row that any seed begins at."""
        return min((start for start, _ in _starts(Path(self.path))), default=0)

    def at(self, seed: int) -> tuple[int, int | None]:
        """Find the row of a seed (seed 0 has the first), and how many requests, if the column `requests` says it."""
        file = Path(self.path)
        starts = _starts(file)
        if seed >= len(starts):
            remedy = f"Seeds count from 0: take those below {len(starts)} by `seed:` and `replications:`, or list more."
            raise WorkloadError(
                f"has {len(starts)} starts, and none for seed {seed}", file=file, key=KEY, remedy=remedy
            )
        return starts[seed]


def _starts(file: Path) -> list[tuple[int, int | None]]:
    """Read the starts of all seeds."""
    try:
        stat = file.stat()
        return _listed(file, (stat.st_mtime_ns, stat.st_size))
    except OSError as error:
        problem, remedy = unread(error, file, "Give a CSV file.")
        raise WorkloadError(problem, file=file, key=KEY, remedy=remedy) from None


@lru_cache(maxsize=2)
def _listed(file: Path, version: tuple[int, int]) -> list[tuple[int, int | None]]:
    """Read the starts of all seeds; they are kept while `version` stays, since the run of every agent asks for its."""
    table = read_text(file)
    if "start" not in table.columns:
        raise WorkloadError("has no column 'start'", file=file, key=KEY, remedy="Its columns: start, requests.")
    starts, requests = _whole(table, "start", 0, file), None
    if "requests" in table.columns:
        requests = _whole(table, "requests", 1, file)
    return list(zip(starts, requests or repeat(None), strict=requests is not None))


def _whole(table: pl.DataFrame, name: str, least: int, file: Path) -> list[int]:
    numbers = table[name].str.strip_chars().cast(pl.Int64, strict=False).fill_null(least - 1)
    if (numbers < least).any():
        row = int((numbers < least).arg_max() or 0)
        problem, line = f"the {name} is not a whole number from {least}", table["line"][row]
        value = table[name][row] or ""
        raise WorkloadError(problem, file=file, line=line, key=KEY, value=value, remedy="Write it in digits.")
    return numbers.to_list()
