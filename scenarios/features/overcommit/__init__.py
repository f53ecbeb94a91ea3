"""Overcommitment: how much more may be placed on servers than they have, by ratios or by predicted peaks."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
from pydantic import Discriminator, Field, Tag

from binwright.fabric.peak_predictors import (
    PEAK_PREDICTORS,
    LimitPeak,
    OraclePeak,
    PeakPredictor,
    PercentilePeak,
    Seen,
    SigmaPeak,
)
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.feature import Feature, Point
from binwright.simcore.errors import suggest
from binwright.simcore.fields import Model, PositiveNumber, Shown, wrong
from binwright.simcore.registered import Registered
from binwright.simcore.registry import Registry
from binwright.simcore.types import Floats
from binwright.simcore.unions import PlainOrMapping


class OtherPeak(Registered):
    """A predictor of peaks of your own: `{package.module:Class: {...}}` or `{file.py:Class: {...}}`."""

    registry: ClassVar[Registry] = PEAK_PREDICTORS
    what: ClassVar[str] = "peak predictor"
    base: ClassVar[type] = PeakPredictor

    @classmethod
    def prepare(cls, data: Any) -> Any:
        if isinstance(data, str):
            remedy = f"{suggest(data, ['oracle'])} Or write it like {{sigma: 5}}; there are {', '.join(KINDS)}."
            raise wrong("is no peak predictor", remedy)
        return data

    @classmethod
    def more(cls, data: Mapping[str, Any]) -> Iterable[str]:
        return (*KINDS, *cls.registry)


def _form(value: Any) -> str:
    if isinstance(value, PeakPredictor):
        return f"<{next(key for key, kind in KINDS.items() if isinstance(value, kind))}>"
    if value == "oracle":
        return "<oracle>"
    return next((f"<{key}>" for key in KINDS if isinstance(value, Mapping) and key in value), "<other>")


Peak: TypeAlias = Annotated[
    Annotated[PercentilePeak, Tag("<percentile>")]
    | Annotated[SigmaPeak, Tag("<sigma>")]
    | Annotated[LimitPeak, Tag("<limit>")]
    | Annotated[OraclePeak, Tag("<oracle>")]
    | Annotated["MaxPeak", Tag("<max>")]
    | Annotated[OtherPeak, Tag("<other>")],
    Discriminator(_form),
    Shown(
        "[PercentilePeak](#percentilepeak), [SigmaPeak](#sigmapeak), [LimitPeak](#limitpeak), `oracle` or "
        "[OraclePeak](#oraclepeak), [MaxPeak](#maxpeak), or [OtherPeak](#otherpeak)"
    ),
]


class MaxPeak(Model, PeakPredictor):
    """The highest of several predictions."""

    max: tuple[Peak, ...] = Field(
        description="The predictors.", min_length=1, examples=["[{sigma: 5}, {percentile: 99}]"]
    )
    reference: ClassVar[str] = "max predictor in Bashir and others 2021, EuroSys"

    @property
    def back(self) -> float:
        return max(predictor.back for predictor in self.predictors)

    @property
    def ahead(self) -> float:
        return max(predictor.ahead for predictor in self.predictors)

    def peaks(self, seen: Seen) -> Floats:
        result: Floats = np.max([predictor.peaks(seen) for predictor in self.predictors], axis=0)
        return result

    @cached_property
    def predictors(self) -> list[PeakPredictor]:
        """The predictors, each made once: your own may remember what it saw."""
        return [predictor_of(each) for each in self.max]


KINDS: dict[str, type[PeakPredictor]] = {
    "percentile": PercentilePeak,
    "sigma": SigmaPeak,
    "limit": LimitPeak,
    "oracle": OraclePeak,
    "max": MaxPeak,
}


def predictor_of(peak: Any) -> PeakPredictor:
    """Make the predictor that a scenario names."""
    result: PeakPredictor = peak.build() if isinstance(peak, OtherPeak) else peak
    return result


class Predict(Model):
    """Requests are admitted where the predicted peak of a server and what they ask for fit together."""

    predict: Peak = Field(description="How peaks are predicted.", examples=["{percentile: 99, window: 24 h}", "oracle"])


Ratio: TypeAlias = Annotated[PositiveNumber, Field(le=100)]
Ratios: TypeAlias = Annotated[dict[str, Ratio], Shown("{resource: number above 0}")]
RatiosOrPeaks: TypeAlias = Annotated[
    dict[str, Annotated[Ratio | Predict, PlainOrMapping()]], Shown("{resource: number above 0, or [Predict](#predict)}")
]
MaxPeak.model_rebuild()


class _Keys(Model):
    overcommit: RatiosOrPeaks = Field(
        default_factory=dict,
        description="This multiple of a resource may be placed, or as much as predicted peaks leave. Power and "
        "metrics go by what is installed.",
        examples=["{cpu: 3, mem: 1.2}", "{cpu: {predict: {max: [{sigma: 5}, {percentile: 99}]}}}"],
    )


class _Feature(Feature):
    key = "cluster.overcommit"
    keys: ClassVar = {"cluster": _Keys}
    learned = False
    name = "predicted peaks"
    excludes: ClassVar = {
        "pacing": "use goes by the clock",
    }

    def stepped(self, scenario: Any, together: bool) -> str:
        return "peaks are predicted while a run goes on"

    def section(self, scenario: Any) -> Any:
        return scenario.cluster.predicted

    def at(self, scenario: Any) -> str:
        return f"cluster.overcommit.{next(iter(scenario.cluster.predicted))}"

    def check(self, scenario: Any) -> None:
        for name, how in scenario.cluster.predicted.items():
            if not isinstance(how.predict, LimitPeak) and not scenario.use:
                remedy = "Say it, like workload: {use: {cpu: {mean: 30 %, peak: 80 %}}}."
                problem = "predicts what requests use, but no use is known"
                raise wrong(problem, remedy, ("cluster", "overcommit", name, "predict"))

    def attach(self, point: Point, simulation: Simulation) -> None:
        simulation.ledger.peaks.watch(simulation)


FEATURE = _Feature()
