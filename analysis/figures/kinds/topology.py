"""The network coloured by the load of its links, agents side by side: at a moment, or when it was busiest.

Its tiers are rows: servers at the bottom, spines on top.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
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
from binwright.simcore.types import Floats, Ints

MOST = 4
"""More agents cannot be read beside one another."""
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
    chosen.refuse_metrics()
    agents = chosen.few_agents(MOST) if options.agents else chosen.agents[:MOST]
    seed, runs = chosen.one_seed(agents)
    states = {agent: chosen.results.states(run) for agent, run in runs.items()}
    if "links" not in states[agents[0]].columns:
        remedy = "Write `cluster: {network: ...}` into the scenario."
        raise ResultsError("the cluster has no network", file=chosen.results.folder, remedy=remedy)
    run = runs[agents[0]]
    row = chosen.runs.row(by_predicate=pl.col("run") == run, named=True)
    [(name, settings)] = network_of(chosen.results.part(run), row).items()
    network = build(name, **settings)
    times = {agent: frame["time"].to_numpy() for agent, frame in states.items()}
    loads = {
        agent: np.array(frame["links"].list.eval(pl.element().fill_null(0)).to_list(), np.float64)
        for agent, frame in states.items()
    }
    moment = _moment(chosen, times, {agent: rows_dot(load, network.link_capacity) for agent, load in loads.items()})
    figure, axes, columns = panel_axes(options.width or "page", len(agents), 2, 1.0)
    lines, wide = -(-len(agents) // columns), figure.get_figwidth() / columns
    figure.set_figheight(lines * wide * max(0.45, 0.13 * len(network.levels)) + 0.3 * (lines > 1))
    for number, (ax, agent) in enumerate(zip(axes, agents, strict=True)):
        load = loads[agent][max(0, int(np.searchsorted(times[agent], moment, side="right")) - 1)]
        used = float((load * network.link_capacity).sum()) / float(network.link_capacity.sum())
        paint(ax, network, load, wide, is_named=number % columns == 0)
        ax.set_title(f"{chosen.heading(agent)}: {100 * used:.0f} % of all capacity", fontsize=points())
    colours = ScalarMappable(Normalize(0, 1), LOADS)
    figure.colorbar(colours, ax=figure.axes, label="share of capacity in use", shrink=0.8, pad=0.01)
    busiest = "" if options.at is not None else ", when the links of any carried most"
    more = len(chosen.agents) - len(agents)
    notes = f"seed {seed}, after {duration(moment)}{busiest}" + (f"; {more} more with --agents" if more else "")
    heading(figure, "How much of each link was in use at one moment", f"{chosen.title}: {notes}")
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
    data: Any = {"cluster": results.said("cluster")}
    if data["cluster"] is None:
        remedy = "Run the scenario again with the same --out: what is finished is kept."
        raise ResultsError("does not say which network the runs had", file=results.scenario_file, remedy=remedy)
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


def paint(ax: Axes, topology: Topology, load: Floats, inches: float, *, is_named: bool) -> None:
    """Draw a network into a panel of this width, with links coloured by `load` float64 [links], the share in use.

    Left of the rows may stand what they are.
    """
    x = _positions(topology)
    small = inches / float(np.clip(0.16 * np.ptp(x) + 2.5, 7, 24))
    _links(ax, topology, x, load, small)
    _vertices(ax, topology, x, small)
    count: Ints = np.bincount(topology.level[: topology.switches], minlength=len(topology.levels))
    count[0] = topology.servers
    for level, name in enumerate(topology.levels if is_named else ()):
        words = f"{count[level]:,} {name}{'' if count[level] == 1 else 'es' if name.endswith('ch') else 's'}"
        ax.text(x.min() - 0.02 * np.ptp(x) - 0.5, level, words, ha="right", va="center", fontsize=points())
    ax.set_ylim(-0.45, len(topology.levels) - 0.6)
    ax.set_axis_off()


def _positions(topology: Topology) -> Floats:
    """Place each vertex from left to right, float64 [vertices]."""
    x = np.zeros(topology.switches + topology.servers)
    racks = topology.racks
    order = np.argsort(topology.rack_of, kind="stable")
    gap = 1 + 0.8 * (topology.pod_of != np.roll(topology.pod_of, 1))  # pods stand apart
    gap[0] = 0
    rack = topology.rack_of[order]
    step = np.ones(topology.servers)
    step[1:] += (rack[1:] != rack[:-1]) * gap[rack[1:]]
    x[topology.switches + order] = np.cumsum(step)
    x[:racks] = np.bincount(topology.rack_of, x[topology.switches :]) / np.bincount(topology.rack_of)
    for level in range(1, len(topology.levels)):
        mine = np.flatnonzero(topology.level[: topology.switches] == level)
        mine = mine[mine >= racks]
        if not len(mine):
            continue
        # Evenly apart, in the order of the middles of what they serve.
        near = [topology.neighbour[topology.first[vertex] : topology.first[vertex + 1]] for vertex in mine.tolist()]
        middles = [x[each[topology.level[each] < level]].mean() for each in near]
        share = (np.arange(len(mine)) + 0.5) / len(mine)
        x[mine[np.argsort(np.round(middles, 6), kind="stable")]] = x[:racks].min() + share * np.ptp(x[:racks])
    return x


def _links(ax: Axes, topology: Topology, x: Floats, load: Floats, small: float) -> None:
    ends, capacity = topology.link_ends, topology.link_capacity
    level = topology.level[ends].astype(np.float64)
    step = np.linspace(0, 1, 17)
    start, stop = x[ends[:, 0], None], x[ends[:, 1], None]
    # A link within a level is an arc, so that it does not run through what stands between.
    bent = (level[:, :1] == level[:, 1:]) * (0.15 + 0.25 * np.minimum(1, np.abs(stop - start) / np.ptp(x).clip(1)))
    up = level[:, :1] + (level[:, 1:] - level[:, :1]) * step + bent * 4 * step * (1 - step)
    course = np.stack([start + (stop - start) * step, up], axis=2)[:, :: 16 if (bent == 0).all() else 1]
    width = float(np.clip(60 / len(ends) ** 0.6, 0.25, 1.4)) * np.clip(np.sqrt(capacity / capacity.min()), 1, 2.5)
    lines = {"linewidths": small * width, "zorder": 1, "array": load, "cmap": LOADS, "norm": Normalize(0, 1)}
    ax.add_collection(LineCollection([*course], **lines))


def _vertices(ax: Axes, topology: Topology, x: Floats, small: float) -> None:
    size = small**2 * float(np.clip(1500 / max(topology.servers, topology.switches), 6, 40))
    upper = np.flatnonzero(topology.level[: topology.switches] > 0)
    colours = np.where(upper < topology.racks, DARK, GREY)
    ax.scatter(x[upper], topology.level[upper], s=1.6 * size, c=colours, marker="s", zorder=2, linewidths=0)
    ax.scatter(x[topology.switches :], np.zeros(topology.servers), s=size, c=DARK, zorder=2, linewidths=0)
