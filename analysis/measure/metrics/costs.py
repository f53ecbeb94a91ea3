"""What the servers cost, where the scenario says what they draw and cost."""

from __future__ import annotations

from analysis.measure.definition import metric
from analysis.measure.finished import FinishedRun
from analysis.measure.metric import MONEY
from analysis.measure.metrics.income import income


@metric(
    name="server_hours",
    heading="server-hours",
    better="lower",
    table="never",
    meaning="servers there x hours, added up",
)
def there(run: FinishedRun) -> float | None:
    """Add up the hours for which servers were there."""
    return run.bill.there if run.bill else None


@metric(
    name="server_hours_on",
    heading="server-hours on",
    better="lower",
    table="differs",
    meaning="of these, neither failed nor switched off",
)
def on(run: FinishedRun) -> float | None:
    """Add up the hours for which servers were switched on and in service."""
    return run.bill.on if run.bill else None


@metric(
    name="server_hours_used",
    heading="server-hours used",
    better="lower",
    table="never",
    meaning="of these, holding something",
)
def used(run: FinishedRun) -> float | None:
    """Add up the hours for which servers held something."""
    return run.bill.used if run.bill else None


@metric(heading="woken", better="lower", table="never", meaning="servers that were switched off and were needed again")
def woken(run: FinishedRun) -> int | None:
    """Count how often a server that was switched off was woken."""
    return run.bill.woken if run.bill else None


@metric(heading="energy", unit="kWh", better="lower", meaning="of all servers in the measured time, times the PUE")
def energy(run: FinishedRun) -> float | None:
    """Return the energy in kWh."""
    return run.bill.energy if run.bill else None


@metric(heading="power", unit="kW", better="lower", table="never", meaning="energy / hours")
def power(run: FinishedRun) -> float | None:
    """Return the mean power in kW."""
    return run.bill.power if run.bill else None


@metric(
    name="power_peak",
    heading="peak power",
    unit="kW",
    better="lower",
    table="never",
    meaning="the most that was drawn at once, times the PUE",
)
def peak(run: FinishedRun) -> float | None:
    """Return the highest power in kW."""
    return run.bill.peak if run.bill else None


@metric(heading="carbon", unit="kg", better="lower", meaning="CO2 equivalent of the energy when it was drawn")
def carbon(run: FinishedRun) -> float | None:
    """Return the emissions in kg."""
    return run.bill.carbon if run.bill else None


@metric(
    name="cost_servers",
    heading="cost of servers",
    unit=MONEY,
    better="lower",
    table="never",
    meaning="hours on demand, reservations",
)
def servers(run: FinishedRun) -> float | None:
    """Return the money for servers."""
    return run.bill.servers if run.bill else None


@metric(
    name="cost_electricity",
    heading="cost of electricity",
    unit=MONEY,
    better="lower",
    table="never",
    meaning="energy at its price when it was drawn",
)
def electricity(run: FinishedRun) -> float | None:
    """Return the money for electricity."""
    return run.bill.electricity if run.bill else None


@metric(
    name="cost_moves",
    heading="cost of moves",
    unit=MONEY,
    better="lower",
    table="never",
    meaning="of those that arrived",
)
def moves(run: FinishedRun) -> float | None:
    """Return the money for moves."""
    return run.bill.moves if run.bill else None


@metric(heading="cost", unit=MONEY, better="lower", meaning="of servers, electricity and moves in the measured time")
def cost(run: FinishedRun) -> float | None:
    """Return all money."""
    return run.bill.cost if run.bill else None


@metric(heading="net", unit=MONEY, better="higher", meaning="income - cost")
def net(run: FinishedRun) -> float | None:
    """Take the cost from the income, where both are known."""
    earned, spent = income(run), run.bill.cost if run.bill else None
    return None if earned is None or spent is None else earned - spent
