"""The schema of `train:`: which agent learns, and how it is judged meanwhile."""

from typing import Any, ClassVar

from pydantic import Field

from binwright.agents.learned import TRAINERS
from binwright.simcore.fields import Count, Index, Model
from binwright.simcore.options import Registered
from binwright.simcore.registry import Registry

WHAT_TO_TRAIN = "Say what to train: `train: {agent: value-es, iterations: 300}`, or in a network nara."


class Learner(Registered):
    """Which agent is trained, by name, with the settings of its trainer: `nara`, or `{nara: {rate: 0.001}}`."""

    registry: ClassVar[Registry] = TRAINERS
    what: ClassVar[str] = "agent to train"
    by_word: ClassVar[bool] = True


class Validation(Model):
    """How the agent is judged while it learns, with requests that it never learns from."""

    every: Count = 10
    """Iterations between two validations; the last one is always validated."""
    episodes: Count = Field(default=100, description="How many episodes of the scenario.")
    seed: Index = Field(default=2**30, description="The first seed of these episodes; the others follow it.")
    keep: bool = Field(default=False, description="Keep the weights of every validation, not only the best ones.")


class Train(Model):
    """How an agent is trained in this scenario. `binwright run` ignores it."""

    agent: Learner = Field(description="Who learns.", examples=["nara", "{nara: {rate: 0.005}}"])
    iterations: Count = Field(description="How long.")
    episodes: dict[str, Any] = Field(default_factory=dict, examples=["{workload.requests: 32}"])
    """What differs in the episodes that it learns from, by dotted keys."""
    validation: Validation = Field(default_factory=Validation, description="How it is judged.")
    seeds: Count = Field(default=1, description="How many times it is trained, with a seed each.")
    seed: Index = Field(default=0, description="The first seed; the others follow it.")
