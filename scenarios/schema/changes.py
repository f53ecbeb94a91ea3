"""The schema of `workload.changes`: what becomes of the requests."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

from simcore.fields import Model
from simcore.unions import ByKey
from workloads.changes import DemandChange, HolidayChange, WaveChange

Changes: TypeAlias = tuple[
    Annotated[
        DemandChange | WaveChange | HolidayChange,
        ByKey(("demand", "wave", "holiday"), "is no change", "{demand: +20 %}"),
    ],
    ...,
]


class Changing(Model):
    """Requests that may be changed."""

    changes: Changes = Field(
        default=(),
        description="Changes, one after another: growth, another mix, a wave, a holiday.",
        examples=["[{demand: +20 %}, {wave: 200, at: 3 d, over: 6 h}, {holiday: 30 %, from: 5 d, until: 6 d}]"],
    )
