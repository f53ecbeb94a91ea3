"""Figures of results: `draw(results, "bars")` gives a matplotlib figure, `save` writes it; `KINDS` are all there are.

A kind is one short module with a function `draw`, imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

from matplotlib.figure import Figure

from analysis.figures.chosen import Chosen, Options
from analysis.figures.style import COLOURS as COLOURS
from analysis.figures.style import save as save
from analysis.figures.style import style, write
from analysis.results.folder import ResultsFolder
from analysis.results.together import Together
from simcore.errors import ResultsError, suggest

FORMATS = ("png", "svg", "pdf")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of figure: where its `draw` is, what it shows, what it needs, and whether it is drawn from `results`
    or from the folders of a `training`.
    """

    module: str
    meaning: str
    needs: str
    source: Literal["results", "training"] = "results"

    def draw(self, given: Any, **options: Any) -> Figure:
        """The figure of results (or of training folders); `options` are those of `chosen.Options`."""
        function = import_module(f"analysis.figures.kinds.{self.module}").draw
        asked = Options(**options)
        with style():
            figure: Figure = function(given, asked) if self.source == "training" else function(Chosen(given, asked))
        return figure


KINDS = {
    "summary": Kind(
        "summary", "paired differences to the first agent, then the table, a panel per metric", "what differs"
    ),
    "bars": Kind("bars", "acceptance and utilisation, a bar per agent", "any results"),
    "timeline": Kind("timeline", "utilisation over time, with expansion and failures", "record: [samples]"),
    "sweep": Kind("sweep", "any metric over a swept number, a line per agent", "a sweep over numbers"),
    "warm-start": Kind("warm_start", "allocation over the warm-start ratio", "a sweep over warm_start.until"),
    "length": Kind("length", "scheduled length over servers", "overflow: stop, a sweep over cluster.servers"),
    "load": Kind("load", "acceptance over the load", "a sweep that changes the load"),
    "runtime": Kind("runtime", "time of a decision over servers", "a sweep that changes how many servers there are"),
    "decisions": Kind("decisions", "time of every decision of one seed, in their order", "record: [times]"),
    "demands": Kind("demands", "densities of what the requests asked for", "record: [requests]"),
    "spread": Kind("spread", "share of placements by span, a bar per agent", "a network"),
    "scatter": Kind("scatter", "demand of the placed requests, coloured by span", "a network, record: [requests]"),
    "bubbles": Kind("bubbles", "servers per request against span", "a network, record: [requests]"),
    "topology": Kind("topology", "the network coloured by link load at a moment", "a network, record: [states]"),
    "critical-difference": Kind(
        "critical_difference",
        "average ranks, and which of them can be told apart",
        "three agents or more, and points, scenarios or seeds to rank them on",
    ),
    "learning": Kind("learning", "learning curves, mean over the seeds", "folders with a log.parquet", "training"),
}
"""Every kind of figure, by name."""


def draw(results: ResultsFolder | Sequence[ResultsFolder], kind: str, **options: Any) -> Figure:
    """The figure of this kind. Several results are drawn as one, their scenarios as points.

    Options (`metrics`, `agents`, `where`, `x`, `at`, `width`) are those of `chosen.Options`.
    """
    if kind not in KINDS:
        raise ResultsError("unknown kind of figure", key=f"--kind {kind}", remedy=suggest(kind, KINDS))
    parts = [results] if isinstance(results, ResultsFolder) else list(results)
    return KINDS[kind].draw(parts[0] if len(parts) == 1 else Together(parts), **options)


def svg(figure: Figure) -> str:
    """The figure as the text of an `<svg>` element, to be put into a page."""
    file = BytesIO()
    write(figure, file, "svg")
    text = file.getvalue().decode()
    return text[text.index("<svg") :]


def summary(results: ResultsFolder) -> Path | None:
    """Draw the table into the results' folder, and return the PNG's path; None where it says nothing, or too much."""
    try:
        figure = draw(results, "summary")
    except ResultsError:
        return None
    return save(figure, results.folder / "figures" / "summary.png")
