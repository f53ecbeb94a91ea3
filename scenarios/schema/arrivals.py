"""The schema of when generated requests arrive, and how long they stay."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar, Self

from pydantic import Field, model_validator

from scenarios.schema.fields import FromOne, Lifespan, Model, Number, PositiveTime, Time, wrong
from scenarios.schema.json_schema import Schema, given
from scenarios.schema.registered import Registered
from simcore.registry import Registry
from workloads import ARRIVALS, LIFETIMES


class Poisson(Model):
    """Independent requests: exponential gaps."""

    every: PositiveTime = Field(description="Mean gap.", examples=["10 s"])


class Fixed(Model):
    """Requests at equal distances."""

    every: PositiveTime = Field(description="The gap.", examples=["1 s"])


class Bursty(Model):
    """Bursts of requests: exponential gaps between bursts of geometric size."""

    every: PositiveTime = Field(description="Mean gap between bursts.", examples=["10 min"])
    size: FromOne = Field(description="Mean requests in a burst, from 1.", examples=[8])


class Arrivals(Registered):
    """When requests arrive: one of these."""

    registry: ClassVar[Registry] = ARRIVALS
    what: ClassVar[str] = "way of arriving"
    poisson: Poisson | None = Field(default=None, description="Independent requests.", examples=["{every: 10 s}"])
    fixed: Fixed | None = Field(default=None, description="Requests at equal distances.", examples=["{every: 1 s}"])
    bursty: Bursty | None = Field(default=None, description="Bursts.", examples=["{every: 10 min, size: 8}"])


class Exponential(Model):
    """Lifetimes without memory."""

    mean: PositiveTime = Field(description="Mean lifetime.", examples=["1 h"])


class Lognormal(Model):
    """Lifetimes whose logarithm is normal."""

    median: PositiveTime = Field(description="Half of all requests end before.", examples=["10 min"])
    sigma: Number = Field(description="Standard deviation of the natural logarithm.", examples=[1.5])


class Empirical(Model):
    """Measured lifetimes. Either `quantiles`, or `values` with `weights`."""

    quantiles: tuple[Time, ...] | None = Field(
        default=None,
        description="Ascending, at shares evenly spaced from 0 to 1; logarithmic between them.",
        examples=["[1 s, 3 min, 2 h]"],
        min_length=2,
    )
    values: tuple[Lifespan, ...] | None = Field(
        default=None, description="Exactly these.", examples=["[5 min, never]"], min_length=1
    )
    weights: tuple[Number, ...] | None = Field(
        default=None, description="How often each value occurs; equally if not given.", examples=["[9, 1]"]
    )

    @classmethod
    def outline(cls, own: Schema) -> Schema:
        forms = [given("quantiles", without=["values", "weights"]), given("values", without=["quantiles"])]
        return {**own, "allOf": [{"anyOf": forms}]}

    @model_validator(mode="after")
    def _form(self) -> Self:
        if (self.quantiles is None) == (self.values is None):
            raise wrong("needs either quantiles or values", "Give exactly one of the two.")
        if self.quantiles and any(low > high for low, high in pairwise(self.quantiles)):
            raise wrong("must ascend", "Order the quantiles from the shortest to the longest.", ("quantiles",))
        if self.weights is not None and (self.values is None or len(self.weights) != len(self.values)):
            problem = f"has {len(self.weights)} weights for {len(self.values or ())} values"
            raise wrong(problem, "Give one weight per value.", ("weights",))
        if self.weights is not None and not any(self.weights):
            raise wrong("are all zero", "Give one above zero.", ("weights",))
        return self


class Lifetimes(Registered):
    """How long requests stay: one of these."""

    registry: ClassVar[Registry] = LIFETIMES
    what: ClassVar[str] = "distribution of lifetimes"
    fixed: Lifespan | None = Field(default=None, description="All equally long.", examples=["10 min"])
    exponential: Exponential | None = Field(default=None, description="Without memory.", examples=["{mean: 1 h}"])
    lognormal: Lognormal | None = Field(
        default=None, description="The logarithm is normal.", examples=["{median: 10 min, sigma: 1.5}"]
    )
    empirical: Empirical | None = Field(
        default=None, description="Measured.", examples=["{quantiles: [1 s, 3 min, 2 h]}"]
    )
