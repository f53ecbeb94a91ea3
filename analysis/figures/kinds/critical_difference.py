"""Critical-difference diagram: average ranks of the agents, and bars over those that cannot be told apart.

J. Demsar, Statistical comparisons of classifiers over multiple data sets, JMLR 7 (2006): the Friedman test in the form
of Iman and Davenport, then Nemenyi's, two agents differing when their average ranks are further apart than the
critical difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial, sqrt

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import f, rankdata, studentized_range

from analysis.compare.statistics import FEWEST
from analysis.figures.chosen import Chosen, Options
from analysis.figures.chosen_style import points
from analysis.figures.kind import figure
from analysis.figures.style import heading, new
from simcore.errors import ResultsError
from simcore.vocabulary import Floats

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Ranks:
    """Holds the agents' average ranks (1 is best), float64 [agents], the critical difference, the Friedman test's p."""

    average: Floats
    critical: float
    p: float

    def cliques(self) -> list[tuple[int, int]]:
        """Find the first and last place, in order of the ranks, of every largest group that cannot be told apart."""
        order = np.sort(self.average)
        last = np.searchsorted(order, order + self.critical, side="right") - 1
        return [
            (first, int(end)) for first, end in enumerate(last) if end > first and (first == 0 or end > last[first - 1])
        ]


def rank(scores: Floats) -> Ranks:
    """Ranks agents by scores float64 [blocks, agents], where lower is better; ties share their ranks."""
    blocks, agents = scores.shape
    ranks = rankdata(scores, axis=1)
    average = ranks.mean(axis=0)
    chi = 12 * blocks / (agents * (agents + 1)) * float(((average - (agents + 1) / 2) ** 2).sum())
    left = blocks * (agents - 1) - chi
    if left > 1e-9:
        p = float(f.sf((blocks - 1) * chi / left, agents - 1, (agents - 1) * (blocks - 1)))
    else:  # all blocks rank alike, of all their orders
        p = float(factorial(agents)) ** (1 - blocks)
    q = float(studentized_range.ppf(1 - ALPHA, agents, np.inf)) / sqrt(2)
    return Ranks(average, q * sqrt(agents * (agents + 1) / (6 * blocks)), p)


@figure(
    meaning="average ranks, and which of them can be told apart",
    needs="three agents or more, and points, scenarios or seeds to rank them on",
)
def draw(chosen: Chosen, options: Options) -> Figure:
    """Draw the ranks by acceptance (scheduled requests where runs stop), or by the first metric asked for.

    They are ranks over the points, or over the seeds where there is one point only.
    """
    metric = chosen.metrics([chosen.success])[0]
    if metric.better == "neither":
        raise ResultsError(
            "neither higher nor lower is better", key=f"--metric {metric.name}", remedy="Rank by another metric."
        )
    over = "points" if len(chosen.points) > 1 else "seeds"
    keys = chosen.swept if over == "points" else ["seed"]
    table = chosen.runs.pivot("agent", index=keys, values=metric.name, aggregate_function="mean")
    table = table.drop_nulls(chosen.agents)  # keys that only some of the results swept are null
    scores = table.select(chosen.agents).to_numpy().astype(np.float64)
    if over == "seeds" and "random" in chosen.runs.columns and not chosen.runs["random"].any():
        raise ResultsError(
            "nothing was drawn, so that all seeds rank the agents alike",
            file=chosen.results.folder,
            remedy="`binwright compare` has the exact differences.",
        )
    if len(chosen.agents) < 3 or len(scores) < FEWEST:
        raise ResultsError(
            f"ranks need 3 agents and {FEWEST} {over} on which all of them finished: "
            f"these are {len(chosen.agents)} and {len(scores)}",
            file=chosen.results.folder,
            remedy="Run more agents, and more points, seeds or scenarios (several RESULTS are taken together).",
        )
    found = rank(-scores if metric.better == "higher" else scores)
    figure = _diagram(chosen, found)
    p = "p < 0.001" if found.p < 0.001 else f"p = {found.p:.2g}"
    better = "" if metric.better == "higher" else ", lower is better"
    test = f"Friedman {p}; a bar joins what Nemenyi's test at 5 %, not that of the tables, cannot tell apart"
    heading(figure, f"{chosen.title}: average rank by {metric.heading}{better}, {len(scores)} {over}", test)
    return figure


def _diagram(chosen: Chosen, found: Ranks) -> Figure:
    """Draw the ranks on a line, the best on the left, and names below it, half of them on either side."""
    agents = len(chosen.agents)
    order = np.argsort(found.average, kind="stable")
    cliques = found.cliques()
    half = (agents + 1) // 2
    step, gap = 1.0, 0.55
    depth = gap * len(cliques) + step * half + 0.4
    figure = new(chosen.options.width or "column", 0.75 + 0.17 * (depth + 2.2))
    ax = figure.subplots()
    ax.set_axis_off()
    ax.set_xlim(1 - 0.75 * (agents - 1), agents + 0.75 * (agents - 1))
    ax.set_ylim(-depth, 2.2)
    ax.plot([1, agents], [0, 0], color="black", linewidth=0.8)
    for tick in range(1, agents + 1):
        ax.plot([tick, tick], [0, 0.25], color="black", linewidth=0.8)
        ax.text(tick, 0.35, str(tick), ha="center", va="bottom", fontsize=points())
    ax.plot([1, 1 + found.critical], [1.75, 1.75], color="black", linewidth=1.2, marker="|", markersize=4)
    ax.text(1 + found.critical + 0.1, 1.75, f"critical difference {found.critical:.2f}", va="center", fontsize=points())
    ranks = found.average[order]
    for number, (first, last) in enumerate(cliques):
        y = -gap * (number + 0.8)
        ax.plot([ranks[first] - 0.04, ranks[last] + 0.04], [y, y], color="black", linewidth=2.2, solid_capstyle="butt")
    for place, agent in enumerate(order.tolist()):
        name = chosen.agents[agent]
        colour, marker = chosen.look[name]
        left = place < half
        y = -gap * len(cliques) - step * ((place if left else agents - 1 - place) + 0.8)
        edge = 1 - 0.1 * (agents - 1) if left else agents + 0.1 * (agents - 1)
        x = float(found.average[agent])
        ax.plot([x, x, edge], [0, y, y], color=colour, linewidth=0.8, zorder=0)
        ax.plot([x], [0], color=colour, marker=marker, markersize=4)
        named = chosen.heading(name)
        text = f"{named} {x:.2f}" if left else f"{x:.2f} {named}"
        ax.annotate(
            text, (edge, y), (-2 if left else 2, 0), textcoords="offset points",
            ha="right" if left else "left", va="center", fontsize=points(),
        )  # fmt: skip
    return figure
