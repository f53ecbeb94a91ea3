"""Servers over time, a panel per agent: how full each one was, and which requests it held."""

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import zip_longest
from textwrap import fill
from typing import Any

import numpy as np
import polars as pl
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from binwright.analysis.figures.figure_data import CLOCK, FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import (
    VERMILLION,
    heading,
    label_outside,
    letters,
    new,
    panel_axes,
    points,
    tidy,
)
from binwright.analysis.results import escaping
from binwright.simcore.errors import ResultsError, suggest

BESIDE = 60
"""Points that the colours' bar with its label takes."""


@figure(meaning="servers x time as a heat map per agent", needs="record: [states]")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw the first seed of every agent at one point: a row per server, coloured by the share of it in use."""
    agents = chosen.few_agents()
    resource = (options.metrics or chosen.results.resources)[0]
    if resource not in chosen.results.resources:
        remedy = suggest(resource, chosen.results.resources)
        raise ResultsError("is not a resource", key=f"--metric {resource}", remedy=remedy)
    seed, runs = chosen.one_seed(agents)
    states = {agent: chosen.results.states(run) for agent, run in runs.items()}
    known = {run: rest for run, *rest in chosen.results.done.select("run", f"allocation_{resource}", "rejected").rows()}
    longest = max(float(frame["time"][-1]) for frame in states.values())
    scale, unit = CLOCK.scale(longest)
    figure, axes, columns = panel_axes(options.width, len(agents), 4, 1.7, sharex=True, sharey=True)
    scheme, has_gaps = colormaps["YlGnBu"].with_extremes(bad="#cccccc"), False
    for ax, agent in zip(axes, agents, strict=True):
        frame = states[agent]
        used = np.array([*zip_longest(*frame[f"used_{resource}"].to_list())], float)  # [servers, times]
        has_gaps |= bool(np.isnan(used).any())
        times = scale * np.append(frame["time"].to_numpy(), longest)
        edges = np.arange(len(used) + 1) - 0.5
        image = ax.pcolormesh(times, edges, 100 * used, cmap=scheme, vmin=0, vmax=100, rasterized=True)
        tidy(ax, grid=None)
        in_use, refused = known[runs[agent]]
        name, title = chosen.heading(agent), f"{in_use:.0%} in use, {refused:,} refused"
        lines = [name, title] if columns > 2 else [f"{name}: {title}"]
        ax.set_title("\n".join(fill(line, letters(figure, columns, BESIDE)) for line in lines), fontsize=points())
        ax.yaxis.get_major_locator().set_params(integer=True)
    label_outside(axes, columns, f"time,{unit}", "server")
    figure.colorbar(image, ax=axes, label=f"{resource} in use, %", shrink=0.8, aspect=30)
    notes = f"{chosen.title}: seed {seed}{'; grey: out of service, or not there yet' * has_gaps}"
    full, empty = (pick(agents, key=lambda agent: known[runs[agent]][0]) for pick in (max, min))
    most, least = (known[runs[agent]][0] for agent in (full, empty))
    title = f"How full every server is: {resource} {most:.0%}"
    if f"{most:.0%}" != f"{least:.0%}":
        title += f" with {chosen.heading(full)}, {least:.0%} with {chosen.heading(empty)}"
    heading(figure, title, notes)
    return figure


MOST_SERVERS, MOST_AGENTS = 24, 4
"""Of more servers the first are drawn."""
MOST_BARS = 10_000
"""More bars than that are narrower than a pixel, and take minutes to draw."""
WIDE = 100
"""So many characters of an agent's name have room."""


