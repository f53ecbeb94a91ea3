"""The schema of `warm_start:`: what is placed before a run counts, and by whom."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from binwright.scenarios.schema.agent import AgentEntry, AgentSpec
from binwright.simcore.fields import Model, ShareFromZero, Shown, Text

SELF = "self"


def _form_of_filler(value: Any) -> str:
    return "<self>" if value == SELF else "<agent>"


Filler: TypeAlias = Annotated[
    Annotated[Literal["self"], Tag("<self>")] | Annotated[AgentEntry, Tag("<agent>")],
    Discriminator(_form_of_filler),
    Shown("`self`, name, {name: {option: value}}, or [Agent](#agent)"),
]


class WarmStart(Model):
    """Requests placed before the run counts: it starts with a partly filled cluster."""

    resource: Text = Field(default="cpu", description="The resource that `until` is about.", examples=["cpu"])
    until: ShareFromZero = Field(description="The run begins once this share is allocated.", examples=["50 %"])
    agent: Filler = Field(
        alias="with",
        description="The agent that places them. With `self` each agent fills the cluster itself, and may begin with "
        "another request.",
        examples=["best-fit", "self"],
    )

    @property
    def other(self) -> AgentSpec | None:
        """The agent that fills the cluster for all; None where each does so itself."""
        return self.agent if isinstance(self.agent, AgentSpec) else None
