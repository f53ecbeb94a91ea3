"""The schema of a scenario's `size:`: what `binwright size` looks for."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from analysis.measure.measuring import describe
from analysis.measure.metric import Metric
from scenarios.schema.cluster import ClusterSpec
from scenarios.schema.fields import Count, Model, Text
from simcore.errors import UserError, suggest


class Size(Model):
    """The question that `binwright size` answers for every agent. `binwright run` does not look at it."""

    until: Text = Field(
        default="acceptance >= 99 %",
        description="When a cluster is large enough: when the mean of a metric over the seeds meets this.",
        examples=["acceptance >= 99 %", "wait_p95 <= 10 min"],
    )
    kind: Text | None = Field(
        default=None,
        description="Of which group of servers the number is looked for, by its name or its place (0, 1, ...), where "
        "there are several; the others stay as they are.",
        examples=["large"],
    )
    most: Count | None = Field(
        default=None,
        description="How many servers it may come to; a hundred times those that there are if it is not given.",
        examples=[500],
    )


def metrics_of(cluster: ClusterSpec, added: Sequence[str]) -> list[Metric]:
    """Describe the metrics that runs on a cluster may have, with those that a scenario has `added`."""
    return describe(cluster.resources, cluster.network.topology.built.tiers if cluster.network else (), added)


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
        remedy = f"Say which with --kind, or `kind` in the scenario's `size`: {', '.join(names)}."
        raise UserError("the cluster has several groups, and one of them can be sized", key="kind", remedy=remedy)
    kind = names[0] if kind is None else kind
    numbers = [number for number, name in enumerate(names) if kind in (name, str(number))]
    if not numbers:
        raise UserError("there is no such group of servers", key="kind", value=kind, remedy=suggest(kind, names))
    number = names.index(kind) if kind in names else numbers[0]
    return f"cluster.groups.{number}.count", cluster.groups[number].count
