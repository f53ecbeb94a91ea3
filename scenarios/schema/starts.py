"""The schema of `workload.start:`: where in its trace every seed begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, Discriminator, Field, Tag, WithJsonSchema

from scenarios.schema.fields import Index, Model, Shown, Text, checked, wrong
from scenarios.schema.outline import quantity
from simcore.units import TIME


def _ordered(rows: tuple[int, ...]) -> tuple[int, ...]:
    if rows[0] > rows[1]:
        raise wrong("is an empty range", "Give the lower row first.", value=list(rows))
    return rows


Rows: TypeAlias = Annotated[tuple[Index, ...], Field(min_length=2, max_length=2), AfterValidator(_ordered)]


class RandomStart(Model):
    """A start drawn for every seed."""

    random: Rows = Field(
        description="First and last row that may be drawn, counted from 0.", examples=["[50000, 100000]"]
    )


class ApartStart(Model):
    """Starts whose windows do not overlap: seeds that are independent, as far as requests a window apart are."""

    apart: Rows = Field(
        description="First and last row that a window may start at, counted from 0. Windows lie side by side, and "
        "every seed gets other ones, so that there are only so many seeds.",
        examples=["[0, 100000]"],
    )


class ListedStart(Model):
    """Starts from a file: the first seed takes its first row, seed 1 its second, and so on."""

    path: Text = Field(
        description="A CSV with the column `start`, rows counted from 0; a column `requests` says how many requests "
        "each start has, unless the workload says it.",
        examples=["starts.csv"],
    )


def _form_of_start(value: Any) -> str:
    if isinstance(value, ApartStart) or (isinstance(value, Mapping) and "apart" in value):
        return "<apart>"
    if isinstance(value, ListedStart) or (isinstance(value, Mapping) and "path" in value):
        return "<listed>"
    return "<row>" if isinstance(value, int | float) else "<time>" if isinstance(value, str) else "<random>"


def _time_text(text: str) -> str:
    return TIME.show(checked(TIME.parse)(text))


Start: TypeAlias = Annotated[
    Annotated[Index, Tag("<row>")]
    | Annotated[str, AfterValidator(_time_text), WithJsonSchema(quantity(TIME, "3 d")["anyOf"][1]), Tag("<time>")]
    | Annotated[RandomStart, Tag("<random>")]
    | Annotated[ApartStart, Tag("<apart>")]
    | Annotated[ListedStart, Tag("<listed>")],
    Discriminator(_form_of_start),
    Shown(
        "row from 0, time with a unit on the trace's clock, [RandomStart](#randomstart), [ApartStart](#apartstart) or "
        "[ListedStart](#listedstart)"
    ),
]
