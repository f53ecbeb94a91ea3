"""The schema of one entry of `metrics:`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from analysis.measure import BUILT_IN, METRICS
from analysis.measure.definition import Asked
from simcore.fields import Model, Share, Shown, Text, Where, wrong
from simcore.json_schema import PLUGIN, Schema, mapping

_REMEDY = "Write a name, or {name: {last: 20 %}} for the last part, {name: {by: {tenant: [a, b]}}} by class."


class MetricSpec(Model):
    """A metric beside those that every run has. Short forms: `mine.py:longest_queue`, `{acceptance: {last: 20 %}}`."""

    name: Text = Field(
        description="A registered name, `package.module:name`, or `file.py:name` relative to this file.",
        examples=["acceptance"],
    )
    last: Share | None = Field(
        default=None,
        description="Measure the last share of the offered requests; by default all.",
        examples=["20 %"],
    )

    by: Where = Field(
        default_factory=dict,
        description="Of waits, turnarounds and slowdowns: a column for the requests of each of these values of a "
        "label, of `priority`, `group`, or of `queue`.",
        examples=["{queue: [short, long]}"],
    )

    @classmethod
    def prepare(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"name": data}
        if not isinstance(data, Mapping):
            raise wrong("is not a metric", _REMEDY)
        if "name" in data or len(data) != 1:
            return data
        [(name, options)] = data.items()
        if options is not None and not isinstance(options, Mapping):
            raise wrong("does not say which part of the requests", _REMEDY, (name,), options)
        return {"name": name, **(options or {})}

    @classmethod
    def outline(cls, own: Schema) -> Schema:
        added: Schema = {"anyOf": [{"type": "string", "pattern": PLUGIN}]}
        if others := sorted(set(METRICS) - set(BUILT_IN)):
            added["anyOf"].append({"enum": others})
        ours: Schema = {"enum": sorted(BUILT_IN)}  # every run has them whole
        last = {key: own["properties"][key] for key in ("last", "by")}
        forms = [added]
        for name, needed in ((added, []), (ours, ["last"]), (ours, ["by"])):
            short = {"type": "object", "propertyNames": name, "minProperties": 1, "maxProperties": 1}
            forms.append(mapping({"name": name, **last}, ["name", *needed]))
            forms.append({**short, "additionalProperties": mapping(last, needed)})
        return {"anyOf": forms, "description": "A name, {name: {last: 20 %}}, or a mapping with name and last."}

    @property
    def asked(self) -> Asked:
        """What it asks for."""
        return Asked(self.name, self.last, tuple((label, tuple(values)) for label, values in self.by.items()))


MetricEntry: TypeAlias = Annotated[MetricSpec, Shown("name, {name: {last: share}}, or [Metric](#metric)")]
