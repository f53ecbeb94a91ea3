"""The schema of a scenario's `size:`: what `binwright size` looks for."""

from collections.abc import Sequence

from pydantic import Field

from binwright.analysis.measure.definition import describe
from binwright.analysis.measure.metric import Metric
from binwright.scenarios.schema.cluster import ClusterSpec
from binwright.scenarios.schema.metric import MetricSpec
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.fields import Count, Model, Text


class Size(Model):
    """The question that `binwright size` answers for every agent. `binwright run` ignores it."""

    until: Text = Field(
        default="acceptance >= 99 %",
        description="A cluster is large enough when this mean over the seeds meets the bound; `and` joins several.",
        examples=["acceptance >= 99 %", "wait_p95 <= 10 min", "acceptance >= 99 % and contention_p99 <= 1 %"],
    )
    kind: Text | None = Field(
        default=None,
        description="The group of servers whose number is looked for, by name or place (0, 1, ...); the others stay "
        "as they are.",
        examples=["large"],
    )
    most: Count | None = Field(
        default=None,
        description="The most servers to try; by default a hundred times those that there are.",
        examples=[500],
    )


def metrics_of(cluster: ClusterSpec, added: Sequence[MetricSpec], currency: str = "") -> list[Metric]:
    """Describe the metrics that runs on a cluster may have, with those that a scenario has `added`."""
    tiers = cluster.network.topology.built.tiers if cluster.network else ()
    return describe(cluster.resources, tiers, [one.asked for one in added], currency)


def place_of(cluster: ClusterSpec, kind: str | None) -> tuple[str, int]:
    """Find the key that says the number of servers that is looked for, and how many there are now."""
    fixed = [name for name in ("network", "csv", "trace") if getattr(cluster, name) is not None]
    if fixed:
        by = {"network": "the topology", "csv": "the CSV file", "trace": "the trace"}[fixed[0]]
        remedy = "Give the cluster `servers: 10` and a `node`, or `groups`."
        raise UserError(f"{by} fixes how many servers there are", key=f"cluster.{fixed[0]}", remedy=remedy)
    if cluster.groups is None:
        if kind is not None:
            remedy = "Leave it out, or give the cluster groups."
            raise UserError("the cluster has no groups of servers", key="kind", value=kind, remedy=remedy)
        assert cluster.servers is not None
        return "cluster.servers", cluster.servers
    names = [group.name or str(number) for number, group in enumerate(cluster.groups)]
    if kind is None and len(names) > 1:
        remedy = f"Say which by `size: {{kind: ...}}`: {', '.join(names)}."
        raise UserError("the cluster has several groups, and one of them can be sized", key="kind", remedy=remedy)
    kind = names[0] if kind is None else kind
    numbers = [number for number, name in enumerate(names) if kind in (name, str(number))]
    if not numbers:
        raise UserError("there is no such group of servers", key="kind", value=kind, remedy=suggest(kind, names))
    number = names.index(kind) if kind in names else numbers[0]
    return f"cluster.groups.{number}.count", cluster.groups[number].count
