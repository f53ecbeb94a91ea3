"""Objects that a scenario names with their options."""

from __future__ import annotations

from typing import Any

from scenarios.schema.options import check_options
from scenarios.schema.registered import Registered
from simcore.fields import Model


def built(spec: Registered) -> Any:
    """Make the object behind `{name: options}`."""
    name, options = spec.chosen
    if isinstance(options, Model):  # the object itself, of which a scenario keeps its own: some learn
        return options.model_copy()
    kind = spec.registry.load(name)
    return kind(**check_options(kind, options)) if isinstance(options, dict) else kind(options)
