"""Costs: what servers draw and cost, and what allocated resources earn."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from binwright.analysis.measure.costs.bill import Costs, SiteEnergy
from binwright.analysis.measure.costs.tariffs import CostsSpec, Electricity, OverTime
from binwright.analysis.measure.costs.time_series import TimeSeries
from binwright.analysis.measure.definition import Definition, define, table
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.analysis.measure.metric import MONEY
from binwright.scenarios.features.feature import Feature, Point
from binwright.simcore.errors import suggest
from binwright.simcore.fields import Model, Number, wrong
from binwright.simcore.ordered_sums import dot
from binwright.simcore.types import Floats
from binwright.simcore.units import DATA, measure_of


class _Keys(Model):
    prices: dict[str, Number] = Field(default_factory=dict, examples=["{cpu_hour: 0.04, mem_gb_hour: 0.005}"])
    """What an allocated unit earns; data has its unit in the key (`mem_gib_hour`)."""
    costs: CostsSpec | None = Field(
        None, examples=["{servers: {power: {idle: 100 W, peak: 300 W}, price: 0.5}, electricity: {carbon: 380}}"]
    )
    """What servers draw and cost."""


# -- what prices and the bill come to ----------------------------------------------------------------------------------


def _earned(run: FinishedRun, seconds: Callable[[FinishedRun], Floats]) -> float | None:
    """Add up what is earned in so many seconds by each that is held, where there are prices."""
    return float(sum(dot(seconds(part), part.worth) for part in run.parts())) if run.prices else None


def _income(run: FinishedRun) -> float | None:
    return _earned(run, lambda part: part.seconds * part.sold)


def _cost(run: FinishedRun) -> float | None:
    return run.bill.cost if run.bill else None


def _net(run: FinishedRun) -> float | None:
    """Take the cost from the income, where both are known."""
    earned, spent = _income(run), _cost(run)
    return None if earned is None or spent is None else earned - spent


def per_month(run: FinishedRun, money: float | None) -> float | None:
    """Divide money of a run by its measured time, for 30 days; None where that is 0."""
    lasted = run.finish - run.begin
    return None if money is None or not lasted else float(money) / lasted * 30 * 86_400


def _billed(part: str, name: str, heading: str, meaning: str, **how: Any) -> Definition:
    """Make the metric of a part of the bill."""
    how |= {"needs": attrgetter("bill"), "better": "lower"}
    return define(name, heading, meaning, lambda run, bill: getattr(bill, part), **how)


OF_RUN: dict[str, Any] = {"unit": MONEY, "table": "never"}
TABLE = table((
    *(define(f"{what}_month", f"{what} per month", f"{what} of the run per 30 days of its measured time",
             lambda run, of=of: per_month(run, of(run)), unit=MONEY, better=better, beyond=what == "net")
      for what, of, better in (("income", _income, "higher"), ("cost", _cost, "lower"), ("net", _net, "higher"))),
    define("income", "income of the run", "prices x amounts x hours held while the run lasted", _income,
           better="higher", **OF_RUN),
    define("income_held", "income held of the run",
           "the same of all that is held, also of what was there before; where there was a warm start",
           lambda run: _earned(run, lambda part: part.seconds) if run.first else None, better="higher", **OF_RUN),
    _billed("on", "server_hours_on", "server-hours on", "hours of servers that neither failed nor were switched off",
            table="differs"),
    _billed("energy", "energy", "energy", "of all servers in the measured time, times the PUE", unit="kWh"),
    _billed("carbon", "carbon", "carbon", "CO2 equivalent of the energy when it was drawn", unit="kg"),
    _billed("electricity", "cost_electricity", "cost of electricity of the run",
            "energy at its price when it was drawn", **OF_RUN),
    _billed("cost", "cost", "cost of the run", "of servers, electricity and moves in the measured time", **OF_RUN),
))  # fmt: skip


def build_costs(point: Point) -> Costs:
    """Collect what the servers cost, numbered as at the point. Raises ScenarioError where a file cannot be read."""
    scenario, spec = point.scenario, point.scenario.costs
    kinds, last = [""], 0
    if spec.kinds:
        servers = point.servers()
        kinds, last = servers.kind.tolist(), servers.labels.like
    groups = [group.name or "" for group in scenario.cluster.groups or ()]  # of which there may be none now
    spec.check_kinds(list(dict.fromkeys([*kinds, *groups])))
    named = [kind if kind in spec.kinds else "" for kind in kinds]
    names, resources = list(dict.fromkeys(named)), scenario.resources
    places = np.array([names.index(kind) for kind in named], np.int64)
    return Costs(
        spec=spec,
        tariffs=tuple(spec.at(kind)[1] for kind in names),
        kinds=places,
        added=int(places[last]),
        resource=resources.index(spec.utilisation or ("cpu" if "cpu" in resources else resources[0])),
        energy=(energy_of("", spec.electricity, "costs.electricity"),),
        site=np.zeros_like(places),
    )


def energy_of(name: str, spec: Electricity | None, key: str) -> SiteEnergy:
    """Read what a kWh comes to, which `key` of the scenario says."""
    if spec is None:
        return SiteEnergy(name, 1.0, None, None)
    price = _series(spec.price, f"{key}.price", below_zero=True)
    return SiteEnergy(name, spec.pue, price, _series(spec.carbon, f"{key}.carbon", below_zero=False))


def _series(rate: float | OverTime | None, key: str, *, below_zero: bool) -> TimeSeries | None:
    """Read what a kWh costs or emits over time, which `key` of the scenario says."""
    if isinstance(rate, OverTime):
        return rate.read(key, below_zero=below_zero)
    return None if rate is None else TimeSeries(np.array([rate], np.float64))


def _price_keys(resources: tuple[str, ...]) -> dict[str, tuple[str, float]]:
    """Every way to name a price: the resource, and the units that it is for."""
    known: dict[str, tuple[str, float]] = {}
    for resource in resources:
        if measure_of(resource) is DATA:
            # Data names its unit, so that nobody has to guess it.
            known |= {f"{resource}_{unit.lower()}_hour": (resource, float(f)) for unit, f in DATA.factors.items()}
        else:
            known[f"{resource}_hour"] = (resource, 1.0)
    return known


class _Feature(Feature):
    key = "costs"
    keys: ClassVar = {"": _Keys}

    def section(self, scenario: Any) -> Any:
        return scenario.costs or scenario.prices

    def check(self, scenario: Any) -> None:
        known = _price_keys(scenario.resources)
        for key in scenario.prices:
            if key not in known:
                usual = [name for name in known if measure_of(known[name][0]) is not DATA or "_gb_" in name]
                raise wrong("is not a price of the cluster's resources", suggest(key, usual), ("prices", key))
        if spec := scenario.costs:
            if spec.moves and spec.moves.per_gb and scenario.moves.memory(scenario.resources) is None:
                remedy = "Give what each move costs (`each`), or call the memory that moves carry `mem`."
                raise wrong("the cluster has neither mem nor memory", remedy, ("costs", "moves", "per_gb"))
            if (name := spec.utilisation) is not None and name not in scenario.resources:
                remedy = suggest(name, scenario.resources)
                raise wrong("the cluster has no such resource", remedy, ("costs", "utilisation"))
            kinds = scenario.cluster.kinds  # none where servers are of one kind, None where a file says them
            if kinds is not None or not spec.kinds:
                spec.check_kinds(kinds or [""])

    def measure(self, point: Point, known: dict[str, Any]) -> None:
        keys, hourly = _price_keys(point.scenario.resources), dict[str, float]()
        for key, price in point.scenario.prices.items():
            resource, units = keys[key]
            hourly[resource] = hourly.get(resource, 0.0) + price / units
        known["prices"] = hourly
        known["costs"] = build_costs(point) if point.scenario.costs else None


FEATURE = _Feature()
