"""Pacing: requests are offered at a pace, instead of when the workload says that they arrive."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from binwright.scenarios.features.feature import Feature
from binwright.simcore.fields import Model
from binwright.simcore.rules import Pacing


class _Keys(Model):
    pacing: Pacing | None = Field(None, examples=["{step: 1 s, await_room: true}"])
    """Offer requests one by one."""


class _Feature(Feature):
    key, name, keys = "pacing", "a pace", {"": _Keys}
    excludes: ClassVar = {"overflow.wait": "a pace is of single requests"}

    def stepped(self, scenario: Any, together: bool) -> bool:
        return True

    def world(self, scenario: Any) -> Mapping[str, Any]:
        return {"pacing": scenario.pacing}


FEATURE = _Feature()
