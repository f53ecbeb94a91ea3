"""What the servers cost, where the scenario says what they draw and cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from binwright.analysis.measure.definition import Definition, metric
from binwright.analysis.measure.finished_run import FinishedRun, Rows
from binwright.analysis.measure.metric import MONEY, Table
from binwright.simcore.ordered_sums import dot
from binwright.simcore.types import Floats

MONTH, YEAR = 30, 365
"""Days."""


@metric(
    heading="income of the run",
    unit=MONEY,
    better="higher",
    meaning="prices x amounts x hours held while the run lasted",
    table="never",
)
def income(run: FinishedRun) -> float | None:
    """Add up what was earned within the measured time."""
    return _earned(run, lambda part: part.seconds * part.sold)


@metric(
    name="income_held",
    heading="income held of the run",
    unit=MONEY,
    better="higher",
    table="never",
    meaning="the same of all that is held, also of what was there before; where there was a warm start",
)
def held(run: FinishedRun) -> float | None:
    """Add up what was earned within the measured time by all requests, those of the warm start included."""
    return _earned(run, lambda part: part.seconds) if run.first else None


@metric(
    name="income_booked",
    heading="income booked of the run",
    unit=MONEY,
    better="higher",
    table="never",
    meaning="the income to the end of all holding periods; of those that never end, to the end of the run",
)
def booked(run: FinishedRun) -> float | None:
    """Add up what was sold: the same placements to their ends; those without one count to the end of the run."""
    return _earned(run, lambda part: np.where(np.isinf(part.end), part.seconds, part.end - part.start) * part.sold)


def _earned(run: FinishedRun, seconds: Callable[[Rows], Floats]) -> float | None:
    """Add up what is earned in so many seconds by each that is held, where there are prices."""
    return float(sum(dot(seconds(part), part.worth) for part in run.parts())) if run.prices else None


def _billed(part: str, name: str, heading: str, meaning: str, unit: str = "", table: Table = "always") -> Definition:
    """Make the metric of a part of the bill."""

    @metric(name=name, heading=heading, unit=unit, better="lower", table=table, meaning=meaning)
    def found(run: FinishedRun) -> float | None:
        return getattr(run.bill, part) if run.bill else None

    return found


there = _billed("there", "server_hours", "server-hours", "servers there x hours, added up", table="never")
on = _billed("on", "server_hours_on", "server-hours on", "of these, neither failed nor switched off", table="differs")
used = _billed("used", "server_hours_used", "server-hours used", "of these, holding something", table="never")
woken = _billed("woken", "woken", "woken", "servers that were switched off and were needed again", table="never")
energy = _billed("energy", "energy", "energy", "of all servers in the measured time, times the PUE", "kWh")
power = _billed("power", "power", "power", "energy / hours", "kW", "never")
peak = _billed("peak", "power_peak", "peak power", "the most that was drawn at once, times the PUE", "kW", "never")
carbon = _billed("carbon", "carbon", "carbon", "CO2 equivalent of the energy when it was drawn", "kg")
servers = _billed(
    "servers", "cost_servers", "cost of servers of the run", "hours on demand, reservations", MONEY, "never"
)
electricity = _billed(
    *("electricity", "cost_electricity", "cost of electricity of the run"),
    *("energy at its price when it was drawn", MONEY, "never"),
)
moves = _billed("moves", "cost_moves", "cost of moves of the run", "of those that arrived", MONEY, "never")
cost = _billed(
    "cost", "cost", "cost of the run", "of servers, electricity and moves in the measured time", MONEY, "never"
)


@metric(heading="net of the run", unit=MONEY, better="higher", meaning="income - cost", table="never")
def net(run: FinishedRun) -> float | None:
    """Take the cost from the income, where both are known."""
    earned, spent = income(run), run.bill.cost if run.bill else None
    return None if earned is None or spent is None else earned - spent


def _per(of: Definition, what: str, period: str, days: int) -> Definition:
    """Make the metric of money per month or year: what the run came to, over its measured time."""

    @metric(
        name=f"{what}_{period}",
        heading=f"{what} per {period}",
        unit=MONEY,
        better="lower" if what == "cost" else "higher",
        meaning=f"{what} of the run per {days} days of its measured time",
    )
    def found(run: FinishedRun) -> float | None:
        return per_days(run, of(run), days)

    return found


def per_days(run: FinishedRun, money: float | None, days: int = MONTH) -> float | None:
    """Divide money of a run by its measured time, for so many days; None where that is 0."""
    lasted = run.finish - run.begin
    return None if money is None or not lasted else float(money) / lasted * days * 86_400


income_month, income_year = _per(income, "income", "month", MONTH), _per(income, "income", "year", YEAR)
cost_month, cost_year = _per(cost, "cost", "month", MONTH), _per(cost, "cost", "year", YEAR)
net_month, net_year = _per(net, "net", "month", MONTH), _per(net, "net", "year", YEAR)
