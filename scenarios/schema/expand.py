"""The schema of adding servers when a request fits nowhere."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from simcore.fields import Count, Model


class Expand(Model):
    """Add servers each time a request fits nowhere."""

    by: Count = Field(description="Servers added at a time, like those of the last group.", examples=[10])
    limit: Count = Field(description="The cluster never has more servers than this.", examples=[110])
    then: Literal["drop", "stop"] = Field(
        default="stop", description="What happens when a request fits nowhere at the limit."
    )
