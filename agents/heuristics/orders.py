"""Orders of requests that wait: what each rule says of one, and the least is the first.

`processors` are units of the cluster's first resource, the time is what agents are told of how long a job runs, and it
was submitted when it arrived, seconds after the beginning of the trace where there is one.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import log2, log10
from typing import ClassVar

from pydantic import Field

from binwright.simcore.accounts import Accounts
from binwright.simcore.errors import UnknownName, UserError, suggest
from binwright.simcore.fields import Model, OneOf, PositiveNumber, PositiveTime, Text
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
    return _by_wait(view, request, *of_wfp3(request))


def unicep(view: View, request: Request) -> float:
    """Order by UNICEP (the same): the wait, by the logarithm of the processors and the time."""
    return _by_wait(view, request, *of_unicep(request))


def wfp3_slip(view: View, request: Request) -> float:
    """Order by WFP3 as in RLScheduler's program, which takes -1 less the submission for the wait."""
    return wfp3(replace(view, now=-1 - view.origin), request)


def unicep_slip(view: View, request: Request) -> float:
    """Order by UNICEP as in RLScheduler's program, which takes -1 less the submission for the wait."""
    return unicep(replace(view, now=-1 - view.origin), request)


def of_wfp3(request: Request) -> tuple[float, float, float]:
    """Return the constants of WFP3 for a request, as `InOrder.by_wait` has them."""
    return _time(request), 3.0, _processors(request)


def of_unicep(request: Request) -> tuple[float, float, float]:
    """Return the constants of UNICEP for a request, as `InOrder.by_wait` has them."""
    return log2(max(_processors(request), 1.0) + LITTLE) * _time(request), 1.0, 1.0


def _by_wait(view: View, request: Request, a: float, p: float, b: float) -> float:
    return float(-(((view.now - request.arrival) / a) ** p) * b)


def _time(request: Request) -> float:
    return max(request.duration, 1e-6)  # some jobs take no time


def _processors(request: Request) -> float:
    return request.demand[0] * request.parts / QUANTUM


_RULES: tuple[Order, ...] = (fcfs, priority, sjf, longest, f1, wfp3, unicep, wfp3_slip, unicep_slip)
BUILT_IN = {rule.__name__.replace("_", "-"): rule for rule in _RULES}
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


class FairShare(Model):
    """Who has used less of their shares is first."""

    by: Text = Field(default="tenant", description="The label of the requests that tells users apart, or `group`.")
    half_life: PositiveTime = Field(default=7 * DAY, examples=["14 d"])
    """What was used counts half as much after this time."""
    shares: dict[str, PositiveNumber] = Field(default_factory=dict, examples=["{physics: 3}"])
    """The shares of some users; others have 1."""

    def factors(self, accounts: Accounts) -> dict[str, float]:
        """Compute everybody's factor: 2^(-used / share), both of the whole, as Slurm's classic fair share does.

        What others have used counts in part: by the share of the user.
        """
        used = accounts.used()
        whole, of_all = sum(used.values()), sum(self.shares.get(owner, 1.0) for owner in used)
        factors = dict[str, float]()
        for owner, amount in used.items():
            share, own = self.shares.get(owner, 1.0) / of_all, amount / (whole or 1.0)
            factors[owner] = 2 ** (-(own + (bool(whole) - own) * share) / share)
        return factors

    def order(self, accounts: Accounts) -> Callable[[Request], float]:
        """Return what scores requests as of now, in billionths, so that equals stay in the order of arrival."""
        factors = self.factors(accounts)
        return lambda request: -round(factors[accounts.owner(request.index)], 9)


class OtherOrder(OneOf):
    """An order with options of its own."""

    what: ClassVar[str] = "order"
    fair: FairShare | None = Field(default=None, description="By fair share alone.", examples=["{by: user}"])


DEFAULTS: Mapping[str, FairShare] = {"fair": FairShare()}
"""Those that need no options."""


def order_named(name: str) -> Order:
    """Load an order; a mistake in its name is reported under its key."""
    try:
        order: Order = ORDERS.load(name)
    except UnknownName as error:
        remedy = error.remedy if ":" in name else suggest(name, (*ORDERS, "random", *DEFAULTS))
        raise UserError(error.problem, key="order", value=name, remedy=remedy) from None
    return order
