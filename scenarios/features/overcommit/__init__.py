"""Overcommitment: how much more may be placed on servers than they have, by ratios or by predicted peaks."""

from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
from pydantic import BeforeValidator, Field

from binwright.fabric.peak_predictors import LimitPeak, OraclePeak, PeakPredictor, PercentilePeak, Seen, SigmaPeak
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.feature import Feature, Point
from binwright.simcore.fields import Model, PositiveNumber, Shown, wrong
from binwright.simcore.types import Floats
from binwright.simcore.unions import ByKey, PlainOrMapping

KINDS = ("percentile", "sigma", "limit", "oracle")
OF_KEYS = "[PercentilePeak](#percentilepeak), [SigmaPeak](#sigmapeak), [LimitPeak](#limitpeak), `oracle` or "


def _oracle(value: Any) -> Any:
    return {"oracle": "24 h"} if value == "oracle" else value


OnePeak: TypeAlias = Annotated[
    PercentilePeak | SigmaPeak | LimitPeak | OraclePeak,
    ByKey(KINDS, "is no peak predictor", "{sigma: 5}"),
    BeforeValidator(_oracle),
    Shown(f"{OF_KEYS}[OraclePeak](#oraclepeak)"),
]


class MaxPeak(PeakPredictor):
    """The highest of several predictions."""

    max: tuple[OnePeak, ...] = Field(min_length=1, examples=["[{sigma: 5}, {percentile: 99}]"])
    """The predictors."""

    @property
    def back(self) -> float:
        return max(predictor.back for predictor in self.max)

    @property
    def ahead(self) -> float:
        return max(predictor.ahead for predictor in self.max)

    def peaks(self, seen: Seen) -> Floats:
        peaks: Floats = np.max([predictor.peaks(seen) for predictor in self.max], axis=0)
        return peaks


Peak: TypeAlias = Annotated[
    PercentilePeak | SigmaPeak | LimitPeak | OraclePeak | MaxPeak,
    ByKey((*KINDS, "max"), "is no peak predictor", "{sigma: 5}, or write oracle"),
    BeforeValidator(_oracle),
    Shown(f"{OF_KEYS}[OraclePeak](#oraclepeak), or [MaxPeak](#maxpeak)"),
]


class Predict(Model):
    """Requests are admitted where the predicted peak of a server and what they ask for fit together."""

    predict: Peak = Field(description="How peaks are predicted.", examples=["{percentile: 99, window: 24 h}", "oracle"])


Ratio: TypeAlias = Annotated[PositiveNumber, Field(le=100)]
RatiosOrPeaks: TypeAlias = Annotated[
    dict[str, Annotated[Ratio | Predict, PlainOrMapping()]], Shown("{resource: number above 0, or [Predict](#predict)}")
]


class _Keys(Model):
    overcommit: RatiosOrPeaks = Field(
        default_factory=dict, examples=["{cpu: 3, mem: 1.2}", "{cpu: {predict: {max: [{sigma: 5}, {percentile: 99}]}}}"]
    )
    """This multiple of a resource may be placed, or as much as predicted peaks leave. Power and metrics go by what is
    installed."""


class _Feature(Feature):
    key = "cluster.overcommit"
    keys: ClassVar = {"cluster": _Keys}
    learned = False
    name = "predicted peaks"
    excludes: ClassVar = {"pacing": "use goes by the clock"}

    def stepped(self, scenario: Any, together: bool) -> bool:
        return True

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
