"""Orders of requests that wait: what each rule says of one, and the least is the first.

`processors` are units of the cluster's first resource, the time is what agents are told of how long a job runs, and it
was submitted when it arrived, seconds after the beginning of the trace where there is one.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import log2, log10
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, model_validator

from binwright.simcore.accounts import Accounts, Path
from binwright.simcore.errors import UserError
from binwright.simcore.fields import Model, OneOf, PositiveNumber, PositiveTime, Text, wrong
from binwright.simcore.registry import Registry
from binwright.simcore.types import QUANTUM, Request, View

LITTLE = 1e-15
"""What keeps UNICEP from dividing by nothing, as published."""
Order = Callable[[View, Request], float]


def fcfs(view: View, request: Request) -> float:
    """First come, first served: equals stay in the order of their arrival."""
    return 0.0


def priority(view: View, request: Request) -> float:
    """Order the highest priority first; equals stay in the order of their arrival."""
    return -request.priority


def sjf(view: View, request: Request) -> float:
    """Order the shortest first."""
    return request.duration


def longest(view: View, request: Request) -> float:
    """Order the longest first (Graham 1969)."""
    return -request.duration


def f1(view: View, request: Request) -> float:
    """Order by F1 of Carastan-Santos and de Camargo (SC 2017)."""
    return log10(_time(request)) * _processors(request) + 870 * log10(max(view.origin + request.arrival, 1.0))


def wfp3(view: View, request: Request) -> float:
    """Order by WFP3 (Tang and others, Cluster 2009): the cube of the wait by the time, times the processors."""
    time, processors = of_wfp3(request)
    return -(((view.now - request.arrival) / time) ** 3) * processors


def unicep(view: View, request: Request) -> float:
    """Order by UNICEP (the same): the wait, by the logarithm of the processors and the time."""
    return -(view.now - request.arrival) / of_unicep(request)[0]


def wfp3_slip(view: View, request: Request) -> float:
    """Order by WFP3 as in RLScheduler's program, which takes -1 less the submission for the wait."""
    return wfp3(replace(view, now=-1 - view.origin), request)


def unicep_slip(view: View, request: Request) -> float:
    """Order by UNICEP as in RLScheduler's program, which takes -1 less the submission for the wait."""
    return unicep(replace(view, now=-1 - view.origin), request)


def of_wfp3(request: Request) -> tuple[float, float]:
    """Return what WFP3 makes of a request beside its wait."""
    return _time(request), _processors(request)


def of_unicep(request: Request) -> tuple[float]:
    """Return what UNICEP makes of a request beside its wait."""
    return (log2(max(_processors(request), 1.0) + LITTLE) * _time(request),)


def _time(request: Request) -> float:
    return max(request.duration, 1e-6)  # some jobs take no time


def _processors(request: Request) -> float:
    return request.demand[0] * request.parts / QUANTUM


BUILT_IN = {
    "fcfs": fcfs,
    "priority": priority,
    "sjf": sjf,
    "longest": longest,
    "f1": f1,
    "wfp3": wfp3,
    "unicep": unicep,
    "wfp3-slip": wfp3_slip,
    "unicep-slip": unicep_slip,
}
ORDERS = Registry(
    "order",
    "binwright.orders",
    {name: f"{__name__}:{rule.__name__}" for name, rule in BUILT_IN.items()},
    functions=True,
)
"""Their names; others add theirs by this entry point group."""
BY_WAIT = {"wfp3": of_wfp3, "unicep": of_unicep}
"""Those of the built-in ones that change while a request waits."""
TIMELESS = ("fcfs", "priority", "random")
"""Those that need not know how long requests stay."""


DAY = 86_400.0


def _tuple(value: Any) -> Any:
    """Read one label as the only one; options of agents are checked strictly, where a list is no tuple."""
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


class FairShare(Model):
    """Who has used less of their shares is first."""

    by: Annotated[tuple[Text, ...], Field(min_length=1), BeforeValidator(_tuple)] = Field(
        default=("tenant",), examples=["[account, user]"]
    )
    """What tells users apart: a label of the requests, or `group`; several from the widest on."""
    half_life: PositiveTime = Field(default=7 * DAY, examples=["14 d"])
    """What was used counts half as much after this time."""
    shares: dict[str, dict[str, PositiveNumber]] = Field(default_factory=dict, examples=["{account: {physics: 3}}"])
    """The shares of some, by label and its value; others have 1."""

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


class OtherOrder(OneOf):
    """An order with options of its own."""

    what: ClassVar[str] = "order"
    fair: FairShare | None = Field(default=None, description="By fair share alone.", examples=["{by: user}"])


DEFAULTS: Mapping[str, FairShare] = {"fair": FairShare()}
"""Those that need no options."""


class SharedOrder:
    """Scores the requests of a run by who has used how much: the least is the first."""

    def __init__(self, rule: FairShare) -> None:
        self._rule = rule
        self._now = -1.0
        self._factors: dict[Path, float] = {}

    def __call__(self, view: View, request: Request) -> float:
        """Score a request as of now, in billionths, so that equals stay in the order of arrival."""
        rule, accounts = self._rule, view.accounts
        if accounts is None:
            raise UserError("nobody keeps account of what is used here", key="order", remedy="Take another order.")
        if view.now != self._now:
            self._now, self._factors = view.now, rule.factors(accounts)
        return -round(self._factors[accounts.owner(request.index, rule.by)], 9)
