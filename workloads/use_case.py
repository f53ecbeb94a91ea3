"""The base of the cases of `workload.use`: which requests a case is about."""

from __future__ import annotations

from pydantic import Field

from binwright.simcore.fields import Model, Where


class UseCase(Model):
    """Says what some of the requests use: those that `of` names."""

    of: Where = Field(
        default_factory=dict,
        description="Only requests with one of these values of every label, or of `group`. The first case of a "
        "request counts; without one it uses all it asks for.",
        examples=["{group: web}"],
    )
