"""Numbers with units: "64 GiB", "10 min", "50 %", or a plain number in the base unit."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import inf, isfinite

from binwright.simcore.errors import UserError, nearest
from binwright.simcore.types import QUANTUM

_TEXT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*(.*)")
LARGEST = 1e9
"""Units of a resource in one place: sums over thousands of servers still fit an int64 of quanta."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured, its base unit, and how much of the base unit each accepted unit is."""

    name: str
    base: str
    factors: Mapping[str, Decimal] = field(default_factory=dict)
    largest: float = inf

    def parse(self, value: object) -> float:
        """Read a finite number of base units, not below zero; anything else is a `UserError` with the remedy."""
        number = self._number(value)
        if not isfinite(number):
            raise UserError("must be finite", value=value, remedy=self.accepted)
        if number < 0:
            raise UserError("must not be negative", value=value, remedy=self.accepted)
        if number > self.largest:
            percent = f"Did you mean '{value} %'? " if "%" in self.factors and str(value).isdigit() else ""
            raise UserError(f"is more than {self.show(self.largest)}", value=value, remedy=f"{percent}{self.accepted}")
        return number

    def _number(self, value: object) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value) if abs(value) < 1e300 else inf
        match = _TEXT.fullmatch(value.strip()) if isinstance(value, str) else None
        if match is None:
            raise UserError(f"is not a valid {self.name}", value=value, remedy=self.accepted)
        number, unit = match.groups()
        if unit and unit not in self.factors:
            near = nearest(unit, self.factors)
            remedy = f"{f'Did you mean {near!r}? ' * bool(near)}{self.accepted}"
            raise UserError(f"{unit!r} is not a unit of {self.name}", value=value, remedy=remedy)
        # Decimals: 0.1 TB is 100 GB exactly.
        return float(Decimal(number) * self.factors.get(unit, Decimal(1)))

    @property
    def accepted(self) -> str:
        """What may be written, as a sentence."""
        plain = f"a plain number (of {self.base})" if self.base else "a plain number"
        if self is COUNT:
            plain += f": only {', '.join(MEASURES)} have units"
        return f"Write {plain}{', or one with ' if self.factors else ''}{', '.join(self.factors)}."

    def show(self, amount: float) -> str:
        """Write the text that parses to exactly this number of base units."""
        return f"{repr(float(amount)).removesuffix('.0')} {self.base}".rstrip()


def _factors(**factors: str) -> dict[str, Decimal]:
    return {unit: Decimal(factor) for unit, factor in factors.items()}


TIME = Measure("time", "s", _factors(us="1e-6", ms="1e-3", s="1", min="60", h="3600", d="86400", w="604800"))
SHARE = Measure("share", "", {"%": Decimal("0.01")}, largest=1)
CPU = Measure("cpu", "cores", _factors(cores="1", core="1", millicores="1e-3", m="1e-3"))
CARDS = Measure("gpu", "cards", _factors(cards="1", card="1"))
BANDWIDTH = Measure("bandwidth", "Gbps", _factors(bps="1e-9", kbps="1e-6", Mbps="1e-3", Gbps="1", Tbps="1e3"))
DATA = Measure(
    "data",
    "GB",
    _factors(B="1e-9", kB="1e-6", MB="1e-3", GB="1", TB="1e3", PB="1e6")
    | {f"{prefix}iB": Decimal(1024**power) / 10**9 for power, prefix in enumerate("KMGTP", 1)},
)
RATE = Measure(
    "rate",
    "GB/s",
    {f"{unit}/s": factor for unit, factor in DATA.factors.items()}
    | {unit: factor / 8 for unit, factor in BANDWIDTH.factors.items()},
)
POWER = Measure("power", "W", _factors(mW="1e-3", W="1", kW="1e3", MW="1e6"), largest=LARGEST)
ENERGY = Measure("energy", "Wh", _factors(mWh="1e-3", Wh="1", kWh="1e3"), largest=LARGEST)
COUNT = Measure("amount", "")

MEASURES = {"cpu": CPU, "gpu": CARDS, "bandwidth": BANDWIDTH} | dict.fromkeys(
    ("mem", "memory", "disk", "ssd", "hdd"), DATA
)


def measure_of(resource: str) -> Measure:
    """How amounts of a resource are written; resources of unknown name are plain numbers."""
    return MEASURES.get(resource, COUNT)


def amount(resource: str, value: object) -> float:
    """Units of a resource from what a scenario says."""
    measure = measure_of(resource)
    units = measure.parse(value)
    if units > LARGEST:
        raise UserError(f"is more than {measure.show(LARGEST)}", value=value, remedy="Check the unit.")
    if units > 0 and quanta(units) == 0:
        smallest = measure.show(1 / QUANTUM)
        raise UserError(f"is less than {smallest}, the finest amount", value=value, remedy="Check the unit.")
    return units


def say(amounts: Iterable[int], resources: Iterable[str]) -> str:
    """Quanta of these resources for people, rounded to six digits: `16 cpu, 32 GB mem`."""
    parts = []
    for units, name in zip((amount / QUANTUM for amount in amounts), resources, strict=True):
        base = f"{measure_of(name).base} " if measure_of(name) in (DATA, BANDWIDTH) else ""
        parts.append(f"{units:.6g} {base}{name}")
    return ", ".join(parts)


def many_of(count: int, what: str) -> str:
    """Say how many there are of something: 1 server, 2,000 servers."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def quanta(units: float) -> int:
    """Round units to the nearest int64 number of quanta."""
    return round(units * QUANTUM)


def by_place(amounts: Mapping[str, float], resources: Sequence[str]) -> dict[int, int]:
    """Turn units of resources into quanta, by the places of these."""
    return {resources.index(name): quanta(units) for name, units in amounts.items()}
