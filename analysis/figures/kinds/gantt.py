"""Requests on servers over time: a bar for each, from its decision to its end."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.figures.chosen_style import points
from analysis.figures.figure_data import FigureData, Options
from analysis.figures.kind import figure
from analysis.figures.kinds.timeline import CLOCK
from analysis.figures.style import VERMILLION, heading, ink, new, tidy
from simcore.errors import ResultsError

MOST_SERVERS, MOST_AGENTS = 24, 4
"""Of more servers the first are drawn."""


@figure(meaning="requests on servers over time, with moves and interruptions", needs="record: [requests]")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw the first seed of every agent at one point; darker bars ask for more of the first resource."""
    agents, _ = chosen.few_agents(MOST_AGENTS), chosen.few_points(1)
    runs = {agent: runs for _, agent, runs in chosen.seeded()}
    seed, resource = chosen.shared_seed(runs.values()), chosen.results.resources[0]
    frames = {agent: _placed(chosen, runs[agent][seed]) for agent in agents}
    end = max(float(frame["decided"].to_numpy().max(initial=0)) for frame in frames.values())
    most = max(float(frame[resource].to_numpy().max(initial=0)) for frame in frames.values()) or 1.0
    servers = 1 + max(int(frame["server"].to_numpy().max(initial=0)) for frame in frames.values())
    scale, unit = CLOCK.scale(end)
    shown = min(servers, MOST_SERVERS)
    figure = new(options.width or "page", 0.8 + len(agents) * (0.5 + 0.13 * shown))
    axes = figure.subplots(len(agents), 1, squeeze=False, sharex=True, sharey=True).ravel()
    cut = moved = False
    for ax, agent in zip(axes, agents, strict=True):
        tidy(ax, grid="x")
        frame = frames[agent].filter(pl.col("server") < shown)
        _bars(ax, frame, scale, end, most, resource)
        cut |= "interrupted" in frame["outcome"].cast(pl.String)
        moved |= _moves(ax, chosen, runs[agent][seed], scale, shown)
        ax.set_title(chosen.heading(agent), fontsize=points(), loc="left")
        ax.set_ylabel("server")
        ax.set_ylim(shown - 0.4, -0.6)
        ax.yaxis.get_major_locator().set_params(integer=True)
    axes[-1].set_xlim(0, scale * end)
    axes[-1].set_xlabel(f"time,{unit}")
    notes = [f"{chosen.title}: seed {seed}"]
    notes += [f"the first {shown} of {servers} servers"] * (shown < servers)
    notes += [f"darker: more {resource}", *["crosses: interrupted"] * cut, *["lines: moved"] * moved]
    heading(figure, "Which requests were on which server in one seed", "; ".join(notes))
    return figure


def _placed(chosen: FigureData, run: str) -> pl.DataFrame:
    """Read the requests of a run that got a place, in the order of their decisions."""
    found = chosen.results.requests(run).filter(pl.col("outcome").cast(pl.String).is_in(["placed", "interrupted"]))
    if found.is_empty():
        raise ResultsError(f"run {run} placed nothing", file=chosen.results.folder, remedy="Choose --agents.")
    return found.sort("decided", maintain_order=True)


def lanes(begin: list[float], end: list[float]) -> list[int]:
    """Give intervals in order of their begin the lowest lanes in which they do not overlap."""
    free: list[int] = []
    busy: list[tuple[float, int]] = []
    found = []
    for one, until in zip(begin, end, strict=True):
        while busy and busy[0][0] <= one:
            heappush(free, heappop(busy)[1])
        lane = heappop(free) if free else len(busy)
        heappush(busy, (until, lane))
        found.append(lane)
    return found


def _bars(ax: Axes, frame: pl.DataFrame, scale: float, end: float, most: float, resource: str) -> None:
    """Draw a bar for each request, those at one time on a server above one another."""
    scheme = colormaps["Blues"]
    for (server,), mine in frame.group_by("server", maintain_order=True):
        begin, until = mine["decided"].to_numpy(), np.minimum(mine["end"].to_numpy(), end)
        lane = np.array(lanes(begin.tolist(), until.tolist()))
        height = 0.8 / (1 + lane.max())
        y = int(str(server)) - 0.4 + height * (lane + 0.5)
        colours = scheme(0.25 + 0.7 * mine[resource].to_numpy() / most)
        ax.barh(y, scale * (until - begin), height, scale * begin, color=colours, linewidth=0, rasterized=True)
        cut = (mine["outcome"].cast(pl.String) == "interrupted").to_numpy()
        ax.plot(scale * until[cut], y[cut], "x", color=VERMILLION, markersize=2.5, markeredgewidth=0.7)


def _moves(ax: Axes, chosen: FigureData, run: str, scale: float, shown: int) -> bool:
    """Draw a line from server to server for every move, where these were recorded; tell whether there is any."""
    try:
        moves = chosen.results.moves(run)
    except ResultsError:
        return False
    found = moves.select("end", "from_server", "to_server").drop_nulls()
    found = found.filter(pl.max_horizontal("from_server", "to_server") < shown)
    for time, one, other in found.iter_rows():
        ax.plot([scale * time] * 2, [one, other], color=ink(), linewidth=0.5, alpha=0.7)
    return not found.is_empty()
