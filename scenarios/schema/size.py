"""The schema of a scenario's `size:`: what `binwright size` looks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Literal

from pydantic import Field

from binwright.analysis.measure.costs.tariffs import CostsSpec
from binwright.analysis.measure.measuring import describe
from binwright.analysis.measure.metric import Metric
from binwright.scenarios.schema.cluster import ClusterSpec
from binwright.scenarios.schema.metric import MetricSpec
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.fields import Count, Model, PositiveNumber, Text


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
    mix: Literal["costs"] | dict[str, PositiveNumber] | None = Field(
        default=None,
        description="Look for the cheapest mix of groups instead, by prices of a server-hour, or `costs` for the "
        "scenario's own.",
        examples=["{small: 0.3, large: 1}"],
    )
    most: Count | None = Field(
        default=None,
        description="The most servers to try, of each kind in a `mix`; by default a hundred times those that there "
        "are.",
        examples=[500],
    )


def metrics_of(cluster: ClusterSpec, added: Sequence[MetricSpec], currency: str = "") -> list[Metric]:
    """Describe the metrics that runs on a cluster may have, with those that a scenario has `added`."""
    tiers = cluster.network.topology.built.tiers if cluster.network else ()
    return describe(cluster.resources, tiers, [one.asked for one in added], currency)


def groups_of(cluster: ClusterSpec) -> dict[str, tuple[str, int]]:
    """Find the key that says the number of servers of each group, and how many there are now, by name or place."""
    if cluster.groups is None:
        raise UserError("the cluster has no groups of servers", key="mix", remedy="Give it groups, one of each kind.")
    return {
        group.name or str(number): (f"cluster.groups.{number}.count", group.count)
        for number, group in enumerate(cluster.groups)
    }


def prices_of(
    costs: CostsSpec | None, groups: Mapping[str, object], mix: str | Mapping[str, float]
) -> dict[str, float]:
    """Find the price of each kind of a mix, the dearest first."""
    if not isinstance(mix, str):
        for name, price in mix.items():
            if name not in groups:
                raise UserError(
                    "there is no such group of servers", key="mix", value=name, remedy=suggest(name, groups)
                )
            if not (isfinite(price) and price > 0):
                raise UserError("is no price", key=f"mix {name}", value=price, remedy="Give a number above 0.")
        found = {name: float(mix[name]) for name in groups if name in mix}
    elif mix != "costs":
        remedy = "Write small=0.3,large=1, or costs, for the prices that the scenario has."
        raise UserError("says no prices", key="mix", value=mix, remedy=remedy)
    else:
        prices = {name: costs.at(name)[1].price if costs else None for name in groups}
        if missing := [name for name, price in prices.items() if not price]:
            remedy = (
                f"Write costs: {{kinds: {{{missing[0]}: {{price: 0.3}}}}}}, or give prices: --mix small=0.3,large=1."
            )
            raise UserError("has no price in `costs`", key="mix", value=missing[0], remedy=remedy)
        found = {name: price for name, price in prices.items() if price}
    if len(found) < 2:
        remedy = "Name two kinds or more; --kind sizes one."
        raise UserError("is no mix", key="mix", value=", ".join(found), remedy=remedy)
    return dict(sorted(found.items(), key=lambda kind: -kind[1]))


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
        remedy = (
            f"Say which with --kind, or `kind` in the scenario's `size`: {', '.join(names)}. With --mix, or `mix`, the "
            "cheapest mix of them is looked for."
        )
        raise UserError("the cluster has several groups, and one of them can be sized", key="kind", remedy=remedy)
    kind = names[0] if kind is None else kind
    numbers = [number for number, name in enumerate(names) if kind in (name, str(number))]
    if not numbers:
        raise UserError("there is no such group of servers", key="kind", value=kind, remedy=suggest(kind, names))
    number = names.index(kind) if kind in names else numbers[0]
    return f"cluster.groups.{number}.count", cluster.groups[number].count
