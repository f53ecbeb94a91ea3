"""Figures of a reproduction: a publication's own, by the kinds of `binwright figures`, and the values of its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from binwright.reproduction.claims import MISSES, Row, apart, by
from binwright.reproduction.measures import Runs
from binwright.simcore.errors import ResultsError, UserError

if TYPE_CHECKING:
    from binwright.analysis.figures.draw import Figure

FIGURES = "figures"
"""The folder of the figures, beside the pages."""
Material = Mapping[tuple[str, str], Runs | str]
"""Runs by experiment and condition, or why there are none."""


@dataclass(frozen=True)
class Drawing:
    """Declares a figure of a publication, or a part of one."""

    figure: str
    """The number as printed: `6`, or `2 to 8` for one set of plots that several figures repeat; empty for a table."""
    name: str
    """What its file is called behind the publication's name, such as `nara-azure`; no two of a publication the same."""
    title: str
    """What it shows, in a sentence without a full stop."""
    published: str = ""
    """What the publication prints there, in a sentence, and what differs in ours."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """`kind` of figure; `where`, of which conditions [(experiment, condition)], drawn as one; options of the kind."""

    def draw(self, given: Material) -> Figure:
        """Draw it, with the published names of agents; a `UserError` is the reason why it cannot be drawn."""
        from binwright.analysis.figures.draw import draw
        from binwright.analysis.results.combined import Together

        options = dict(self.options)
        kind, where, agents = options.pop("kind"), options.pop("where"), options.get("agents", ())
        runs = [_runs(given, *place) for place in where]
        return draw(Together([each.named(agents) for each in runs], [each.title for each in runs]), kind, **options)


def _runs(given: Material, experiment: str, condition: str) -> Runs:
    """Find the runs of a condition; a `ResultsError` says why there are none."""
    found = given.get((experiment, condition), "Its runs are not there.")
    if isinstance(found, str) or not len(found.results.done):
        why = found if isinstance(found, str) else "None of its runs finished."
        raise ResultsError(why, remedy="Run the whole publication.")
    return found


def slug(table: str) -> str:
    """Name the file of a table's dots."""
    return "-".join(["table", *table.replace(".", "-").replace(",", "").split()])


@dataclass(frozen=True)
class Dots(Drawing):
    """Declares the figure of a table: published as rings, ours as dots; metrics and conditions have panels."""

    rows: Sequence[Row] = ()

    def draw(self, given: Material) -> Figure:
        """Draw it."""
        from binwright.analysis.figures.dots import Dot, Panel, dots

        names, common = apart(self.rows)
        panels = by(zip(self.rows, names, strict=True), lambda pair: (pair[0].metric.replace("_", " "), pair[1]))
        found = []
        for (metric, condition), those in panels.items():
            of = [
                Dot(one.agent, one.ours or 0.0, one.low, one.high, one.published, one.spread, one.verdict in MISSES)
                for one, _ in those
            ]
            found.append(Panel(of, metric, condition))
        count, missed = len(set(names)), sum(one.verdict in MISSES for one in self.rows)
        columns = count if 1 < count <= 5 else 4 if count % 4 == 0 else 3
        whiskers = ", with 95 % intervals" if any(one.low is not None for one in self.rows) else ""
        caption = f"rings: published; dots: ours{whiskers}; shaded: not reproduced"
        title = f"{self.title.replace(':', ',', 1)}: {missed} of {len(self.rows)} not reproduced"
        return dots(found, title, caption="; ".join(filter(None, (common, caption))), columns=columns)


@dataclass(frozen=True)
class Picture:
    """Holds a figure as it was drawn, or why it was not."""

    publication: str
    drawing: Drawing
    kind: str = ""
    """`svg` or `png`; empty where it was not drawn."""
    content: bytes = b""
    why: str = ""

    def file(self, kind: str) -> str:
        """Name the file that it has, as `svg` or `png`, beside the pages."""
        return f"{self.publication}-{self.drawing.name}.{kind}"

    @property
    def heading(self) -> str:
        """Name the printed figure."""
        return f"Figure{'s' if ' ' in self.drawing.figure else ''} {self.drawing.figure}"


def pictures(publication: str, drawings: Sequence[Drawing], given: Material) -> list[Picture]:
    """Draw the figures of a publication."""
    from binwright.analysis.figures.chosen_style import style
    from binwright.analysis.figures.draw import image

    found = []
    for drawing in drawings:
        try:
            with style():
                figure = drawing.draw(given)
        except UserError as error:
            found.append(Picture(publication, drawing, why=error.problem))
        else:
            kind, content, _ = image(figure)
            found.append(Picture(publication, drawing, kind, content))
    return found
