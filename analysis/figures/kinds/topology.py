"""The network coloured by the load of its links when it was busiest, agents side by side.

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
    """Draw one seed of every agent at one point, all at the time at which any of them has most in use.

    Of many agents these are the first that there is room for.
    """
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
    carried = {agent: rows_dot(load, network.link_capacity) for agent, load in loads.items()}
    busiest = max(carried, key=lambda agent: float(carried[agent].max()))
    moment = float(times[busiest][carried[busiest].argmax()])
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
    more = len(chosen.agents) - len(agents)
    notes = f"seed {seed}, after {duration(moment)}" + (f"; {more} more with --agents" if more else "")
    heading(figure, "How much of each link was in use when those of any agent carried most", f"{chosen.title}: {notes}")
    return figure


def network_of(results: ResultsFolder, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return name and options of the topology that the run of this row had, at its point; empty without one."""
    data: Any = {"cluster": results.setting("cluster")}
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
    spots = np.column_stack([_positions(topology), topology.level])
    x, y, switches = spots[:, 0], topology.level, topology.switches
    small = inches / float(np.clip(0.16 * np.ptp(x) + 2.5, 7, 24))
    width = small * float(np.clip(60 / topology.links**0.6, 0.25, 1.4))
    wide = width * np.clip(np.sqrt(topology.link_capacity / topology.link_capacity.min()), 1, 2.5)
    lines = {"linewidths": wide, "zorder": 1, "array": load, "cmap": LOADS, "norm": Normalize(0, 1)}
    ax.add_collection(LineCollection([*spots[topology.link_ends]], **lines))
    size = small**2 * float(np.clip(1500 / max(topology.servers, switches), 6, 40))
    colours = np.repeat([DARK, GREY], [topology.racks, switches - topology.racks])
    ax.scatter(x[:switches], y[:switches], s=1.6 * size, c=colours, marker="s", zorder=2, linewidths=0)
    ax.scatter(x[switches:], y[switches:], s=size, c=DARK, zorder=2, linewidths=0)
    count: Ints = np.bincount(topology.level)
    for level, name in enumerate(topology.levels if is_named else ()):
        words = f"{count[level]:,} {name}{'' if count[level] == 1 else 'es' if name.endswith('ch') else 's'}"
        ax.text(x.min() - 0.02 * np.ptp(x) - 0.5, level, words, ha="right", va="center", fontsize=points())
    ax.set_ylim(-0.45, len(topology.levels) - 0.6)
    ax.set_axis_off()


def _positions(topology: Topology) -> Floats:
    """Place each vertex from left to right, float64 [vertices]: switches evenly apart, by what hangs on them."""
    x = np.zeros(topology.switches + topology.servers)
    racks, order = topology.racks, np.argsort(topology.rack_of, kind="stable")
    rack = topology.rack_of[order]
    apart = (np.diff(rack, prepend=0) != 0) + 0.8 * (np.diff(topology.pod_of[rack], prepend=0) != 0)
    x[topology.switches + order] = np.cumsum(1 + apart)
    x[:racks] = _means(topology.rack_of, x[topology.switches :], racks)
    below, above = topology.level[topology.link_ends].T
    low, high = topology.link_ends[below < above].T
    for level in range(2, len(topology.levels)):
        mine = np.flatnonzero(topology.level == level)
        middles = _means(high, x[low], len(x))[mine]
        share = (np.arange(len(mine)) + 0.5) / len(mine)
        x[mine[np.argsort(np.round(middles, 6), kind="stable")]] = x[:racks].min() + share * np.ptp(x[:racks])
    return x


def _means(at: Any, values: Floats, size: int) -> Floats:
    """Average the values at each of `size` places, float64 [size]; 0 where there are none."""
    means: Floats = np.bincount(at, values, size) / np.maximum(np.bincount(at, minlength=size), 1)
    return means
