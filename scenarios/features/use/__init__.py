"""Use: what share of what they ask for requests use, and who gets it where a server has too little."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field

from binwright.analysis.measure.contention import over_time
from binwright.scenarios.features.feature import Feature, Named, chosen
from binwright.simcore.fields import Model, Quantity, Shown, checked, known_resources, wrong
from binwright.simcore.units import SHARE, TIME
from binwright.simcore.workload import Workload
from binwright.workloads.use import UseCase, draw_use


def _listed(value: Any) -> Any:
    """Read a share, or a mapping, as the only case of a list; a share is used all the time."""
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, Mapping | Model):
        return [value]
    share = checked(SHARE.parse)(value)
    return [{"mean": share, "peak": share}]


Cases: TypeAlias = Annotated[
    tuple[UseCase, ...], BeforeValidator(_listed), Shown("share, [UseCase](#usecase), or list of these")
]


class UseSpec(Model):
    """What share of what they ask for requests use, by resource. A share or case alone is of all resources.

    Every key that is not listed here is a resource: `{cpu: 40 %, mem: {mean: 60 %, peak: 90 %}}`.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Cases] = Field(init=False)

    step: Annotated[float, Quantity("time from 1 s", TIME, least="1 s")] = 300.0
    """For how long what is used stays the same."""
    others: Cases = Field((), examples=["80 %"])
    """The use of resources that are not named; by default all that is requested."""

    @classmethod
    def prepare(cls, data: Any) -> Any:
        one_case = {"mean", "path"}  # `path` is gone, and no resource
        several = isinstance(data, UseSpec) or (isinstance(data, Mapping) and one_case.isdisjoint(data))
        return data if several else {"others": data}

    @classmethod
    def takes(cls, key: str, data: Mapping[str, Any]) -> bool:
        return True

    @property
    def cases(self) -> dict[str, tuple[UseCase, ...]]:
        """The cases of each resource that is named."""
        return dict(self.model_extra or {})

    @property
    def every(self) -> list[UseCase]:
        """The cases of all resources."""
        return [case for cases in (self.others, *self.cases.values()) for case in cases]

    @property
    def labels(self) -> list[str]:
        """The labels that say shares."""
        return list(dict.fromkeys(label for case in self.every for label in case.labels))


class _Workload(Model):
    use: UseSpec | None = Field(None, examples=["40 %", "{cpu: {mean: 25 %, daily: 40 %}, mem: 80 %}"])
    """What requests use of what they ask for; by default all."""


class _Feature(Feature):
    key = "workload.use"
    keys: ClassVar = {"workload": _Workload}
    details: ClassVar = {"use": over_time}

    def section(self, scenario: Any) -> UseSpec | None:
        return getattr(scenario.workload, "use", None)

    def check(self, scenario: Any) -> None:
        cases, others = scenario.workload.use.cases, tuple(UseSpec.known())
        known_resources(cases, scenario.resources, ("workload", "use"), others)

    def check_keys(self, scenario: Any) -> None:
        if not self.section(scenario) and "use" in scenario.record:
            raise wrong("no use is known", "Take use out, or write `workload.use`.", ("record",), "use")

    def names(self, scenario: Any) -> list[Named]:
        spec, at = self.section(scenario), ("workload", "use")
        cases = {"others": spec.others, **spec.cases} if spec else {}
        return [
            each
            for name in cases
            for n, case in enumerate(cases[name])
            for each in chosen((*at, name, n, "of"), case.of)
        ]

    def draws(self, scenario: Any) -> bool:
        return any(case.mean != case.peak for case in scenario.workload.use.every)

    def alter(self, scenario: Any, requests: Workload, seed: int) -> Workload:
        spec: UseSpec = scenario.workload.use
        return replace(requests, use=draw_use(requests, spec.step, spec.cases, spec.others, seed))


FEATURE = _Feature()
