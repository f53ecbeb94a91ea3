"""Defines what `binwright train` asks of a trainer, and types for its settings, checked where scenarios give them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import Field

from binwright.agents.learned.common.tensors import Tensors, extra
from binwright.agents.world import World
from binwright.simcore.errors import UserError

Count: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=100_000_000)]
CountFromZero: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=100_000_000)]
Positive: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
FromZero: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
PositiveShare: TypeAlias = Annotated[float, Field(gt=0, le=1)]


TRAINING = 2**40
"""Seeds of training requests start here: far from those of any scenario."""


class Trainer(ABC):
    """Trains one agent. Constructor arguments are the settings of the YAML; ours are the fields of dataclasses.

    What happens in iteration n depends on the seed, on n, and on what `save` saves: nothing else is needed to go on.
    """

    score: ClassVar[str] = "acceptance"
    """Which metric of `validate` is to be as large as possible."""
    warms: ClassVar[bool] = False
    """Whether its episodes begin as the scenario's `warm_start` says; a scenario with one is refused otherwise."""

    @abstractmethod
    def begin(self, training: World, validation: World, seed: int, device: str) -> None:
        """Make what is trained."""

    @abstractmethod
    def iterate(self, iteration: int) -> dict[str, float]:
        """Train for one iteration and return metrics. Iterations count from 1."""

    @abstractmethod
    def validate(self, seeds: Sequence[int]) -> dict[str, float]:
        """Return metrics of the agent, as it would be used, on the validation requests of these seeds."""

    @abstractmethod
    def save(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that training goes on from: arrays, and note that JSON can hold."""

    @abstractmethod
    def load(self, tensors: Tensors, notes: dict[str, Any]) -> None:
        """Go on from what `save` returned."""

    def met(self) -> dict[str, Any]:
        """Return notes about what was learned on: servers and requests."""
        return {}

    @abstractmethod
    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        """Return what the agent needs in use: arrays, and note that say what they are for."""


class ValidatesAnywhere(Trainer):
    """Trains an agent that is validated in other worlds, too: for `also` in a scenario's `validation`."""

    @abstractmethod
    def validate_in(self, world: World, seeds: Sequence[int]) -> dict[str, float]:
        """Return the metrics of `validate` in this world."""


def device_for(asked: Literal["auto", "cpu", "cuda"]) -> str:
    """Return the device to train on: CUDA if there is any, unless something else was asked for."""
    there = extra("torch").cuda.is_available()
    if asked == "cuda" and not there:
        raise UserError(
            "there is no CUDA device here", key="train.device", value=asked, remedy="Write `device: auto` or `cpu`."
        )
    return "cuda" if there and asked != "cpu" else "cpu"
