"""The schema of `workload.start:`: where in its trace every seed begins."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Discriminator, Tag, WithJsonSchema

from simcore.fields import Index, Shown, checked
from simcore.json_schema import quantity
from simcore.units import TIME
from workloads.starts import ApartStart, ListedStart, RandomStart
from workloads.traces.cells import is_date


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
