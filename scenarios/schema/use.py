"""The schema of `workload.use`: what share of what they ask for requests use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from binwright.scenarios.schema.server_files import known_resources
from binwright.simcore.fields import Model, PositiveTime, Shown, wrong
from binwright.simcore.json_schema import Schema
from binwright.simcore.types import Workload
from binwright.simcore.unions import ByKey
from binwright.workloads.use import UseByResource
from binwright.workloads.use_models import SHARE_OR_LABEL, ConstantUse, VaryingUse, draw_use
from binwright.workloads.use_series import RECORDED, RecordedCase


@dataclass(frozen=True, slots=True)
class _ShareOrCases:
    """Reads a share, or a mapping, as the only case of a list."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def listed(value: Any) -> Any:
            if isinstance(value, list | tuple):
                return value
            return [value if isinstance(value, Mapping | Model) else {"share": value}]

        return handler.generate_schema(Annotated[source, BeforeValidator(listed)])

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        cases = handler(core)
        return {"anyOf": [*SHARE_OR_LABEL, cases["items"], cases]}


FORMS = ("share", "mean", "path")
"""The keys that tell cases apart."""
Case: TypeAlias = ConstantUse | VaryingUse | RecordedCase
Cases: TypeAlias = Annotated[
    tuple[Annotated[Case, ByKey(FORMS, "says no use", "{mean: 25 %}")], ...],
    _ShareOrCases(),
    Shown(
        "share, [ConstantUse](#constantuse), [VaryingUse](#varyinguse), [RecordedCase](#recordedcase), or list of these"
    ),
]


class UseSpec(Model):
    """What share of what they ask for requests use, by resource. A share or case alone is of all resources.

    Every key that is not listed here is a resource: `{cpu: 40 %, mem: {mean: 60 %, peak: 90 %}}`.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Cases] = Field(init=False)

    step: PositiveTime = Field(
        default=300.0, ge=1, description="For how long what is used stays the same.", examples=["5 min"]
    )
    others: Cases = Field(
        default=(),
        description="The use of resources that are not named; by default all that is requested.",
        examples=["80 %"],
    )

    @classmethod
    def prepare(cls, data: Any) -> Any:
        written = data if isinstance(data, Mapping) else {"others": data}
        for key, cases in written.items():
            if cases in ([], ()) and not (written is data and key == "others"):
                keys = (key,) if written is data else ()
                raise wrong("says no use", "Give a share or a case, like {mean: 25 %}, or take it out.", keys)
        if isinstance(data, Mapping):
            return {"others": data} if {*FORMS} & {*data} else data
        return {"others": data} if isinstance(data, str | int | float | list) and not isinstance(data, bool) else data

    @classmethod
    def takes(cls, key: str, data: Mapping[str, Any]) -> bool:
        return True

    @classmethod
    def outline(cls, own: Schema) -> Schema:
        cases = own["properties"]["others"]
        some = {**cases, "not": {"type": "array", "maxItems": 0}}
        return {"anyOf": [some, {**own, "additionalProperties": some}]}

    @property
    def cases(self) -> dict[str, tuple[Case, ...]]:
        """The cases of each resource that is named."""
        return dict(self.model_extra or {})

    @property
    def wheres(self) -> list[tuple[tuple[str | int, ...], dict[str, list[str]]]]:
        """Of whom each case is, and the keys that say it."""
        cases = {"others": self.others, **self.cases}
        return [(("workload", "use", name, n, "of"), one.of) for name in cases for n, one in enumerate(cases[name])]

    @property
    def every(self) -> list[Case]:
        """The cases of all resources."""
        return [case for cases in (self.others, *self.cases.values()) for case in cases]

    @property
    def labels(self) -> list[str]:
        """The labels that say shares."""
        return list(dict.fromkeys(label for case in self.every for label in case.labels()))

    @property
    def drawn(self) -> bool:
        """Whether what they use depends on the seed."""
        return any(isinstance(case, VaryingUse) for case in self.every)

    def draw(self, base: Workload, seed: int, cache: Path | None = None) -> UseByResource:
        """Draw what the requests of a workload use; what traces recorded is kept in the folder `cache`."""
        return draw_use(base, self.step, self.cases, self.others, seed, cache)

    def check(self, resources: tuple[str, ...]) -> None:
        """Refuse resources that the cluster does not have."""
        known_resources(self.cases, resources, ("workload", "use"), tuple(UseSpec.known()))
        for name, cases in self.cases.items():
            for n, case in enumerate(cases):
                if isinstance(case, RecordedCase) and case.trace and name not in RECORDED[case.trace]:
                    remedy = f"It records {' and '.join(RECORDED[case.trace])}."
                    raise wrong("the trace does not say its use", remedy, ("workload", "use", name, n, "trace"))


class Using(Model):
    """Requests of which may be said what they use."""

    use: UseSpec | None = Field(
        default=None,
        description="What requests use of what they ask for; by default all.",
        examples=["40 %", "{cpu: {mean: 25 %, daily: 40 %}, mem: 80 %}"],
    )
