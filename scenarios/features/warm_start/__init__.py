"""Warm start: requests that are placed before the run counts, so that it begins on a partly filled cluster."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag

from binwright.agents.world import WarmStart
from binwright.fabric.run.play import fill
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.agent_spec import AgentEntry, AgentSpec
from binwright.scenarios.features.feature import Feature
from binwright.simcore.errors import RunError, suggest
from binwright.simcore.fields import Keys, Model, ShareFromZero, Shown, Text, wrong
from binwright.simcore.types import Agent


def _form_of_filler(value: Any) -> str:
    return "<self>" if value == "self" else "<agent>"


Filler: TypeAlias = Annotated[
    Annotated[Literal["self"], Tag("<self>")] | Annotated[AgentEntry, Tag("<agent>")],
    Discriminator(_form_of_filler),
    Shown("`self`, name, {name: {option: value}}, or [Agent](#agent)"),
]


class WarmStartSpec(Model):
    """Requests placed before the run counts: it starts with a partly filled cluster."""

    resource: Text = Field(default="cpu", description="The resource that `until` is about.")
    until: ShareFromZero = Field(description="The run begins once this share is allocated.")
    agent: Filler = Field(alias="with", examples=["best-fit", "self"])
    """The agent that places them. With `self` each agent fills the cluster itself, and may begin with another request.
    """


class _Keys(Model):
    warm_start: WarmStartSpec | None = Field(None, examples=["{resource: cpu, until: 50 %, with: best-fit}"])
    """Fill the cluster first."""


class _Feature(Feature):
    key, keys = "warm_start", {"": _Keys}

    def stepped(self, scenario: Any, together: bool) -> bool:
        return together

    def check(self, scenario: Any) -> None:
        name, resources = scenario.warm_start.resource, scenario.cluster.resources
        if name not in resources:
            raise wrong("the cluster has no such resource", suggest(name, resources), ("warm_start", "resource"), name)

    def agents(self, scenario: Any) -> list[tuple[Keys, AgentSpec]]:
        filler = scenario.warm_start.agent
        return [(("warm_start", "with"), filler)] if isinstance(filler, AgentSpec) else []

    def world(self, scenario: Any) -> Mapping[str, Any]:
        spec = scenario.warm_start
        agent = spec.agent.make if isinstance(spec.agent, AgentSpec) else None
        return {"warm_start": WarmStart(spec.resource, spec.until, agent)}

    def prepare(self, scenario: Any, simulation: Simulation, agent: Agent, play: Callable[..., int]) -> None:
        name, until = scenario.warm_start.resource, scenario.warm_start.until
        resource = simulation.view.resources.index(name)
        share = fill(simulation, resource, until, lambda watch: play(simulation, agent, watch))
        if share < until:
            raise RunError(
                f"the warm start never reached {100 * until:.0f} % of {name}: all {len(simulation.workload)} requests "
                f"were offered, and {100 * share:.1f} % is allocated. Give it more requests, fewer servers, or a lower "
                "`until`"
            )


FEATURE = _Feature()
