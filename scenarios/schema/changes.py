"""The schema of `workload.changes`: what becomes of the requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from simcore.fields import Model, Shown, wrong
from workloads.changes import DemandChange, HolidayChange, WaveChange

_FORMS = {"demand": DemandChange, "wave": WaveChange, "holiday": HolidayChange}


def _form(value: Any) -> str:
    for key, kind in _FORMS.items():
        if isinstance(value, kind) or (isinstance(value, Mapping) and value.get(key) is not None):
            return f"<{key}>"
    return "<other>"


def _none(value: Any) -> Any:
    raise wrong("is no change", f"Give one of {', '.join(_FORMS)}, like {{demand: +20 %}}.")


Changes: TypeAlias = tuple[
    Annotated[
        Annotated[DemandChange, Tag("<demand>")]
        | Annotated[WaveChange, Tag("<wave>")]
        | Annotated[HolidayChange, Tag("<holiday>")]
        | Annotated[Any, BeforeValidator(_none), WithJsonSchema({"not": {}}), Tag("<other>")],
        Discriminator(_form),
        Shown("[DemandChange](#demandchange), [WaveChange](#wavechange) or [HolidayChange](#holidaychange)"),
    ],
    ...,
]


class Changing(Model):
    """Requests that may be changed."""

    changes: Changes = Field(
        default=(),
        description="Changes of the requests, one after another: growth, another mix, a wave, a holiday.",
        examples=["[{demand: +20 %}, {wave: 200, at: 3 d, over: 6 h}, {holiday: 30 %, from: 5 d, until: 6 d}]"],
    )
