"""Quotas: what tenants may use, borrow and lend."""

from functools import partial
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.feature import Feature, Named, Point, chosen
from binwright.scenarios.features.quotas.run import QuotaBook
from binwright.simcore.errors import suggest
from binwright.simcore.fields import Amounts, Model, PositiveTime, Text, Where, known_resources, together, wrong


class Quota(Model):
    """What a tenant may use. Resources that `nominal` does not name are not bounded."""

    nominal: Amounts = Field(description="Its own quota.", examples=["{cpu: 40, mem: 90 GB}"], min_length=1)
    cohort: Text = Field(
        default="", description="Tenants of a cohort use what the others leave of theirs.", examples=["research"]
    )
    borrow: Amounts = Field(
        default_factory=dict,
        description="At most so much beyond its own; by default any amount.",
        examples=["{cpu: 20}"],
    )
    lend: Amounts = Field(
        default_factory=dict, description="Others have at most so much of it; by default all.", examples=["{cpu: 10}"]
    )

    @model_validator(mode="after")
    def _of_cohort(self) -> Self:
        for key in ("borrow", "lend"):
            said = getattr(self, key)
            if said and not self.cohort:
                raise wrong("is for members of a cohort", "Name one: cohort: research.", (key,))
            for name in said:
                if name not in self.nominal:
                    raise wrong("has no nominal quota", suggest(name, self.nominal), (key, name))
        return self


class Quotas(Model):
    """Bounds on what the requests of each tenant hold, as Kueue has them."""

    by: Text = Field(
        default="group",
        description="A label of the requests that tells tenants apart, or `group`.",
        examples=["tenant"],
    )
    of: dict[str, Quota] = Field(
        description="The quota of each tenant. Others are not bounded.",
        examples=["{a: {nominal: {cpu: 40}, cohort: all}, b: {nominal: {cpu: 20}, cohort: all}}"],
        min_length=1,
    )
    only: Where = Field(
        default_factory=dict,
        description="Only such requests count, by labels, `group`, or `models`.",
        examples=["{models: A100}"],
    )
    above: Literal["wait", "refuse"] = Field(
        default="wait", description="A request above the quota waits apart from the line, or is refused."
    )
    reclaim: Literal["never", "lower", "any"] = Field(
        default="never",
        description="Which borrowers a request within its nominal quota evicts: none, those of lower priority, any.",
    )
    checkpoint: PositiveTime | None = Field(
        default=None,
        description="They go on from their last checkpoint; by default they begin anew.",
        examples=["10 min"],
    )

    @model_validator(mode="after")
    def _evicted(self) -> Self:
        if self.checkpoint and self.reclaim == "never":
            raise wrong(
                "is for those that are evicted, and nobody is", "Write reclaim: lower, or any.", ("checkpoint",)
            )
        return self


class _Keys(Model):
    quotas: Quotas | None = Field(
        default=None,
        description="What tenants may use, borrow and reclaim.",
        examples=["{by: tenant, of: {a: {nominal: {cpu: 40}}}}"],
    )


class _Feature(Feature):
    key = "quotas"
    keys: ClassVar = {"": _Keys}
    learned = False

    def check(self, scenario: Any) -> None:
        checks = (
            partial(known_resources, one.nominal, scenario.resources, ("quotas", "of", name, "nominal"))
            for name, one in scenario.quotas.of.items()
        )
        together(*checks)

    def names(self, scenario: Any) -> list[Named]:
        spec: Quotas | None = scenario.quotas
        if spec is None:
            return []
        return [*((("quotas", "of", name), spec.by, name) for name in spec.of), *chosen(("quotas", "only"), spec.only)]

    def by_priority(self, scenario: Any) -> bool:
        return bool(scenario.quotas.reclaim == "lower")

    def attach(self, point: Point, simulation: Simulation) -> None:
        QuotaBook(simulation, point.scenario.quotas)

    def why(self, simulation: Simulation, row: int) -> list[str]:
        book = simulation.quotas
        if not isinstance(book, QuotaBook) or row not in book.waited:
            return []
        since, until = book.waited[row]
        return [f"above its {book.reasons[row]} for {min(until, simulation.now) - since:g} s"]


FEATURE = _Feature()
