"""What all kinds of `workload:` have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import Field, model_validator

from scenarios.schema.agent import AgentSpec
from scenarios.schema.cluster import ClusterSpec
from scenarios.schema.parts import Parts
from scenarios.schema.placement import Placed, WeightedRole
from scenarios.schema.yaml_source import Keys
from simcore.fields import Model, wrong


class WorkloadKind(Model):
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
        return ()

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
        """The groups of its requests."""
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
