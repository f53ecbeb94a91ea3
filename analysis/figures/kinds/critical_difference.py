"""Critical-difference diagram: average ranks of the agents, and bars over those that cannot be told apart.

J. Demsar, Statistical comparisons of classifiers over multiple data sets, JMLR 7 (2006), drew ranks so, and Nemenyi's
test. Here bars are the verdicts of all tables: A. Benavoli, G. Corani and F. Mangili, Should we really use post-hoc
tests based on mean-ranks?, JMLR 17 (2016), say why two agents are better compared by their own differences alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from binwright.analysis.compare.family import Bools, Family, in_words
from binwright.analysis.compare.statistics import FEWEST, average_ranks, friedman
from binwright.analysis.figures.chosen_style import Width, points
from binwright.analysis.figures.figure_data import MOST, FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import grid, heading, ink, new
from binwright.analysis.measure.metric import Metric
from binwright.analysis.results.columns import Groups
from binwright.analysis.results.folder import telling_keys
from binwright.simcore.errors import ResultsError, suggest
from binwright.simcore.types import Floats, Ints

if TYPE_CHECKING:
    import polars as pl

ALL = "points"
"""What `x` says to rank over all points of a sweep."""
MOST_BARS = 12
ENOUGH, LEAST, MARGIN = 0.25, 0.12, 0.03
"""Shares of a panel's width: with less for the ranks it becomes wider, or is not drawn; what is free at either end."""
STEP, GAP = 1.0, 0.55
"""Between names, and between bars."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """Holds the agents of a panel with their average ranks (1 is best), float64 [agents], and Friedman's p.

    `told` bool [agents, agents] says which are told apart, `over` how many seeds or points were ranked.
    """

    title: str
    agents: list[str]
    average: Floats
    p: float
    told: Bools
    over: int

    @property
    def order(self) -> list[int]:
        """The agents from the best to the worst."""
        return [int(place) for place in np.argsort(self.average, kind="stable")]

    def by_side(self, chosen: FigureData) -> tuple[list[str], list[str]]:
        """Write the agents with their ranks: the better half, which stands on the left, and the others."""
        half = (len(self.agents) + 1) // 2
        named = [(chosen.heading(self.agents[one]), f"{self.average[one]:.2f}") for one in self.order]
        return [f"{name} {rank}" for name, rank in named[:half]], [f"{rank} {name}" for name, rank in named[half:]]

    def alike(self) -> list[list[int]]:
        """List every largest group of two agents or more of whom no two are told apart, the best first."""
        order = self.order
        found = [sorted(group, key=order.index) for group in _cliques([], order, [], ~self.told) if len(group) > 1]
        return sorted(found, key=lambda group: [order.index(one) for one in group])


def _cliques(group: list[int], left: list[int], done: list[int], alike: Bools) -> Iterator[list[int]]:
    """Yield the largest groups of those alike that are `group` and some of `left` (Bron and Kerbosch 1973).

    `done` are those that groups with them were found of already; all of `left` and `done` are like all of `group`.
    """
    if not left and not done:
        yield group
        return
    pivot = max((*left, *done), key=lambda one: sum(alike[one, other] for other in left))
    for one in [one for one in left if one == pivot or not alike[pivot, one]]:
        near = [other for other in left if other != one and alike[one, other]]
        yield from _cliques([*group, one], near, [other for other in done if alike[one, other]], alike)
        left, done = [other for other in left if other != one], [*done, one]


@figure(
    meaning="average ranks, and which agents the tables' verdicts do not tell apart",
    needs=f"three agents or more on {FEWEST} seeds or more",
)
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw the ranks by the first metric asked for, or by acceptance, or what else agents differ in.

    They are ranks over the seeds, in a panel for every point; or, where `x` says so, over the values of that key, or
    over all points.
    """
    names = [name for name in chosen.headlines if chosen.metric(name).better != "neither"]
    metric = chosen.metrics(names or [chosen.success])[0]
    if metric.better == "neither":
        raise ResultsError(
            "neither higher nor lower is better", key=f"--metric {metric.name}", remedy="Rank by another metric."
        )
    over = _over(chosen)
    panels, family = ranked(chosen, metric, over)
    bars = max(len(panel.alike()) for panel in panels)
    if bars > MOST_BARS:
        raise ResultsError(
            f"{bars} groups of agents that are alike are more than the {MOST_BARS} that can be read",
            file=chosen.results.folder,
            remedy="Choose agents with --agents.",
        )
    depth = max(GAP * len(panel.alike()) + STEP * ((len(panel.agents) + 1) // 2) + 0.4 for panel in panels)
    figure, sides = _laid_out(chosen, panels, depth)
    for ax, panel in zip(figure.axes, panels, strict=False):
        _diagram(ax, chosen, panel, depth, sides)
    for ax in figure.axes[len(panels) :]:
        ax.set_axis_off()
    better = "" if metric.better == "higher" else ", lower is better"
    counts = sorted({panel.over for panel in panels})
    count = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
    test = f"the dots of a bar are not told apart: p > .05, {family}" if bars else f"all told apart: p <= .05, {family}"
    heading(
        figure,
        chosen.finding(metric) if over == ["seed"] else f"Ranks by {metric.heading} over {_plural(over)}",
        f"{chosen.title}: average rank by {metric.heading}{better}, {count} {_plural(over)}; "
        + (test if panels[0].title else f"Friedman's test of all: {_p(panels[0].p)}; {test}"),
    )
    return figure


def _over(chosen: FigureData) -> list[str]:
    """Return the keys whose values are ranked over; the seed where none is asked for."""
    asked, folder = chosen.options.x, chosen.results.folder
    if not asked:
        return ["seed"]
    if not chosen.swept:
        remedy = "Leave --x out: ranks are over the seeds then."
        raise ResultsError("there is one point only", file=folder, key=f"--x {asked}", remedy=remedy)
    if asked == ALL:
        return chosen.swept
    if asked not in chosen.swept:
        remedy = suggest(asked, [ALL, *chosen.swept])
        raise ResultsError("was not swept", file=folder, key=f"--x {asked}", remedy=remedy)
    return [asked]


def _plural(over: list[str]) -> str:
    return "seeds" if over == ["seed"] else "points" if len(over) > 1 else f"values of {over[0]}"


def ranked(chosen: FigureData, metric: Metric, over: list[str]) -> tuple[list[Ranks], str]:
    """Rank the agents in every panel, and say which comparisons were corrected for."""
    keys = [key for key in chosen.swept if key not in over]
    groups = Groups(chosen.results.runs if over == ["seed"] else _means(chosen, metric, keys, over), keys)
    values, family = groups.matrix(metric.name), Family(groups, metric)
    if groups.exact(metric).all():
        raise ResultsError(
            "nothing was drawn, so that all seeds rank the agents alike",
            file=chosen.results.folder,
            remedy="`binwright compare` has the exact differences.",
        )
    numbers = np.unique(groups.point)
    if len(numbers) > MOST:
        remedy = f"Choose some with --where {keys[0]}=VALUE, or rank over all of them with --x {ALL}."
        problem = f"{MOST} points at most can be drawn, not {len(numbers)}"
        raise ResultsError(problem, file=chosen.results.folder, remedy=remedy)
    scores = -values if metric.better == "higher" else values
    places = [np.flatnonzero(groups.point == number) for number in numbers]
    panels = [_panel(chosen, groups, here, scores, family, over) for here in places]
    return panels, in_words(family.size, apart=bool(keys))


def _means(chosen: FigureData, metric: Metric, keys: list[str], over: list[str]) -> pl.DataFrame:
    """Average over the seeds, and let the values that are ranked over take their place."""
    import polars as pl

    blocks = chosen.runs.select(over).unique(maintain_order=True).with_row_index("seed")
    means = chosen.runs.group_by([*keys, "agent", *over], maintain_order=True).agg(pl.col(metric.name).mean())
    return means.join(blocks, on=over, nulls_equal=True, maintain_order="left").with_columns(status=pl.lit("done"))


def _panel(chosen: FigureData, groups: Groups, here: Ints, scores: Floats, family: Family, over: list[str]) -> Ranks:
    """Rank the agents of a point by scores float64 [groups, seeds], where lower is better."""
    keys = groups.heads.columns[:-1]
    title = chosen.said(telling_keys(groups.heads, keys), {key: groups.heads[key][int(here[0])] for key in keys})
    here = here[~np.isnan(scores[here]).all(axis=1)]  # who has no value at all was not run
    whole = scores[here][:, ~np.isnan(scores[here]).any(axis=0)].T
    if len(here) < 3 or len(whole) < FEWEST:
        found = f"{len(here)} and {len(whole) if len(here) else 0}{title and f' at {title}'}"
        raise ResultsError(
            f"ranks need 3 agents and {FEWEST} {_plural(over)} on which all of them finished: these are {found}",
            file=chosen.results.folder,
            remedy=_remedy(chosen, over),
        )
    told = np.zeros((len(here), len(here)), bool)
    for place, one in enumerate(here):
        beside = np.full(len(scores), -1)
        beside[here] = one
        told[place] = family.beside(beside).told[here]
    ranks = average_ranks(whole)
    agents = groups.heads["agent"].gather(here.tolist()).to_list()
    return Ranks(title, agents, ranks.mean(axis=0), friedman(ranks), told, len(whole))


def _remedy(chosen: FigureData, over: list[str]) -> str:
    if over == ["seed"] and len(chosen.points) >= FEWEST:
        return f"Run more agents or seeds, or rank over the points with --x {ALL}."
    return "Run more agents and seeds." if over == ["seed"] else "Run more agents, and more points or scenarios."


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def _laid_out(chosen: FigureData, panels: list[Ranks], depth: float) -> tuple[Figure, tuple[float, float]]:
    """Make a figure with a panel for each, and say which share of its width the names on either side take."""
    height = 0.17 * (depth + 1.5) + (0.25 if panels[0].title else 0)
    names = [one.by_side(chosen) for one in panels]
    letters = [max(len(name) for one in names for name in one[side]) for side in (0, 1)]
    layouts: list[tuple[Width, int]] = [("column", 1), ("page", 2), ("page", 1)]
    if chosen.options.width:
        layouts = [layout for layout in layouts if layout[0] == chosen.options.width]
    elif len(panels) > 1:
        layouts = layouts[1:]
    for width, most in layouts:
        lines, columns = grid(len(panels), most)
        figure = new(width, 0.75 + height * lines)
        panel = 72 * figure.get_figwidth() / columns
        left, right = (0.62 * points() * count / panel + MARGIN for count in letters)
        if 1 - left - right >= ENOUGH:
            break
    if 1 - left - right < LEAST:
        raise ResultsError(
            "the agents' names leave no room for their ranks",
            file=chosen.results.folder,
            remedy="Give shorter ones with --heading NAME=TEXT, or ask for smaller --text or a larger --width.",
        )
    figure.subplots(lines, columns)
    return figure, (left, right)


def _diagram(ax: Axes, chosen: FigureData, found: Ranks, depth: float, sides: tuple[float, float]) -> None:
    """Draw the ranks on a line, the best on the left, and names below it, half of them on either side."""
    agents, bars = len(found.agents), found.alike()
    names, unit = found.by_side(chosen), (agents - 1) / (1 - sum(sides))
    if found.title:
        ax.set_title(f"{found.title} (Friedman's test: {_p(found.p)})")
    ax.set_axis_off()
    ax.set_xlim(1 - sides[0] * unit, agents + sides[1] * unit)
    ax.set_ylim(-depth, 1.5)
    ax.plot([1, agents], [0, 0], color=ink(), linewidth=0.8)
    for tick in range(1, agents + 1):
        ax.plot([tick, tick], [0, 0.25], color=ink(), linewidth=0.8)
        ax.text(tick, 0.35, str(tick), ha="center", va="bottom", fontsize=points())
    for number, group in enumerate(bars):
        ranks = found.average[group]
        y = -GAP * (number + 0.8)
        ax.plot([ranks.min() - 0.04, ranks.max() + 0.04], [y, y], color=ink(), linewidth=2.2, solid_capstyle="butt")
        ax.plot(ranks, [y] * len(group), color=ink(), linewidth=0, marker="o", markersize=3)
    for place, agent in enumerate(found.order):
        colour, marker = chosen.look[found.agents[agent]]
        left = place < len(names[0])
        text = [*names[0], *names[1]][place]
        y = -GAP * len(bars) - STEP * ((place if left else agents - 1 - place) + 0.8)
        edge = 1 - MARGIN / 2 * unit if left else agents + MARGIN / 2 * unit
        x = float(found.average[agent])
        ax.plot([x, x, edge], [0, y, y], color=colour, linewidth=0.8, zorder=0)
        ax.plot([x], [0], color=colour, marker=marker, markersize=4)
        ax.annotate(
            text, (edge, y), (-2 if left else 2, 0), textcoords="offset points",
            ha="right" if left else "left", va="center", fontsize=points(),
        )  # fmt: skip
