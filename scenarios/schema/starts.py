"""The schema of `workload.start:`: where in its trace every seed begins."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from simcore.fields import Index, Model, Shown, Text, checked, wrong
from simcore.json_schema import quantity
from simcore.units import TIME
from workloads.traces.cells import is_date


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


class ApartStart(Model):
    """Starts whose windows do not overlap, so that seeds are nearly independent."""

    apart: Rows = Field(
        description="First and last row at which a window may start, counted from 0. Windows lie side by side, and "
        "each seed gets another one, which limits the number of seeds.",
        examples=["[0, 100000]"],
    )


class ListedStart(Model):
    """Starts from a file: the first seed takes its first row, seed 1 its second, and so on."""

    path: Text = Field(
        description="A CSV with a column `start`, rows counted from 0, and if the workload does not give the number "
        "of requests, a column `requests`.",
        examples=["starts.csv"],
    )
    of: _Of = _of()


def _form_of_start(value: Any) -> str:
    if isinstance(value, ApartStart) or (isinstance(value, Mapping) and "apart" in value):
        return "<apart>"
    if isinstance(value, ListedStart) or (isinstance(value, Mapping) and "path" in value):
        return "<listed>"
    return "<row>" if isinstance(value, int | float) else "<time>" if isinstance(value, str | date) else "<random>"


def _time_text(value: Any) -> str:
    """Write a time on the trace's clock, or a date as it is: one without a zone is in UTC."""
    text = value.isoformat() if isinstance(value, date) else value
    return text if isinstance(text, str) and is_date(text) else TIME.show(checked(TIME.parse)(text))


_DATE = r"^\d{4}-\d\d-\d\d([T ].*)?$"
_TIME = {"anyOf": [quantity(TIME, "3 d")["anyOf"][1], {"type": "string", "pattern": _DATE}]}
Start: TypeAlias = Annotated[
    Annotated[Index, Tag("<row>")]
    | Annotated[str, BeforeValidator(_time_text), WithJsonSchema(_TIME), Tag("<time>")]
    | Annotated[RandomStart, Tag("<random>")]
    | Annotated[ApartStart, Tag("<apart>")]
    | Annotated[ListedStart, Tag("<listed>")],
    Discriminator(_form_of_start),
    Shown(
        "row from 0, time with a unit or date on the trace's clock, [RandomStart](#randomstart), "
        "[ApartStart](#apartstart) or [ListedStart](#listedstart)"
    ),
]
