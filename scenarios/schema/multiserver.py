"""The schema of a `workload:` of requests for several servers, and of one that is there at once and stays."""

from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from binwright.scenarios.features import with_keys
from binwright.scenarios.schema.kind import Roled, WorkloadKind
from binwright.simcore.errors import suggest
from binwright.simcore.fields import Count, Number, PositiveTime, Share, Shown, Text, wrong
from binwright.simcore.registered import Registered
from binwright.simcore.registry import Registry
from binwright.simcore.types import Workload
from binwright.workloads.demands import DEMANDS, LONGEST
from binwright.workloads.offline import CLASSES, FITTED, NAMES, WIDEST, machines


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


@with_keys("workload")
class MultiServer(Roled):
    """Requests that may need several servers and bandwidth between them."""

    demand: Demand = Field(
        description="What requests ask for; `binwright list workloads` lists the kinds.",
        examples=["uniform", "azure-like", "{azure: {path: packing.sqlite, split: test}}"],
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

    @model_validator(mode="after")
    def _either(self) -> Self:
        if (self.holding is None) == (self.load is None):
            raise wrong(
                "needs either holding or load", "`holding: 30`, or `load: 95 %` to have it found.", ("holding",)
            )
        return self


@with_keys("workload")
class Offline(WorkloadKind):
    """Machines that all arrive at time 0, in the order of the input, and never end."""

    offline: Text = Field(
        description=f"The input: {', '.join((*FITTED, *CLASSES))}, or one of the literature's, such as `u120`. "
        f"Resources are cpu, mem, disk, net_out and net_in (`{'`, `'.join(FITTED)}`, as shares of a server), `a` and "
        "`b` (`ct1` to `ct10`), or `size`.",
        examples=["pgrank"],
    )
    requests: Count | None = Field(
        default=None,
        description="How many machines; by default the input's own number, of `ct1` to `ct10` 200.",
        examples=[100],
    )

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.offline not in NAMES:
            raise wrong("unknown offline input", suggest(self.offline, NAMES), ("offline",), self.offline)
        if self.offline in CLASSES and (self.requests or 0) > WIDEST:
            raise wrong("is too many", f"Give {WIDEST} at most.", ("requests",), self.requests)
        return self

    def draw(self, resources: tuple[str, ...], seed: int) -> Workload:
        """Draw the machines of a seed, for a cluster's resources."""
        count = self.requests if self.offline in CLASSES else None
        return machines(self.offline, seed, count).requests(resources, self.requests)
