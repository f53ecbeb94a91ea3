"""A kind of figure: what draws it, what it shows, and what it needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from matplotlib.figure import Figure

from analysis.figures import FIGURES
from analysis.figures.chosen import Chosen, Options
from analysis.figures.chosen_style import style
from analysis.figures.style import finish
from analysis.results.folder import ResultsFolder
from simcore.errors import ResultsError, UnknownName, UserError, suggest
from simcore.raised import place_in

Source = Literal["results", "training"]
ANY = "any results"


class Kind:
    """Draws figures of one kind, from results or from the folders of a training, and says what they show and need."""

    def __init__(
        self, function: Callable[[Any, Options], Figure], meaning: str, needs: str = ANY, source: Source = "results"
    ) -> None:
        self._function, self.meaning, self.needs, self.source = function, meaning, needs, source

    def __call__(self, given: Any, options: Options) -> Figure:
        return self._function(given, options)

    def draw(self, given: Any, **options: Any) -> Figure:
        """Draw the figure of results, or of training folders; `options` are those of `Options`.

        What a function from outside raises becomes a ResultsError.
        """
        asked = Options(**options)
        if isinstance(given, ResultsFolder):
            asked = asked.over(given.said("figures") or {})
        with style(asked.asked_style):
            found = self._drawn(given if self.source == "training" else Chosen(given, asked), asked)
            if isinstance(found, Figure):
                finish(found)
        if not isinstance(found, Figure):
            name = self._function.__name__
            raise ResultsError(
                f"{name} returned {found!r}, which is not a figure", remedy="Return a matplotlib Figure."
            )
        return found

    def _drawn(self, given: Any, asked: Options) -> object:
        module = self._function.__module__
        try:
            return self._function(given, asked)
        except UserError:
            raise
        except Exception as error:
            if module.startswith("analysis."):
                raise
            problem = f"{self._function.__name__} raised {error!r} at {place_in(module, error)}"
            raise ResultsError(problem, remedy="Mend it, or leave this figure out.") from error


def figure(*, meaning: str, needs: str = ANY, source: Source = "results") -> Callable[[Callable[..., Figure]], Kind]:
    """Make a kind of figure of a function that takes what to draw (`Chosen`) and `Options`.

    One with the `source` "training" gets the folders of trainings instead.
    """
    return lambda function: Kind(function, meaning, needs, source)


def kind_named(name: str) -> Kind:
    """Return a kind of figure by its registered name, by `package.module:function` or by `file.py:function`.

    A plain function is one that any results are enough for; the first line of its docstring says what it shows.
    """
    if name not in FIGURES and ":" not in name:
        raise ResultsError("unknown kind of figure", key=f"--kind {name}", remedy=suggest(name, FIGURES))
    try:
        found = FIGURES.load(name)
    except UnknownName as error:
        remedy = "Write package.module:function, or file.py:function, a file of this folder."
        raise ResultsError(error.problem, key=f"--kind {name}", remedy=remedy) from error
    if isinstance(found, Kind):
        return found
    if not callable(found):
        remedy = "Name a function of (chosen, options) that returns a matplotlib Figure."
        raise ResultsError("is no figure", key=f"--kind {name}", remedy=remedy)
    return Kind(found, (found.__doc__ or short_name(name)).strip().splitlines()[0])


def short_name(name: str) -> str:
    """Return what the files of a kind are called: its name, of `mine.py:queue` the last part."""
    return name.rpartition(":")[2]
