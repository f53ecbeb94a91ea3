"""The schema of `workload.changes`: what becomes of the requests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Self, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator

from scenarios.schema.placement import Where
from simcore.fields import Count, Model, PositiveTime, ShareFromZero, Shown, Time, wrong
from simcore.roles import where_of
from workloads.changes import Change, Demand, Holiday, Wave

_PERCENT = re.compile(r"\s*([+-])\s*(\d+(?:\.\d*)?)\s*%\s*")


def _by(value: Any) -> str:
    """Read how much more or less, as a text that reads as the same."""
    found = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if not found or (found[1] == "-" and float(found[2]) >= 100):
        raise wrong("does not say how much more or less", "Write it like +20 %, or -10 % (less than 100).", (), value)
    return f"{found[1]}{found[2]} %"


class DemandChange(Model):
    """More requests, or fewer; of some kind, if it says so."""

    demand: Annotated[
        str,
        BeforeValidator(_by),
        WithJsonSchema({"type": "string", "pattern": r"^\s*(\+\s*\d+(\.\d*)?|-\s*\d{1,2}(\.\d*)?)\s*%\s*$"}),
        Shown("share with + or -"),
    ] = Field(
        description="How many more or fewer. Copies come when others come, so that hours and days stay as they are.",
        examples=["+20 %"],
    )
    of: Where = Field(
        default_factory=dict,
        description="Of requests with one of these values of every label that a table gives them, or of `group`.",
        examples=["{tenant: [acme, beta]}"],
    )

    def __hash__(self) -> int:
        """Hash fewer keys than are compared: mappings have no hash."""
        return hash(self.demand)

    @property
    def change(self) -> Change:
        """The change as requests meet it."""
        return Demand(float(self.demand.removesuffix("%")) / 100, dict(where_of(self.of)))


class WaveChange(Model):
    """Requests that come in addition within a time: a migration."""

    wave: Count = Field(description="How many, random ones of those that there are.", examples=[200])
    at: Time = Field(description="When they begin to come, counted from the first request.", examples=["3 d"])
    over: PositiveTime = Field(description="For how long they come.", examples=["6 h"])

    @property
    def change(self) -> Change:
        """The change as requests meet it."""
        return Wave(self.wave, self.at, self.over)


class HolidayChange(Model):
    """A time in which few requests come."""

    holiday: ShareFromZero = Field(description="The share of the requests that comes all the same.", examples=["30 %"])
    begin: Time = Field(alias="from", description="From when, counted from the first request.", examples=["5 d"])
    until: Time = Field(description="Until when.", examples=["6 d"])

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.until <= self.begin:
            raise wrong("is an empty time", "Let it end after it begins.", ("until",))
        return self

    @property
    def change(self) -> Change:
        """The change as requests meet it."""
        return Holiday(self.holiday, self.begin, self.until)


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
        description="What becomes of the requests, one change after another: growth, another mix, a wave, a holiday.",
        examples=["[{demand: +20 %}, {wave: 200, at: 3 d, over: 6 h}, {holiday: 30 %, from: 5 d, until: 6 d}]"],
    )
