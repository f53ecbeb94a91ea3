"""Overcommitment: how much more may be placed on servers than they have, by ratios or by predicted peaks."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import BeforeValidator, Field

from binwright.fabric.ledger import MakeBook
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.feature import Feature, Point
from binwright.scenarios.features.overcommit.book import PeakBook
from binwright.scenarios.features.overcommit.predictors import LimitPeak, OraclePeak, PercentilePeak, SigmaPeak
from binwright.scenarios.features.server_labels import ServerLabels
from binwright.simcore.fields import Model, PositiveNumber, Shown, wrong
from binwright.simcore.unions import ByKey, PlainOrMapping


def _oracle(value: Any) -> Any:
    return {"oracle": "24 h"} if value == "oracle" else value


Peak: TypeAlias = Annotated[
    PercentilePeak | SigmaPeak | LimitPeak | OraclePeak,
    ByKey(("percentile", "sigma", "limit", "oracle"), "is no peak predictor", "{sigma: 5}, or write oracle"),
    BeforeValidator(_oracle),
    Shown(
        "[PercentilePeak](#percentilepeak), [SigmaPeak](#sigmapeak), [LimitPeak](#limitpeak), `oracle` or "
        "[OraclePeak](#oraclepeak)"
    ),
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
        default_factory=dict, examples=["{cpu: 3, mem: 1.2}", "{cpu: {predict: {sigma: 5}}}"]
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

    def books(self, scenario: Any, labels: ServerLabels) -> Mapping[str, MakeBook]:
        predicted = scenario.cluster.predicted.items()
        predictors = {scenario.resources.index(name): how.predict for name, how in predicted}
        return {"peaks": partial(PeakBook, predictors=predictors)}

    def attach(self, point: Point, simulation: Simulation) -> None:
        simulation.ledger.peaks.watch(simulation)


FEATURE = _Feature()
