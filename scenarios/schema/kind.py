"""What kinds of `workload:` have in common: arrivals, changes, and the base of all."""

from collections.abc import Sequence
from typing import ClassVar, Self

from pydantic import Field, model_validator

from binwright.scenarios.features.feature import WithFeatures
from binwright.scenarios.features.placement import Placed, WeightedRole
from binwright.scenarios.schema.agent import AgentSpec
from binwright.scenarios.schema.cluster import ClusterSpec
from binwright.simcore.fields import Keys, Lifespan, Model, wrong
from binwright.simcore.registered import Registered
from binwright.simcore.registry import Registry
from binwright.workloads import ARRIVALS, LIFETIMES
from binwright.workloads.arrivals import Bursty, Fixed, Poisson
from binwright.workloads.changes import Change
from binwright.workloads.lifetimes import Empirical, Exponential, Lognormal
from binwright.workloads.parts import Parts


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


class Changing(Model):
    """Requests that may be changed."""

    changes: tuple[Change, ...] = Field(
        default=(),
        description="Changes, one after another: growth, or another mix.",
        examples=["[{demand: +20 %}, {demand: -50 %, of: {tenant: acme}}]"],
    )


class WorkloadKind(WithFeatures):
    """A kind of workload, which knows what does not go with it."""

    @property
    def groups(self) -> set[str] | None:
        """The groups of its requests; `None` where they are known only when they are drawn."""
        return None

    @property
    def placed(self) -> Sequence[tuple[Keys, Placed]]:
        """What its requests say to rules of placement, with the keys below the workload's."""
        return ()

    @property
    def gangs(self) -> Sequence[tuple[Keys, Parts]]:
        """What is said of requests of several parts, with the keys below the workload's."""
        parts: Parts | None = getattr(self, "parts", None)
        return [(("parts",), parts)] if parts else []

    def check_against(self, cluster: ClusterSpec, agents: Sequence[tuple[Keys, AgentSpec]], seeds: int) -> None:
        """Refuse what does not go with the cluster, with so many seeds, or with agents, named by their keys."""


class Roled(WorkloadKind):
    """A kind of workload that says by itself only what its requests ask for, and not what they are to rules."""

    roles: tuple[WeightedRole, ...] = Field(
        default=(),
        description="Groups and labels for rules of placement, drawn by weight.",
        examples=["[{group: web, weight: 3}, {group: db, where: {pod: pod-0}}]"],
    )

    @property
    def groups(self) -> set[str]:
        return {role.group for role in self.roles} - {""}

    @property
    def placed(self) -> Sequence[tuple[Keys, Placed]]:
        """What its requests say to rules of placement, with the keys below the workload's."""
        return [(("roles", number), role) for number, role in enumerate(self.roles)]

    @model_validator(mode="after")
    def _weighted(self) -> Self:
        if self.roles and not any(role.weight for role in self.roles):
            raise wrong("have no weight above zero", "Give one of them a weight above zero.", ("roles",))
        return self
