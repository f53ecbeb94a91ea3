"""What servers draw and cost, in few words."""

from collections.abc import Sequence
from math import inf

import numpy as np

from binwright.analysis.measure.costs.bill import Costs, SiteEnergy
from binwright.analysis.measure.costs.tariffs import CostsSpec, Power, Tariff
from binwright.analysis.measure.costs.time_series import TimeSeries


def tariff(curve: tuple[float, ...] = (), price: float | None = None) -> Tariff:
    """Make a tariff of servers that draw so many watts at utilisations spread evenly."""
    return Tariff(power=Power.model_validate({"curve": curve}) if curve else None, price=price)


def costs(
    *tariffs: Tariff,
    kinds: Sequence[int] = (0,),
    added: int | None = None,
    resource: int = 0,
    activity: float = 1.0,
    off_after: float = inf,
    off_power: float = 0.0,
    waking: float = 0.0,
    pue: float = 1.0,
    move: float | None = None,
    move_gb: float = 0.0,
    electricity: TimeSeries | None = None,
    carbon: TimeSeries | None = None,
) -> Costs:
    """Make the costs of servers of these kinds."""
    off = {"after": off_after, "power": off_power, "waking": waking}
    spec = {
        "activity": activity,
        "switch_off": None if off_after == inf else off,
        "electricity": {"pue": pue},
        "moves": None if move is None else {"each": move, "per_gb": move_gb},
    }
    last = kinds[-1] if added is None else added
    return Costs(
        spec=CostsSpec.model_validate(spec),
        tariffs=tariffs,
        kinds=np.array(kinds),
        added=last,
        resource=resource,
        energy=(SiteEnergy("", pue, electricity, carbon),),
        site=np.zeros(len(kinds), np.int64),
    )
