"""The schema of what agents may know of requests before these have ended."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from scenarios.schema.registered import Registered
from scenarios.schema.starts import Rows
from simcore.fields import Count, Model, Number, OneOf, Shown, Text, checked, word_or, wrong
from simcore.predictor import Predictor
from simcore.registry import Registry
from workloads import PREDICTORS


class Noise(Model):
    """Predictions are the truth times a random factor, whose logarithm is normal."""

    sigma: Number = Field(
        le=10, description="Standard deviation of the factor's natural logarithm; 0 is the truth.", examples=[1]
    )


class Survival(Model):
    """Predictions are the median lifetime of others of the same kind that stayed as long."""

    by: Text = Field(
        default="flavour",
        description="The kinds: `flavour` for equal demands, `group`, or a label of the requests, such as `tenant`.",
        examples=["tenant"],
    )
    least: Count = Field(default=30, description="Kinds of fewer requests share the table of all.", examples=[100])


class Predicted(Registered):
    """How lifetimes are predicted: one of these, `{package.module:Class: {...}}` or `{file.py:Class: {...}}`."""

    registry: ClassVar[Registry] = PREDICTORS
    what: ClassVar[str] = "predictor"
    noise: Noise | None = Field(default=None, description="The truth times a random factor.", examples=["{sigma: 1}"])
    survival: Survival | None = Field(
        default=None, description="A table of how long others stayed.", examples=["{by: flavour}"]
    )

    @classmethod
    def check(cls, name: str, options: Any) -> None:
        super().check(name, options)
        found = checked(PREDICTORS.load, (name,))(name)
        if not (isinstance(found, type) and issubclass(found, Predictor)):
            raise wrong("is not a predictor", "Name a subclass of binwright.Predictor.", (name,))


class OtherLifetimes(OneOf):
    """What agents know of lifetimes."""

    what: ClassVar[str] = "way to know"
    predicted: Predicted | None = Field(
        default=None, description="Agents get predictions.", examples=["{noise: {sigma: 1}}"]
    )


def _form(value: Any) -> str:
    return "<more>" if isinstance(value, dict | OtherLifetimes) else "<word>"


Known: TypeAlias = Annotated[
    Annotated[Literal["known", "hidden"], BeforeValidator(word_or(OtherLifetimes, "known", "hidden")), Tag("<word>")]
    | Annotated[OtherLifetimes, Tag("<more>")],
    Discriminator(_form),
    Shown("`known`, `hidden` or {predicted: [Predicted](#predicted)}"),
]


class Knowledge(Model):
    """What agents may know of requests that have not ended."""

    lifetimes: Known = Field(
        default="hidden",
        description="How long each stays: agents know it (`known`), may not ask (`hidden`), or get predictions, also "
        "again while it runs.",
        examples=["known", "{predicted: {noise: {sigma: 1}}}", "{predicted: {survival: {by: flavour}}}"],
    )
    training: Rows | None = Field(
        default=None,
        description="First row of the trace that predictors learn from, and the row after the last; by default all "
        "rows before the first possible start. Of generated requests, they learn from other seeds.",
        examples=["[0, 50000]"],
    )

    @model_validator(mode="after")
    def _somebody_learns(self) -> Self:
        if self.training is not None and not isinstance(self.lifetimes, OtherLifetimes):
            raise wrong("nothing is predicted", "Remove it, or say how lifetimes are predicted.", ("training",))
        return self
