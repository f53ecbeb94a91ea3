"""Objects that a scenario names with their options."""

from __future__ import annotations

from typing import Any

from scenarios.schema.options import check_options
from scenarios.schema.registered import Registered
from simcore.fields import Model


def built(spec: Registered) -> Any:
    """Make the object behind `{name: options}`."""
    name, options = spec.chosen
    kind = spec.registry.load(name)
    if type(options) is kind:
        return options
    if isinstance(options, Model):
        return kind(**{key: value for key, value in options if value is not None})
    return kind(**check_options(kind, options)) if isinstance(options, dict) else kind(options)
