"""The schema of when generated requests arrive, and how long they stay."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from scenarios.schema.registered import Registered
from simcore.fields import Lifespan
from simcore.registry import Registry
from workloads import ARRIVALS, LIFETIMES
from workloads.arrivals import Bursty, Fixed, Poisson
from workloads.lifetimes import Empirical, Exponential, Lognormal


class Arrivals(Registered):
    """When requests arrive: one of these."""

    registry: ClassVar[Registry] = ARRIVALS
    what: ClassVar[str] = "way of arriving"
    poisson: Poisson | None = Field(default=None, description="Independent requests.", examples=["{every: 10 s}"])
    fixed: Fixed | None = Field(default=None, description="Requests at equal distances.", examples=["{every: 1 s}"])
    bursty: Bursty | None = Field(default=None, description="Bursts.", examples=["{every: 10 min, size: 8}"])


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
