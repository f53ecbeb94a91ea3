"""What a run may have beside its core: each feature is a folder here and a name in `NAMES`, and gone without."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from pydantic import create_model

from binwright.scenarios.features.feature import Feature
from binwright.simcore.fields import Model

M = TypeVar("M", bound=Model)
NAMES = (
    *("warm_start", "failures", "expansion", "placement", "overcommit", "pacing", "costs", "priorities", "use"),
    *("lifetimes", "sites", "quotas", "queues", "preemption", "moves", "processes", "speed", "autoscale"),
)
"""In the order in which a run gets them."""


@cache
def features() -> tuple[Feature, ...]:
    """Return every feature."""
    return tuple(import_module(f"{__name__}.{name}").FEATURE for name in NAMES)


def used(scenario: Any) -> list[Feature]:
    """List the features that a scenario uses."""
    return [feature for feature in features() if feature.section(scenario)]


def with_keys(place: str) -> Callable[[type[M]], type[M]]:
    """Add the fields that features have at a place of the scenario to the model of that place."""

    def added(model: type[M]) -> type[M]:
        keys: list[Any] = [feature.keys[place] for feature in features() if place in feature.keys]
        return create_model(model.__name__, __base__=(*keys, model), __doc__=model.__doc__, __module__=model.__module__)

    return added
