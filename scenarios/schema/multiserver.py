"""The schema of a `workload:` of requests that may need several servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from scenarios.schema.agent import AgentSpec
from scenarios.schema.cluster import ClusterSpec
from scenarios.schema.kind import Roled
from scenarios.schema.registered import Registered
from scenarios.schema.use import Using
from scenarios.schema.yaml_source import Keys
from simcore.fields import Count, Number, PositiveTime, Share, Shown, wrong
from simcore.json_schema import Schema, given
from simcore.registry import Registry
from simcore.types import QUANTUM
from workloads.demands import DEMANDS
from workloads.holding import LONGEST


class Demand(Registered):
    """What requests ask for, by name, with its options: `uniform`, or `{azure: {path: packing.sqlite}}`."""

    registry: ClassVar[Registry] = DEMANDS
    what: ClassVar[str] = "demand"
    by_word: ClassVar[bool] = True


def _ascending(pair: tuple[float, float]) -> tuple[float, float]:
    if not 0 <= pair[0] <= pair[1] <= LONGEST:
        remedy = f"Give the lower bandwidth first, from 0, and at most {LONGEST:,} last."
        raise wrong("is an empty range" if pair[0] > pair[1] else "is too much", remedy, value=list(pair))
    return pair


class MultiServer(Using, Roled):
    """Requests that may need several servers and bandwidth between them."""

    demand: Demand = Field(
        description="What requests ask for; `binwright workloads` lists the kinds.",
        examples=["uniform", "azure-like", "{openb: {path: pods.csv, split: test}}"],
    )
    requests: Count = Field(description="How many requests.", examples=[128])
    holding: Count | None = Field(
        default=None,
        description="Each stays for a whole number of steps from 1 to this, drawn uniformly.",
        examples=[30],
    )
    load: Share | None = Field(
        default=None,
        description="Instead of `holding`: the share of the cluster that requests would hold in the long run if all "
        "were placed.",
        examples=["95 %"],
    )
    bandwidth: Annotated[
        tuple[Number, Number], AfterValidator(_ascending), Shown("[low, high] in units of link capacities")
    ] = Field((0.1, 1.0), description="What each needs between its servers, drawn uniformly.", examples=["[0.1, 1.0]"])
    step: PositiveTime = Field(1.0, description="One request arrives every step.", examples=["1 s"])

    forms: ClassVar[Sequence[Schema]] = (given("holding", without=["load"]), given("load", without=["holding"]))

    @model_validator(mode="after")
    def _either(self) -> Self:
        if (self.holding is None) == (self.load is None):
            raise wrong(
                "needs either holding or load", "`holding: 30`, or `load: 95 %` to have it found.", ("holding",)
            )
        return self

    def check_against(self, cluster: ClusterSpec, agents: Sequence[tuple[Keys, AgentSpec]], seeds: int) -> None:
        if not cluster.network:
            return
        widest = int(cluster.network.topology.built.link_capacity.max()) / QUANTUM
        if self.bandwidth[0] > widest:
            remedy = f"The widest has {widest:g}: ask for less, or give the links more."
            raise wrong("is above what any link has", remedy, ("workload", "bandwidth"), list(self.bandwidth))
