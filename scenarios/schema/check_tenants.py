"""What must go together when tenants ask for virtual networks: the cluster, its network, and who answers."""

from __future__ import annotations

from collections.abc import Iterable

from agents import AGENTS
from scenarios.schema.agent import AgentSpec
from scenarios.schema.cluster import Cluster, Network, known_resources
from scenarios.schema.fields import checked, wrong
from scenarios.schema.tenants import Hose, Pairs, Tenants
from simcore.vocabulary import QUANTUM, Agent

AT = ("workload", "networks")


def check_tenants(
    tenants: Tenants, cluster: Cluster, agents: Iterable[tuple[tuple[str | int, ...], AgentSpec]]
) -> None:
    """Refuse what nobody could place; `agents` are those that are asked, and the keys that name them."""
    form, spec = tenants.networks.chosen
    if cluster.network is None:
        remedy = "Give it one, like network: {topology: {fat-tree: {k: 16}}}."
        raise wrong("virtual networks need a network, and the cluster has none", remedy, ("cluster",))
    if isinstance(spec, Pairs | Hose):
        _check_machine(spec, cluster, (*AT, form))
        _check_bandwidth(spec, cluster.network, (*AT, form, "bandwidth"))
    if form == "hose":
        from fabric.virtual_tree import tree  # numba

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


def _check_machine(spec: Pairs | Hose, cluster: Cluster, at: tuple[str, ...]) -> None:
    known_resources(spec.machine, cluster.resources, (*at, "machine"))
    for name, units in spec.machine.items():
        if cluster.node is not None and units > cluster.node.get(name, 0.0):
            remedy = f"A node has {cluster.node.get(name, 0.0):g}: ask for less, or give the servers more."
            raise wrong("is more than any server has", remedy, (*at, "machine", name), units)


def _check_bandwidth(spec: Pairs | Hose, network: Network, at: tuple[str, ...]) -> None:
    """At least one pair, or machine, of every network asks for the mean or more."""
    widest = int(network.topology.built.link_capacity.max()) / QUANTUM
    sizes = spec.machines.sizes
    parties = sizes.most * (sizes.most - 1) / 2 if isinstance(spec, Pairs) else 1
    if spec.bandwidth[0] > widest * parties and sizes.most > 1:
        remedy = f"The widest has {widest:g} Gbps: ask for less, or give the links more."
        raise wrong("is more than any link has", remedy, at, list(spec.bandwidth))
