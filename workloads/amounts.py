"""What maps names to amounts in a scenario: resources to how much of them, columns of a table to their units."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, PlainSerializer

from binwright.simcore.fields import Shown, checked, is_name, mapping_of, positive, wrong
from binwright.simcore.units import TIME, Measure, amount, measure_of

TIMES = ("arrival", "end", "lifetime")
"""What is a time among the columns of requests."""


def _resource(name: str) -> None:
    """Refuse what is no name of a resource."""
    if not is_name(name):
        remedy = "Names begin with a letter. Decimals have a point: 8.5 GB, not 8,5 GB."
        raise wrong("is not the name of a resource", remedy, (name,))


def _amounts(values: object) -> dict[str, float]:
    return mapping_of(values, "resources to amounts", "{cpu: 40, mem: 90 GB}", checked_amount, _resource)


def _units(values: object) -> dict[str, float]:
    return mapping_of(values, "columns to units", "{cpu: millicores, mem: GiB}", _checked_unit, _resource)


def _checked_unit(name: str, value: object) -> float:
    """Read a unit by its name or as an amount: `GiB` is `1 GiB`."""
    read = positive(measure_of_column(name))
    named = isinstance(value, str) and value.strip()[:1].isalpha()
    return checked(lambda unit: read(f"1 {unit}" if named else unit), (name,))(value)


def measure_of_column(name: str) -> Measure:
    """Return what a column of a table with requests measures."""
    return TIME if name in TIMES else measure_of(name)


def show_units(units: Mapping[str, float]) -> dict[str, str]:
    """Text for each unit that reads as exactly the same."""
    return {name: measure_of_column(name).show(amount) for name, amount in units.items()}


def checked_amount(resource: str, value: object) -> float:
    """Units of a resource."""
    return checked(partial(amount, resource), (resource,))(value)


def show_amounts(amounts: Mapping[str, float]) -> dict[str, str]:
    """Text for each amount that parses to exactly the same."""
    return {name: measure_of(name).show(units) for name, units in amounts.items()}


NamedAmounts: TypeAlias = Annotated[
    dict[str, float],
    BeforeValidator(_amounts),
    PlainSerializer(show_amounts, return_type=dict[str, str]),
    Shown("{resource: amount}"),
]
Units: TypeAlias = Annotated[
    dict[str, float],
    BeforeValidator(_units),
    PlainSerializer(show_units, return_type=dict[str, str]),
    Shown("{resource: unit, or amount above 0}"),
]
