"""The schema of entries of `metrics:`, of headings in place of names, and of how figures look."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from binwright.analysis.figures.venues import Venue
from binwright.analysis.measure.definition import Asked
from binwright.simcore.fields import Model, Share, Shown, Text, wrong

_REMEDY = "Write a name, or {name: {last: 20 %}} for the last part."


class MetricSpec(Model):
    """A metric beside those that every run has. Short forms: `mine.py:longest_queue`, `{acceptance: {last: 20 %}}`."""

    name: Text = Field(
        description="A registered name, `package.module:name`, or `file.py:name` relative to this file.",
        examples=["acceptance"],
    )
    last: Share | None = Field(
        default=None, description="Measure the last share of the offered requests; by default all.", examples=["20 %"]
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

    @property
    def asked(self) -> Asked:
        """What it asks for."""
        return Asked(self.name, self.last)


MetricEntry: TypeAlias = Annotated[MetricSpec, Shown("name, {name: {last: share}}, or [Metric](#metric)")]


class Figures(Model):
    """How figures of the results look, unless the command says otherwise."""

    style: Venue | None = Field(default=None, description="The venue: its fonts, widths and size of text.")
    width: Literal["column", "page"] | None = Field(
        default=None, description="One of the style's widths; by default each figure's own."
    )
    titles: bool = Field(
        default=True, strict=True, description="Whether figures have titles; captions can say the same."
    )
    format: Literal["png", "svg", "pdf"] = Field(default="png", description="What `binwright figures` writes.")
