"""Types for the settings of trainers: numbers with the bounds that are checked where a scenario gives them."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

Count: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=100_000_000)]
CountFromZero: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=100_000_000)]
Positive: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
FromZero: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
PositiveShare: TypeAlias = Annotated[float, Field(gt=0, le=1)]
