"""What kinds of workload have in common: roles for rules of placement, and what does not go with them."""

from collections.abc import Sequence
from typing import ClassVar, Self

from pydantic import Field, model_validator

from binwright.scenarios.agent_spec import AgentSpec
from binwright.scenarios.features.feature import WithFeatures
from binwright.scenarios.features.placement import PlacementKeys, WeightedRole
from binwright.scenarios.schema.cluster import ClusterSpec
from binwright.simcore.fields import Keys, wrong
from binwright.workloads.parts import Parts


class WorkloadKind(WithFeatures):
    """A kind of workload, which knows what does not go with it."""

    knows_groups: ClassVar[bool] = False
    """Whether the scenario says the groups of its requests; of others they are known only when these are drawn."""

    @property
    def groups(self) -> set[str] | None:
        """The groups of its requests, where they are known."""
        return {role.group for _, role in self.placed} - {""} if self.knows_groups else None

    @property
    def placed(self) -> Sequence[tuple[Keys, PlacementKeys]]:
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
        (), examples=["[{group: web, weight: 3}, {group: db, where: {pod: pod-0}}]"]
    )
    """Groups and labels for rules of placement, drawn by weight."""

    knows_groups: ClassVar[bool] = True

    @property
    def placed(self) -> Sequence[tuple[Keys, PlacementKeys]]:
        """What its requests say to rules of placement, with the keys below the workload's."""
        return [(("roles", number), role) for number, role in enumerate(self.roles)]

    @model_validator(mode="after")
    def _weighted(self) -> Self:
        some_weight("roles", self.roles)
        return self


def some_weight(key: str, kinds: Sequence[WeightedRole]) -> None:
    """Refuse kinds of requests, under this key, of which none has a weight above zero."""
    if kinds and not any(kind.weight for kind in kinds):
        raise wrong("have no weight above zero", "Give one of them a weight above zero.", (key,))
