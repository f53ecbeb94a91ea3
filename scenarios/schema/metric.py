"""The schema of entries of `metrics:`, of headings in place of names, and of how figures look."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from binwright.analysis.figures import Venue
from binwright.analysis.measure.definition import MetricSpec
from binwright.simcore.fields import Model, Shown

MetricEntry: TypeAlias = Annotated[MetricSpec, Shown("name, {name: {last: share}}, or [Metric](#metric)")]


class Figures(Model):
    """How figures of the results look, unless the command says otherwise."""

    style: Venue | None = Field(default=None, description="The venue: its fonts, widths and size of text.")
    width: Literal["column", "page"] | None = None
    """One of the style's widths; by default each figure's own."""
    titles: bool = Field(default=True, strict=True)
    """Whether figures have titles; captions can say the same."""
    format: Literal["png", "svg", "pdf"] = Field(default="png", description="What `binwright figures` writes.")
