"""A kind of figure: what draws it, what it shows, and what it needs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from matplotlib.figure import Figure as Figure  # for those who may not import matplotlib

from binwright.analysis.figures import FIGURES
from binwright.analysis.figures.figure_data import LOOK, FigureData, Options
from binwright.analysis.figures.style import finish, rendered, save, style
from binwright.analysis.results.folder import ResultsFolder, combined
from binwright.simcore.errors import ResultsError, UnknownName, UserError, place_in, short
from binwright.simcore.extras import pl

Source = Literal["results", "training"]
ANY = "any results"


@dataclass(frozen=True)
class Kind:
    """Draws figures of one kind, from results or from the folders of a training, and says what they show and need."""

    function: Callable[[Any, Options], Figure]
    meaning: str
    needs: str = ANY
    source: Source = "results"

    def draw(self, source: Any, **options: Any) -> Figure:
        """Draw the figure of results, or of training folders; `options` are those of `Options`.

        What the function raises becomes a ResultsError, as that of others may raise anything.
        """
        of_scenario = source.look if isinstance(source, ResultsFolder) and options.get("style") is None else {}
        looks = {name: of_scenario[name] for name in LOOK if name in of_scenario}
        name = getattr(self.function, "__name__", type(self.function).__name__)
        settings = Options(**looks | {name: value for name, value in options.items() if value is not None})
        with style(settings.style or "house", settings.titles is not False):
            try:
                result = self.function(source if self.source == "training" else FigureData(source, settings), settings)
            except UserError:
                raise
            except (Exception, SystemExit) as error:
                what = short(" ".join(repr(error).split()), 200)
                problem = f"{name} raised {what} at {place_in(self.function.__module__, error)}"
                raise ResultsError(problem, remedy="Mend it, or leave this figure out.") from error
            if not isinstance(result, Figure):
                problem = f"{name} returned {short(repr(result))}, which is not a figure"
                raise ResultsError(problem, remedy="Return a matplotlib Figure.")
            finish(result)
        return result


def figure(*, meaning: str, needs: str = ANY, source: Source = "results") -> Callable[[Callable[..., Figure]], Kind]:
    """Make a kind of figure of a function that takes what to draw (`FigureData`) and `Options`.

    One with the `source` "training" gets the folders of trainings instead.
    """
    return lambda function: Kind(function, meaning, needs, source)


def kind_named(name: str) -> Kind:
    """Return a kind of figure by its registered name, by `package.module:function` or by `file.py:function`.

    A plain function is one that any results are enough for; the first line of its docstring says what it shows.
    """
    try:
        result = FIGURES.load(name)
    except UnknownName as error:
        error.key = "--kind"
        raise
    if isinstance(result, Kind):
        return result
    if not callable(result):
        remedy = "Name a function of (chosen, options) that returns a matplotlib Figure."
        raise ResultsError("is no figure", key="--kind", value=name, remedy=remedy)
    return Kind(result, (result.__doc__ or short_name(name)).strip().splitlines()[0])


def short_name(name: str) -> str:
    """Return what the files of a kind are called: its name, of `mine.py:queue` the last part."""
    return name.rpartition(":")[2]


LARGE = 100_000
"""Bytes of an SVG for a page; larger ones become PNG, if that is smaller."""


def draw(results: ResultsFolder | Sequence[ResultsFolder], kind: str, **options: Any) -> Figure:
    """Draw the figure of this kind. Several results are drawn as one, their scenarios as points.

    Options (`metrics`, `agents`, `where`, `x`, `width`) are those of `figure_data.Options`.
    """
    parts = [results] if isinstance(results, ResultsFolder) else list(results)
    return kind_named(kind).draw(parts[0] if len(parts) == 1 else combined(parts), **options)


def image(figure: Figure) -> tuple[str, bytes, tuple[int, int]]:
    """Write the figure as an image for a page: its kind, its bytes, and width and height in pixels.

    The kind is `svg`, or `png` where an SVG would be large, and larger than that.
    """
    width, height = figure.get_size_inches()
    size, text = (round(96 * width), round(96 * height)), rendered(figure, "svg")
    text = text[text.index(b"<svg") :]
    if len(text.decode()) <= LARGE:
        return "svg", text, size
    kind, content = min(("svg", text), ("png", rendered(figure, "png")), key=lambda each: len(each[1]))
    return kind, content, size


def summary(results: ResultsFolder) -> Path | None:
    """Draw what agents differ in into the results' folder; returns the PNG's path.

    It returns None where they differ in nothing, and where agents or points are too many to be drawn.
    """
    names = [metric.name for metric in results.choose().first]
    means = results.done.group_by("agent", *results.swept).agg(pl.col(names).mean())
    if all(means[name].n_unique() < 2 for name in names):
        return None
    try:
        figure = draw(results, "differences")
    except ResultsError:
        return None
    return save(figure, results.folder / "figures" / "differences.png")
