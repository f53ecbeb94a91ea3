"""Orders requests that wait as Slurm does: by age, size, priority, and by what others have used of their shares.

After https://slurm.schedmd.com/priority_multifactor.html and https://slurm.schedmd.com/classic_fair_share.html: every
factor is between 0 and 1, and counts by its weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from binwright.simcore.accounts import Accounts, Path
from binwright.simcore.errors import UserError
from binwright.simcore.fields import Model, Number, OneOf, PositiveNumber, PositiveTime, Text, wrong
from binwright.simcore.types import Request, View

DAY = 86_400.0
TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}


def _tuple(value: Any) -> Any:
    """Read one label as the only one; options of agents are checked strictly, where a list is no tuple."""
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


class FairShare(Model):
    """Who has used less of their shares is first."""

    by: Annotated[tuple[Text, ...], Field(min_length=1), BeforeValidator(_tuple), WithJsonSchema(TEXTS)] = Field(
        default=("tenant",),
        description="What tells users apart: a label of the requests, or `group`; several from the widest on.",
        examples=["[account, user]"],
    )
    half_life: PositiveTime = Field(
        default=7 * DAY, description="What was used counts half as much after this time.", examples=["14 d"]
    )
    shares: dict[str, dict[str, PositiveNumber]] = Field(
        default_factory=dict,
        description="The shares of some, by label and its value; others have 1.",
        examples=["{account: {physics: 3}}"],
    )

    @model_validator(mode="after")
    def _known(self) -> Self:
        for label in self.shares:
            if label not in self.by:
                remedy = f"Take one of {', '.join(self.by)}."
                raise wrong("is not a label of users", remedy, ("shares", label))
        return self

    def factors(self, accounts: Accounts) -> dict[Path, float]:
        """Compute everybody's factor: 2^(-used / share), both of the whole, as Slurm's classic fair share does.

        What others of an account have used counts in part: by the share of the user among them.
        """
        owners, used = accounts.owners(self.by), accounts.used(self.by, self.half_life)
        sums: dict[Path, float] = {}
        for owner in owners:
            for depth in range(len(owner) + 1):
                sums[owner[:depth]] = sums.get(owner[:depth], 0.0) + used[owner]
        total = sums[()] or 1.0
        share: dict[Path, float] = {(): 1.0}
        effective: dict[Path, float] = {(): sums[()] / total}
        beside: dict[Path, float] = {}
        paths = sorted(sums.keys() - {()}, key=len)
        for path in paths:
            beside[path[:-1]] = beside.get(path[:-1], 0.0) + self._shares(path)
        for path in paths:
            above, part = path[:-1], self._shares(path) / beside[path[:-1]]
            share[path] = share[above] * part
            own = sums[path] / total
            effective[path] = own + (effective[above] - own) * part
        return {owner: 2 ** (-effective[owner] / share[owner]) for owner in owners}

    def _shares(self, path: Path) -> float:
        return self.shares.get(self.by[len(path) - 1], {}).get(path[-1], 1.0)


class Multifactor(FairShare):
    """Whose factors, weighed and added up, come to most is first."""

    age: Number = Field(default=1000, description="The weight of the wait, up to `max_age`.")
    fair_share: Number = Field(default=10_000, description="The weight of what the user has used of its share.")
    size: Number = Field(default=1000, description="The weight of the share of the cluster that is asked for.")
    priority: Number = Field(default=1000, description="The weight of the priority, of the highest one.")
    max_age: PositiveTime = Field(default=7 * DAY, description="Who waits longer is no older.", examples=["1 d"])
    small_first: bool = Field(default=False, description="The size counts the other way round.")


class OtherOrder(OneOf):
    """An order with options of its own."""

    what: ClassVar[str] = "order"
    fair: FairShare | None = Field(default=None, description="By fair share alone.", examples=["{by: user}"])
    multifactor: Multifactor | None = Field(
        default=None, description="By several factors.", examples=["{age: 1000, by: user}"]
    )


DEFAULTS: Mapping[str, FairShare] = {"fair": FairShare(), "multifactor": Multifactor()}
"""Those that need no options."""


NAME_OR_ORDER = {
    "anyOf": [
        {"type": "string"},
        {"type": "object", "propertyNames": {"enum": [*DEFAULTS]}, "minProperties": 1, "maxProperties": 1},
    ]
}
"""The JSON schema of an order: a name, or one with options."""


class SharedOrder:
    """Scores the requests of a run by a rule, as `binwright.agents.heuristics.orders` do: the least is the first."""

    def __init__(self, rule: FairShare) -> None:
        self._rule = rule
        self._now, self._total = -1.0, 0
        self._factors: dict[Path, float] = {}

    def __call__(self, view: View, request: Request) -> float:
        """Score a request as of now, in billionths, so that equals stay in the order of arrival."""
        rule, accounts = self._rule, view.accounts
        if accounts is None:
            raise UserError("nobody keeps account of what is used here", key="order", remedy="Take another order.")
        if view.now != self._now:
            self._now, self._factors = view.now, rule.factors(accounts)
            self._total = int(view.capacity[:, :, 0].sum())
        fair = self._factors[accounts.owner(request.index, rule.by)]
        if not isinstance(rule, Multifactor):
            return -round(fair, 9)
        size = request.demand[0] * request.parts / self._total if self._total else 0.0
        highest = accounts.highest_priority
        urgent = max(request.priority, 0) / highest if highest else 0.0
        score = (
            rule.age * min((view.now - request.arrival) / rule.max_age, 1.0)
            + rule.fair_share * fair
            + rule.size * (1 - size if rule.small_first else size)
            + rule.priority * urgent
        )
        return -round(score, 9)
