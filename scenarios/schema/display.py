"""The schema of what is said for people only: headings in place of names, and how figures look."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from analysis.figures.venues import VENUES, inches
from simcore.fields import Model, PositiveNumber, Text, checked, wrong

NEAR = 0.85
"""A name of nothing that is as near to a known one is a mistake; others are of agents or points of another day."""


def _size(text: str) -> str:
    inches(text)
    return text


class Figures(Model):
    """How figures of the results look, unless the command says otherwise."""

    style: Text | None = Field(
        default=None,
        description=f"A venue ({', '.join(VENUES)}), a style of matplotlib by name, or a file of one, relative to this "
        "file.",
        examples=["ieee", "mine.mplstyle"],
    )
    width: Literal["column", "page"] | None = Field(
        default=None, description="One of the style's widths; by default each figure's own."
    )
    size: Annotated[Text, AfterValidator(checked(_size))] | None = Field(
        default=None, description="Width x height of every figure, in inches or with a unit.", examples=["84x56 mm"]
    )
    font: Text | None = Field(default=None, description="The family of all text.", examples=["Times New Roman"])
    text: Annotated[PositiveNumber, Field(le=100)] | None = Field(
        default=None, description="The size of text, in points; ticks have a little less."
    )
    titles: bool = Field(
        default=True, strict=True, description="Whether figures have titles; captions can say the same."
    )
    format: Literal["png", "svg", "pdf"] = Field(default="png", description="What `binwright figures` writes.")


def headings_of(headings: Mapping[str, str], called: Mapping[str, str]) -> dict[str, str]:
    """Return headings by what results call things: `mine.py:Mine`, whose path is absolute here, is an agent's name.

    `called` has what agents and metrics from files are called in results.
    """
    usual = {name: Path(name).name if ".py:" in name else name for name in headings}
    by_file = {called.get(name, usual[name]): text for name, text in headings.items() if usual[name] != name}
    return {**by_file, **{name: text for name, text in headings.items() if usual[name] == name}}


def check_headings(headings: Mapping[str, str], known: Collection[str]) -> None:
    """Refuse a heading of a name that is nearly one that is known."""
    for name in headings:
        if name not in known and (near := get_close_matches(name, known, n=1, cutoff=NEAR)):
            raise wrong("is no agent, swept key or metric", f"Did you mean {near[0]!r}?", ("headings", name))
