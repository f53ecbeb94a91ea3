"""Figures that publications print, drawn from our runs; and a table's values beside ours, as dots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from binwright.reproduction.claims import Value
from binwright.reproduction.measures import Runs
from binwright.simcore.errors import ResultsError, UserError

if TYPE_CHECKING:
    from binwright.analysis.figures.draw import Figure


@dataclass(frozen=True)
class Material:
    """Holds what the figures of a publication are drawn from.

    `runs` are by experiment and condition, or say why there are none; `values` is what was measured, by condition,
    agent and metric.
    """

    runs: Mapping[tuple[str, str], Runs | str] = field(default_factory=dict)
    values: Mapping[tuple[str, str, str], Value | str] = field(default_factory=dict)

    def of(self, experiment: str, condition: str) -> Runs:
        """Find the runs of a condition; a `ResultsError` says why there are none."""
        found = self.runs.get((experiment, condition), "Its runs are not there.")
        if isinstance(found, str) or not len(found.results.done):
            why = found if isinstance(found, str) else "None of its runs finished."
            raise ResultsError(why, remedy="Run the whole publication.")
        return found

    def value(self, condition: str, agent: str, metric: str) -> Value | None:
        """Find a value that was measured."""
        found = self.values.get((condition, agent, metric))
        return found if isinstance(found, Value) else None


@dataclass(frozen=True)
class Drawing:
    """Declares a figure of a publication, or a part of one."""

    figure: str
    """The number as printed: `6`, or `2 to 8` for one set of plots that several figures repeat; empty for a table."""
    name: str
    """What its file is called behind the publication's name, such as `nara-azure`; no two of a publication the same."""
    title: str
    """What it shows, in a sentence without a full stop."""
    draw: Callable[..., Figure]
    """Draws it from `Material` and `options`; a `UserError` that it raises is the reason why it cannot be drawn."""
    published: str = ""
    """What the publication prints there, in a sentence, and what differs in ours."""
    options: Mapping[str, Any] = field(default_factory=dict)


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
                figure = drawing.draw(given, **drawing.options)
        except UserError as error:
            found.append(Picture(publication, drawing, why=error.problem))
        else:
            kind, content, _ = image(figure)
            found.append(Picture(publication, drawing, kind, content))
    return found


def intervals(values: Iterable[Value]) -> str:
    """Say for a caption of how many seeds the intervals of values are: `95 % intervals, 2 to 10 seeds`."""
    seeds = sorted({one.seeds for one in values if one.low is not None})
    return f"95 % intervals, {' to '.join(map(str, dict.fromkeys((seeds[0], seeds[-1]))))} seeds" if seeds else ""


def of_kind(
    given: Material, kind: str, where: Sequence[Sequence[str]], agents: Sequence[str] = (), **options: Any
) -> Figure:
    """Draw a kind of `binwright figures`, of the runs of conditions `where` [(experiment, condition)], drawn as one.

    Agents have their published names, also in `agents` (default: all); the other options are those of the kind.
    """
    from binwright.analysis.figures.draw import draw
    from binwright.analysis.results.combined import Together

    found = [given.of(*one) for one in where]
    return draw(Together([runs.named(agents) for runs in found], [runs.title for runs in found]), kind, **options)
