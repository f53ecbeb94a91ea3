"""The schema of a scenario's `train:`: what `binwright train` does with it."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from agents.learned import TRAINERS
from scenarios.fields import Count, Index, Model
from scenarios.registered import Registered
from simcore.registry import Registry


class Learner(Registered):
    """Which agent is trained, by name, with the settings of its trainer: `nara`, or `{nara: {rate: 0.001}}`."""

    registry: ClassVar[Registry] = TRAINERS
    what: ClassVar[str] = "agent to train"

    @classmethod
    def prepare(cls, data: Any) -> Any:
        return {data: {}} if isinstance(data, str) else data


class Validation(Model):
    """How the agent is judged while it learns, with requests that it never learns from."""

    every: Count = Field(
        default=10, description="Iterations between two validations; the last one is always validated."
    )
    episodes: Count = Field(default=100, description="How many episodes of the scenario.")
    seed: Index = Field(default=2**30, description="The first seed of these episodes; the others follow it.")


class Train(Model):
    """How an agent is trained in this scenario. `binwright run` does not look at it."""

    agent: Learner = Field(description="Who learns.", examples=["nara", "{nara: {rate: 0.005}}"])
    iterations: Count = Field(description="How long.", examples=[150])
    episodes: dict[str, Any] = Field(
        default_factory=dict,
        description="What is different in the episodes that it learns from, by dotted keys.",
        examples=["{workload.requests: 32}"],
    )
    validation: Validation = Field(default_factory=Validation, description="How it is judged.")
    seeds: Count = Field(default=1, description="How many times it is trained, with a seed each.", examples=[3])
    seed: Index = Field(default=0, description="The first seed; the others follow it.")
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", description="`auto` is CUDA where there is any.")
    threads: Count = Field(default=1, description="CPU threads. Small networks gain nothing from more.")
