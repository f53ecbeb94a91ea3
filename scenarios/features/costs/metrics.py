"""What servers and prices come to: income, hours, energy, carbon and money."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from binwright.analysis.measure.definition import Definition, define, table
from binwright.analysis.measure.finished_run import FinishedRun, Rows
from binwright.analysis.measure.metric import MONEY
from binwright.simcore.ordered_sums import dot
from binwright.simcore.types import Floats

MONTH, YEAR = 30, 365
"""Days."""


def _earned(run: FinishedRun, seconds: Callable[[Rows], Floats]) -> float | None:
    """Add up what is earned in so many seconds by each that is held, where there are prices."""
    return float(sum(dot(seconds(part), part.worth) for part in run.parts())) if run.prices else None


def _income(run: FinishedRun) -> float | None:
    return _earned(run, lambda part: part.seconds * part.sold)


def _booked(run: FinishedRun) -> float | None:
    """Add up what was sold: the same placements to their ends; those without one count to the end of the run."""
    return _earned(run, lambda part: np.where(np.isinf(part.end), part.seconds, part.end - part.start) * part.sold)


def _cost(run: FinishedRun) -> float | None:
    return run.bill.cost if run.bill else None


def _net(run: FinishedRun) -> float | None:
    """Take the cost from the income, where both are known."""
    earned, spent = _income(run), _cost(run)
    return None if earned is None or spent is None else earned - spent


def per_days(run: FinishedRun, money: float | None, days: int = MONTH) -> float | None:
    """Divide money of a run by its measured time, for so many days; None where that is 0."""
    lasted = run.finish - run.begin
    return None if money is None or not lasted else float(money) / lasted * days * 86_400


def _billed(part: str, name: str, heading: str, meaning: str, **how: Any) -> Definition:
    """Make the metric of a part of the bill."""
    how |= {"needs": attrgetter("bill"), "better": "lower"}
    return define(name, heading, meaning, lambda run, bill: getattr(bill, part), **how)


OF_RUN: dict[str, Any] = {"unit": MONEY, "table": "never"}
PER = table(
    define(f"{what}_{period}", f"{what} per {period}", f"{what} of the run per {days} days of its measured time",
           lambda run, of=of, days=days: per_days(run, of(run), days), unit=MONEY, better=better, beyond=what == "net")
    for what, of, better in (("income", _income, "higher"), ("cost", _cost, "lower"), ("net", _net, "higher"))
    for period, days in (("month", MONTH), ("year", YEAR))
)  # fmt: skip
TABLE = PER | table((
    define("income", "income of the run", "prices x amounts x hours held while the run lasted", _income,
           better="higher", **OF_RUN),
    define("income_held", "income held of the run",
           "the same of all that is held, also of what was there before; where there was a warm start",
           lambda run: _earned(run, lambda part: part.seconds) if run.first else None, better="higher", **OF_RUN),
    define("income_booked", "income booked of the run",
           "the income to the end of all holding periods; of those that never end, to the end of the run",
           _booked, better="higher", **OF_RUN),
    define("net", "net of the run", "income - cost", _net, better="higher", beyond=True, **OF_RUN),
    _billed("there", "server_hours", "server-hours", "servers there x hours, added up", table="never"),
    _billed("on", "server_hours_on", "server-hours on", "of these, neither failed nor switched off", table="differs"),
    _billed("used", "server_hours_used", "server-hours used", "of these, holding something", table="never"),
    _billed("woken", "woken", "woken", "servers that were switched off and were needed again", table="never"),
    _billed("energy", "energy", "energy", "of all servers in the measured time, times the PUE", unit="kWh"),
    _billed("power", "power", "power", "energy / hours", unit="kW", table="never"),
    _billed("peak", "power_peak", "peak power", "the most that was drawn at once, times the PUE", unit="kW",
            table="never"),
    _billed("carbon", "carbon", "carbon", "CO2 equivalent of the energy when it was drawn", unit="kg"),
    _billed("servers", "cost_servers", "cost of servers of the run", "hours on demand, reservations", **OF_RUN),
    _billed("electricity", "cost_electricity", "cost of electricity of the run",
            "energy at its price when it was drawn", **OF_RUN),
    _billed("moves", "cost_moves", "cost of moves of the run", "of those that arrived", **OF_RUN),
    _billed("cost", "cost", "cost of the run", "of servers, electricity and moves in the measured time", **OF_RUN),
))  # fmt: skip
