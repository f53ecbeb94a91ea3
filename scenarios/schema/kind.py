"""What all kinds of `workload:` have in common."""

from __future__ import annotations

from collections.abc import Sequence

from scenarios.schema.agent import AgentSpec
from scenarios.schema.cluster import ClusterSpec
from scenarios.schema.fields import Model
from scenarios.schema.placement import Placed
from scenarios.schema.source import Keys


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

    def check_against(self, cluster: ClusterSpec, agents: Sequence[tuple[Keys, AgentSpec]], seeds: int) -> None:
        """Refuse what does not go with the cluster, with so many seeds, or with agents, named by their keys."""
