"""Prices: what an hour of a resource earns."""

from collections.abc import Mapping

from binwright.simcore.errors import suggest
from binwright.simcore.fields import wrong
from binwright.simcore.units import DATA, measure_of


def check_prices(prices: Mapping[str, float], resources: tuple[str, ...]) -> None:
    """Refuse a price of what the cluster does not have."""
    for key in prices:
        if key not in (known := _price_keys(resources)):
            usual = [name for name in known if measure_of(known[name][0]) is not DATA or "_gb_" in name]
            raise wrong("is not a price of the cluster's resources", suggest(key, usual), ("prices", key))


def hourly(prices: Mapping[str, float], resources: tuple[str, ...]) -> dict[str, float]:
    """Tell what an hour of one unit of each priced resource earns."""
    known = _price_keys(resources)
    earned: dict[str, float] = {}
    for key, price in prices.items():
        resource, units = known[key]
        earned[resource] = earned.get(resource, 0.0) + price / units
    return earned


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
