"""What servers and prices come to: income, hours, energy, carbon and money."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from binwright.analysis.measure.definition import Definition, define, table
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.analysis.measure.metric import MONEY
from binwright.simcore.ordered_sums import dot
from binwright.simcore.types import Floats


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
