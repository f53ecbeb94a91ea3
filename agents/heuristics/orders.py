"""Orders of requests that wait: what each rule says of one, and the least is the first.

Jobs of a parallel machine are what these rules were made for: `processors` are units of the cluster's first resource,
the time is what agents are told of how long a job runs, and it was submitted when it arrived, seconds after the
beginning of the trace where there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log2, log10, sqrt

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
    return log10(_time(request)) * _processors(request) + 870 * _since(view, request)


def f2(view: View, request: Request) -> float:
    """Order by F2 of the same."""
    return sqrt(_time(request)) * _processors(request) + 25_600 * _since(view, request)


def f3(view: View, request: Request) -> float:
    """Order by F3 of the same."""
    return _time(request) * _processors(request) + 6_860_000 * _since(view, request)


def f4(view: View, request: Request) -> float:
    """Order by F4 of the same."""
    return _time(request) * sqrt(_processors(request)) + 530_000 * _since(view, request)


def wfp3(view: View, request: Request) -> float:
    """Order by WFP3 (Tang and others, Cluster 2009): the cube of the wait by the time, times the processors."""
    return _wfp3(view.now - request.arrival, request)


def unicep(view: View, request: Request) -> float:
    """Order by UNICEP (the same): the wait, by the logarithm of the processors and the time."""
    return _unicep(view.now - request.arrival, request)


def wfp3_slip(view: View, request: Request) -> float:
    """Order by WFP3 as in RLScheduler's program, which takes -1 less the submission for the wait."""
    return _wfp3(-1 - view.origin - request.arrival, request)


def unicep_slip(view: View, request: Request) -> float:
    """Order by UNICEP as in RLScheduler's program, which takes -1 less the submission for the wait."""
    return _unicep(-1 - view.origin - request.arrival, request)


def _wfp3(wait: float, request: Request) -> float:
    time, processors = of_wfp3(request)
    return -((wait / time) ** 3) * processors


def _unicep(wait: float, request: Request) -> float:
    return -wait / of_unicep(request)[0]


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


def _since(view: View, request: Request) -> float:
    return log10(max(view.origin + request.arrival, 1.0))


BUILT_IN = {
    "fcfs": fcfs,
    "priority": priority,
    "sjf": sjf,
    "longest": longest,
    **{f"f{number}": rule for number, rule in enumerate((f1, f2, f3, f4), 1)},
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
