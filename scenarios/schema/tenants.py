"""The schema of a `workload:` of tenants' virtual networks."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from binwright.agents import AGENTS
from binwright.scenarios.schema.agent import AgentSpec
from binwright.scenarios.schema.cluster import ClusterSpec
from binwright.scenarios.schema.kind import Arrivals, Lifetimes, Roled
from binwright.simcore.fields import Count, Keys, checked, known_resources, wrong
from binwright.simcore.registered import Registered
from binwright.simcore.registry import Registry
from binwright.simcore.types import Agent
from binwright.workloads.virtual import NETWORKS, Hose, Pairs

AT = ("workload", "networks")


class Networks(Registered):
    """What tenants ask for: one of these."""

    registry: ClassVar[Registry] = NETWORKS
    what: ClassVar[str] = "form of virtual network"
    pairs: Pairs | None = Field(None, description="Bandwidth between pairs of machines.")
    hose: Hose | None = Field(None, description="Bandwidth of every machine to one virtual switch.")


class Tenants(Roled):
    """Virtual networks of machines that need bandwidth between them. The cluster needs a network."""

    networks: Networks = Field(
        description="What each asks for.",
        examples=["{hose: {machines: 50, machine: {slots: 1}, bandwidth: [10 Mbps, 100 Mbps]}}"],
    )
    requests: Count = Field(description="How many virtual networks.", examples=[300])
    arrivals: Arrivals = Field(
        Arrivals.model_validate({"fixed": {"every": 1}}),
        description="When they arrive.",
        examples=["{fixed: {every: 1 s}}"],
    )
    lifetimes: Lifetimes = Field(
        Lifetimes.model_validate({"fixed": "never"}),
        description="How long they stay.",
        examples=["{exponential: {mean: 1 h}}"],
    )

    def check_against(self, cluster: ClusterSpec, agents: Sequence[tuple[Keys, AgentSpec]], seeds: int) -> None:
        form = self.networks.chosen[0]
        if cluster.network is None:
            remedy = "Give it one, like network: {topology: {fat-tree: {k: 16}}}."
            raise wrong("virtual networks need a network, and the cluster has none", remedy, ("cluster",))
        known_resources(self.networks.build().machine, cluster.resources, (*AT, form, "machine"))
        if form == "hose":
            from binwright.fabric.virtual_tree import tree  # numba

            checked(tree, ("cluster", "network", "topology"))(cluster.network.topology.built)
        for at, agent in agents:
            kind: type[Agent] = AGENTS.load(agent.name)
            if form in ("pairs", "hose") and form not in kind.embeds:
                able = ", ".join(name for name in AGENTS if form in AGENTS.load(name).embeds)
                raise wrong(
                    "does not place virtual networks" + f" of this form ({form})" * bool(kind.embeds),
                    f"Take an agent that places them: {able}.",
                    at,
                    agent.name,
                )
