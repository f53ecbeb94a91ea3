"""Lifetimes: what agents may know of how long requests stay, before these have ended."""

from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field

from binwright.scenarios.features.feature import Feature
from binwright.simcore.errors import UserError
from binwright.simcore.fields import Model, OneOf, Shown
from binwright.simcore.options import Registered
from binwright.simcore.registry import Registry
from binwright.simcore.types import Agent
from binwright.simcore.unions import PlainOrMapping
from binwright.workloads import PREDICTORS
from binwright.workloads.predictors import Noise, Predictor, Survival


class Predicted(Registered):
    """How lifetimes are predicted: one of these, `{package.module:Class: {...}}` or `{file.py:Class: {...}}`."""

    registry: ClassVar[Registry] = PREDICTORS
    what: ClassVar[str] = "predictor"
    base: ClassVar[type] = Predictor
    noise: Noise | None = Field(default=None, description="The truth times a random factor.", examples=["{sigma: 1}"])
    survival: Survival | None = Field(None, examples=["{by: flavour}"])
    """A table of how long others stayed."""


class OtherLifetimes(OneOf):
    """What agents know of lifetimes."""

    what: ClassVar[str] = "way to know"
    predicted: Predicted | None = Field(None, examples=["{noise: {sigma: 1}}"])
    """Agents get predictions."""


Known: TypeAlias = Annotated[
    Literal["known", "hidden"] | OtherLifetimes,
    PlainOrMapping(),
    Shown("`known`, `hidden` or {predicted: [Predicted](#predicted)}"),
]


class Knowledge(Model):
    """What agents may know of requests that have not ended."""

    lifetimes: Known = Field(
        default="hidden",
        examples=["known", "{predicted: {noise: {sigma: 1}}}", "{predicted: {survival: {by: flavour}}}"],
    )
    """Agents know lifetimes, may not ask, or get predictions."""


class _Keys(Model):
    knowledge: Knowledge = Field(
        default_factory=Knowledge, examples=["{lifetimes: known}", "{lifetimes: {predicted: {noise: {sigma: 1}}}}"]
    )
    """What agents may know of the requests."""


class _Feature(Feature):
    key, keys = "knowledge", {"": _Keys}

    def stepped(self, scenario: Any, together: bool) -> bool:
        lifetimes, workload = scenario.knowledge.lifetimes, scenario.workload
        if not (together and isinstance(lifetimes, OtherLifetimes) and lifetimes.predicted):
            return False
        whole = getattr(workload, "start", 0) == 0 or workload.running == "drop"
        return lifetimes.predicted.chosen[0] != "requested" or not whole  # users asked for the time of a whole run

    def suits(self, scenario: Any, agent: Agent) -> None:
        if scenario.knowledge.lifetimes == "hidden" and agent.needs_lifetimes:
            problem = f"{type(agent).__name__} asks how long requests stay, and the scenario hides it"
            remedy = "Write `knowledge: {lifetimes: known}`, or how they are predicted, or take another agent, such as "
            raise UserError(problem, key="agents", remedy=f"{remedy}best-fit.")


FEATURE = _Feature()
