"""The network coloured by the load of its links, agents side by side: at a moment, or when it was busiest.

Its tiers are rows: servers at the bottom, spines on top.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import yaml
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import heading, panel_axes, points
from binwright.analysis.measure.metric import duration
from binwright.analysis.results.folder import ResultsFolder
from binwright.fabric.topology import Topology
from binwright.fabric.topology import topology as build
from binwright.simcore.errors import ResultsError
from binwright.simcore.ordered_sums import rows_dot
from binwright.simcore.types import QUANTUM, Floats, Ints

MOST = 4
"""More agents cannot be read beside one another."""
MOST_SERVERS = 200
"""More servers are drawn as one box per rack, with how many they are."""
LOADS = LinearSegmentedColormap.from_list("loads", ["#d9d9d9", "#fdae61", "#d7191c", "#67001f"])
DARK, GREY = "#333333", "#888888"
AT = ("cluster", "network", "topology")


@figure(
    meaning="the network at one moment, coloured by link load, a panel per agent", needs="a network, record: [states]"
)
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw one seed of every agent at one point, all at the same time; of many agents the first that there is room for.

    The time is the one asked for, or the one at which any of them has most in use.
    """
    agents = chosen.few_agents(MOST) if options.agents else chosen.agents[:MOST]
    seed, runs = chosen.one_seed(agents)
    states = {agent: chosen.results.states(run) for agent, run in runs.items()}
    if "links" not in states[agents[0]].columns:
        remedy = "Write `cluster: {network: ...}` into the scenario."
        raise ResultsError("the cluster has no network", file=chosen.results.folder, remedy=remedy)
    run = runs[agents[0]]
    row = chosen.runs.row(by_predicate=pl.col("run") == run, named=True)
    [(name, settings)] = network_of(chosen.part(run), row).items()
    network = build(name, **settings)
    times = {agent: frame["time"].to_numpy() for agent, frame in states.items()}
    loads = {
        agent: np.array(frame["links"].list.eval(pl.element().fill_null(0)).to_list(), np.float64)
        for agent, frame in states.items()
    }
    moment = _moment(chosen, times, {agent: rows_dot(load, network.link_capacity) for agent, load in loads.items()})
    wide, high = natural_size(network)
    figure, axes, columns = panel_axes(options.width or "page", len(agents), 2, 1.0)
    lines, width = -(-len(agents) // columns), figure.get_figwidth()
    figure.set_figheight(lines * width * max(0.45, high / wide) / columns + 0.3 * (lines > 1))
    alone, smaller = len(agents) == 1, width / columns / wide
    for number, (ax, agent) in enumerate(zip(axes, agents, strict=True)):
        load = loads[agent][max(0, int(np.searchsorted(times[agent], moment, side="right")) - 1)]
        paint(ax, network, load, rows=number % columns == 0, tiers=alone)
        for marks in ax.collections:
            marks.set_linewidth(np.asarray(marks.get_linewidth()) * smaller)
            if isinstance(marks, PathCollection):
                marks.set_sizes(marks.get_sizes() * smaller**2)
        if not alone:
            used = float((load * network.link_capacity).sum()) / float(network.link_capacity.sum())
            ax.set_title(f"{chosen.heading(agent)}: {100 * used:.0f} % of all capacity", fontsize=points())
    colours = ScalarMappable(Normalize(0, 1), LOADS)
    figure.colorbar(colours, ax=figure.axes, label="share of capacity in use", shrink=0.8, pad=0.01)
    busiest = "" if options.at is not None else ", when the links of any carried most"
    more = len(chosen.agents) - len(agents)
    notes = f"seed {seed}, after {duration(moment)}{busiest}" + (f"; {more} more with --agents" if more else "")
    who = f"{chosen.heading(agents[0])}, " if alone else ""
    heading(figure, "How much of each link was in use at one moment", f"{chosen.title}: {who}{notes}")
    return figure


def _moment(chosen: FigureData, times: dict[str, Floats], used: dict[str, Floats]) -> float:
    """Return the time asked for, or else that at which the links of a run carry most; both are [samples] by agent."""
    at = chosen.options.at
    if at is None:
        busiest = max(used, key=lambda agent: float(used[agent].max()))
        return float(times[busiest][used[busiest].argmax()])
    begin, end = max(float(each[0]) for each in times.values()), max(float(each[-1]) for each in times.values())
    if not begin <= at <= end:
        remedy = f"It lasts from {begin:g} s to {end:g} s."
        raise ResultsError("is outside of the run", file=chosen.results.folder, key=f"--at {at:g}", remedy=remedy)
    return at


def network_of(results: ResultsFolder, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return name and options of the topology that the run of this row had, at its point; empty without one."""
    try:
        data: Any = yaml.safe_load(results.scenario_file.read_text("utf-8"))
        if not isinstance(data, dict):
            raise ValueError("it is not a scenario")
    except (OSError, ValueError, yaml.YAMLError) as error:
        problem, remedy = "cannot be read, and says which network the runs had", "Run the scenario again with the same"
        raise ResultsError(
            problem, file=results.scenario_file, remedy=f"{remedy} --out: what is finished is kept."
        ) from error
    for key in results.swept:
        *above, last = keys = tuple(key.split("."))
        if keys[: len(AT)] == AT or AT[: len(keys)] == keys:
            part, value = data, row[key]
            for name in above:
                part = part.setdefault(name, {})
            # The column of a sweep has what is not a plain value as JSON.
            part[last] = json.loads(value) if isinstance(value, str) and value.startswith(("{", "[")) else value
    for name in AT:
        data = data.get(name) if isinstance(data, dict) else data
    return data if isinstance(data, dict) else {data: {}} if data else {}


# -- the map -----------------------------------------------------------------------------------------------------------


def natural_size(topology: Topology) -> tuple[float, float]:
    """Return width and height in inches at which lines and marks of the network have the sizes that they are given."""
    x = _positions(topology, topology.servers > MOST_SERVERS)
    width = float(np.clip(0.16 * np.ptp(x) + 2.5, 7, 24))
    return width, 1.2 + len(topology.levels) * float(np.clip(width / 9, 1.15, 2.2))


def paint(ax: Axes, topology: Topology, load: npt.ArrayLike, *, rows: bool = True, tiers: bool = True) -> None:
    """Draw a network into a panel; what its `rows` are is written on the left, its `tiers` right.

    `load` float [links], the share of each link's capacity that is in use, colours the links. Of many servers in one
    box the mean load is shown.
    """
    shares = np.array(load, np.float64)
    if shares.shape != (topology.links,):
        raise ValueError(f"load has the shape {shares.shape}, not ({topology.links},)")
    boxed = topology.servers > MOST_SERVERS
    x = _positions(topology, boxed)
    _links(ax, topology, x, shares, boxed)
    _vertices(ax, topology, x, boxed)
    gap = 0.02 * np.ptp(x) + 0.5
    if rows:
        count: Ints = np.bincount(topology.level[: topology.switches], minlength=len(topology.levels))
        count[0] = topology.servers
        for level, name in enumerate(topology.levels):
            words = _counted(int(count[level]), "fabric switch" if name == "fabric" else name)
            ax.text(x.min() - gap, level, words, ha="right", va="center", fontsize=1.125 * points("text"))
    for tier, name in enumerate(topology.tiers if tiers else ()):
        mine = topology.link_tier == tier
        low, high = topology.level[topology.link_ends[mine][0]].tolist()
        capacities = np.unique(topology.link_capacity[mine]) / QUANTUM
        size = f"{capacities[0]:g}" + (f" to {capacities[-1]:g}" if len(capacities) > 1 else "")
        words = f"{name}\n{_counted(int(mine.sum()), 'link')} of {size}"
        height = (low + high) / 2 if low != high else low + 0.25
        ax.text(x.max() + gap, height, words, ha="left", va="center", fontsize=points("text"), color="#555555")
    ax.set_ylim(-0.45, len(topology.levels) - 0.6)
    ax.set_axis_off()


def _positions(topology: Topology, boxed: bool) -> Floats:
    """Place each vertex from left to right, float64 [vertices]; servers in a box stand on their rack."""
    x = np.zeros(topology.switches + topology.servers)
    racks = topology.racks
    order = np.argsort(topology.rack_of, kind="stable")
    gap = 1 + 0.8 * (topology.pod_of != np.roll(topology.pod_of, 1))  # pods stand apart
    gap[0] = 0
    if boxed:
        x[:racks] = 4 * np.cumsum(gap)
        x[topology.switches :] = x[topology.rack_of]
    else:
        rack = topology.rack_of[order]
        step = np.ones(topology.servers)
        step[1:] += (rack[1:] != rack[:-1]) * gap[rack[1:]]
        x[topology.switches + order] = np.cumsum(step)
        x[:racks] = np.bincount(topology.rack_of, x[topology.switches :]) / np.bincount(topology.rack_of)
    for level in range(1, len(topology.levels)):
        mine = np.flatnonzero(topology.level[: topology.switches] == level)
        mine = mine[mine >= racks]
        if len(mine):
            x[mine] = _row(topology, x, mine, level)
    return x


def _row(topology: Topology, x: Floats, mine: npt.NDArray[np.int64], level: int) -> Floats:
    """Place switches of one level over what they serve; those that serve overlapping parts share the room evenly."""
    spans = []
    for place, switch in enumerate(mine.tolist()):
        near = topology.neighbour[topology.first[switch] : topology.first[switch + 1]]
        below = x[near[topology.level[near] < level]]
        spans.append((float(below.min()), float(below.max()), float(below.mean()), place))
    placed = np.empty(len(mine))
    spans.sort()
    while spans:
        group, right = [spans[0]], spans[0][1]
        while len(group) < len(spans) and spans[len(group)][0] < right + 1:
            right = max(right, spans[len(group)][1])
            group.append(spans[len(group)])
        left = group[0][0]
        spans = spans[len(group) :]
        room = max(right - left, 2.0 * (len(group) - 1))
        group.sort(key=lambda span: (round(span[2], 6), span[3]))
        share = (np.arange(len(group)) + 0.5) / len(group)
        placed[[span[3] for span in group]] = (left + right) / 2 + (share - 0.5) * room
    return placed


def _links(ax: Axes, topology: Topology, x: Floats, load: Floats, boxed: bool) -> None:
    ends = topology.link_ends
    shown = np.arange(topology.links)
    if boxed:  # one line for all servers of a rack
        own = topology.server_link[topology.server_link >= 0]
        racks, one = np.unique(ends[own, 1], return_index=True)
        shown = np.concatenate([own[one], np.setdiff1d(shown, own)])
        load[own[one]] = [load[own[ends[own, 1] == rack]].mean() for rack in racks]
    level = topology.level[ends[shown]].astype(np.float64)
    step = np.linspace(0, 1, 17)
    start, stop = x[ends[shown, 0], None], x[ends[shown, 1], None]
    across = start + (stop - start) * step
    # A link within a level is an arc, so that it does not run through what stands between.
    bent = (level[:, :1] == level[:, 1:]) * (0.15 + 0.25 * np.minimum(1, np.abs(stop - start) / np.ptp(x).clip(1)))
    up = level[:, :1] + (level[:, 1:] - level[:, :1]) * step + bent * 4 * step * (1 - step)
    course = np.stack([across, up], axis=2)[:, :: 16 if (bent == 0).all() else 1]
    capacity = topology.link_capacity[shown]
    width = float(np.clip(60 / len(shown) ** 0.6, 0.25, 1.4)) * np.clip(np.sqrt(capacity / capacity.min()), 1, 2.5)
    ax.add_collection(
        LineCollection([*course], linewidths=width, zorder=1, array=load[shown], cmap=LOADS, norm=Normalize(0, 1))
    )


def _vertices(ax: Axes, topology: Topology, x: Floats, boxed: bool) -> None:
    shown = topology.racks if boxed else topology.servers
    size = float(np.clip(1500 / max(shown, topology.switches), 6, 40))
    upper = np.flatnonzero(topology.level[: topology.switches] > 0)
    colours = np.where(upper < topology.racks, DARK, GREY)
    ax.scatter(x[upper], topology.level[upper], s=1.6 * size, c=colours, marker="s", zorder=2, linewidths=0)
    if not boxed:
        ax.scatter(x[topology.switches :], np.zeros(topology.servers), s=size, c=DARK, zorder=2, linewidths=0)
        return
    ax.scatter(x[: topology.racks], np.zeros(topology.racks), s=3 * size, c="white", edgecolors=DARK, zorder=2)
    below: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "top", "fontsize": points()}
    for rack, count in enumerate(np.bincount(topology.rack_of).tolist() if topology.racks <= 64 else ()):
        ax.annotate(f"{count}", (x[rack], 0), (0, -9), **below)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 'es' if what.endswith('ch') else 's'}"