@figure(meaning="requests on servers over time, with interruptions", needs="record: [requests]")
def gantt(chosen: FigureData, options: Options) -> Figure:
    """Draw the first seed of every agent at one point; darker bars ask for more of the first resource."""
    agents = chosen.few_agents(MOST_AGENTS)
    seed, runs = chosen.one_seed(agents)
    frames = {agent: _placed(chosen, run) for agent, run in runs.items()}
    servers = 1 + max(int(frame["server"].to_numpy().max(initial=0)) for frame in frames.values())
    shown = min(servers, MOST_SERVERS)
    if (bars := sum(int((frame["server"] < shown).sum()) for frame in frames.values())) > MOST_BARS:
        remedy = f"It draws {MOST_BARS:,} at most; servers and timeline show many requests."
        raise ResultsError(f"{bars:,} bars are more than there are pixels for", remedy=remedy)
    end = max(float(frame["decided"].to_numpy().max(initial=0)) for frame in frames.values())
    scale, unit = CLOCK.scale(end)
    figure = new(options.width or "page", 0.8 + len(agents) * (0.5 + 0.13 * shown))
    name, shades = chosen.results.resources[0], colormaps["Blues"]
    most = max(float(frame[name].to_numpy().max()) for frame in frames.values()) or 1.0
    axes = figure.subplots(len(agents), 1, squeeze=False, sharex=True, sharey=True).ravel()
    cut = False
    for ax, agent in zip(axes, agents, strict=True):
        tidy(ax, grid="x")
        frame = frames[agent].filter(pl.col("server") < shown)
        _bars(ax, frame, scale, end, shades(0.25 + 0.7 * frame[name].to_numpy() / most))
        cut |= "interrupted" in frame["outcome"].cast(pl.String)
        ax.set_title(escaping.cut(chosen.results.heading(agent), WIDE), fontsize=points(), loc="left")
        ax.set_ylabel("server")
        ax.set_ylim(-0.6, shown - 0.4)
        ax.yaxis.get_major_locator().set_params(integer=True)
    axes[-1].set_xlim(0, scale * end)
    axes[-1].set_xlabel(f"time,{unit}")
    notes = [f"{chosen.title}: seed {seed}", *[f"the first {shown} of {servers} servers"] * (shown < servers)]
    notes += ["until the last start", f"darker: more {name}"]
    notes += ["crosses: interrupted"] * cut
    heading(figure, "Which requests were on which server in one seed", "; ".join(notes))
    return figure


def _placed(chosen: FigureData, run: str) -> pl.DataFrame:
    """Read the requests of a run that got a place, in the order of their decisions."""
    result = chosen.results.requests(run).filter(pl.col("outcome").cast(pl.String).is_in(["placed", "interrupted"]))
    if result.is_empty():
        raise ResultsError(f"run {run} placed nothing", file=chosen.results.folder, remedy="Choose --agents.")
    return result.sort("decided", maintain_order=True)


def rows(begin: Sequence[float], end: Sequence[float]) -> list[int]:
    """Give intervals in order of their begin a row each, the lowest in which they do not overlap."""
    free: list[int] = []
    busy: list[tuple[float, int]] = []
    result: list[int] = []
    for since, until in zip(begin, end, strict=True):
        while busy and busy[0][0] <= since:
            heappush(free, heappop(busy)[1])
        result.append(heappop(free) if free else len(busy))
        heappush(busy, (until, result[-1]))
    return result


def _bars(ax: Axes, frame: pl.DataFrame, scale: float, end: float, colours: Any) -> None:
    """Draw a bar for each request, those at one time on a server above one another, and crosses where they were cut."""
    for (server,), place in frame.with_row_index("bar").group_by("server", maintain_order=True):
        begin, until = place["decided"].to_numpy(), np.minimum(place["end"].to_numpy(), end)
        row = np.array(rows(begin.tolist(), until.tolist()))
        height = 0.8 / (1 + row.max())
        y = int(str(server)) - 0.4 + height * (row + 0.5)
        paint = colours[place["bar"].to_numpy()]
        ax.barh(y, scale * (until - begin), height, scale * begin, color=paint, linewidth=0, rasterized=True)
        cut = (place["outcome"].cast(pl.String) == "interrupted").to_numpy()
        ax.plot(scale * until[cut], y[cut], "x", color=VERMILLION, markersize=2.5, markeredgewidth=0.7)
