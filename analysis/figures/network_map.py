"""A network drawn with its tiers as rows: servers at the bottom, spines on top; by load if there is one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from binwright.analysis.figures.chosen_style import points
from binwright.analysis.figures.style import COLOURS
from binwright.fabric.topology import Topology
from binwright.simcore.types import QUANTUM, Floats, Ints

MOST_SERVERS = 200
"""More servers are drawn as one box per rack, with how many they are."""
LOADS = LinearSegmentedColormap.from_list("loads", ["#d9d9d9", "#fdae61", "#d7191c", "#67001f"])
GREY = "#888888"
ROWS = {"fabric": "fabric switch"}
"""What a level is called, where that is not its name."""


def natural_size(topology: Topology) -> tuple[float, float]:
    """Return width and height in inches at which lines and marks of the network have the sizes that they are given."""
    x = _positions(topology, topology.servers > MOST_SERVERS)
    width = float(np.clip(0.16 * np.ptp(x) + 2.5, 7, 24))
    return width, 1.2 + len(topology.levels) * float(np.clip(width / 9, 1.15, 2.2))


def paint(
    ax: Axes, topology: Topology, load: npt.ArrayLike | None = None, *, rows: bool = True, tiers: bool = True
) -> None:
    """Draw a network into a panel; what its `rows` are is written on the left, its `tiers` right.

    `load` float [links], the share of each link's capacity that is in use, colours the links; without it the planes of
    a fabric are told apart. Of many servers in one box the mean load is shown.
    """
    shares = None if load is None else np.asarray(load, np.float64)
    if shares is not None and shares.shape != (topology.links,):
        raise ValueError(f"load has the shape {shares.shape}, not ({topology.links},)")
    boxed = topology.servers > MOST_SERVERS
    x = _positions(topology, boxed)
    _links(ax, topology, x, shares, boxed)
    _vertices(ax, topology, x, boxed)
    gap = 0.02 * np.ptp(x) + 0.5
    if rows:
        _rows(ax, topology, float(x.min() - gap))
    if tiers:
        _tiers(ax, topology, float(x.max() + gap))
    ax.set_ylim(-0.45, len(topology.levels) - 0.6)
    ax.set_axis_off()


def scale(figure: Figure, axes: Sequence[Axes]) -> None:
    """Write beside panels what the colours of links mean."""
    colours = ScalarMappable(Normalize(0, 1), LOADS)
    figure.colorbar(colours, ax=axes, label="share of capacity in use", shrink=0.8, pad=0.01)


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


def _links(ax: Axes, topology: Topology, x: Floats, load: Floats | None, boxed: bool) -> None:
    ends = topology.link_ends
    shown = np.arange(topology.links)
    if boxed:  # one line for all servers of a rack
        own = topology.server_link[topology.server_link >= 0]
        shown = np.setdiff1d(shown, own)
        racks, one = np.unique(ends[own, 1], return_index=True)
        shown = np.concatenate([own[one], shown])
        if load is not None:
            load = load.copy()
            load[own[one]] = [load[own[ends[own, 1] == rack]].mean() for rack in racks]
    level = topology.level[ends[shown]].astype(np.float64)
    step = np.linspace(0, 1, 17)
    start, stop = x[ends[shown, 0], None], x[ends[shown, 1], None]
    across = start + (stop - start) * step
    # A link within a level is an arc, so that it does not run through what stands between.
    bent = (level[:, :1] == level[:, 1:]) * (0.15 + 0.25 * np.minimum(1, np.abs(stop - start) / np.ptp(x).clip(1)))
    up = level[:, :1] + (level[:, 1:] - level[:, :1]) * step + bent * 4 * step * (1 - step)
    straight = bool((bent == 0).all())
    points = np.stack([across, up], axis=2)[:, :: 16 if straight else 1]
    many = len(shown)
    thickness = float(np.clip(60 / many**0.6, 0.25, 1.4))
    capacity = topology.link_capacity[shown]
    wider = np.clip(np.sqrt(capacity / capacity.min()), 1, 2.5)
    lines = LineCollection(list(points), linewidths=thickness * wider, zorder=1)
    if load is not None:
        lines.set(array=load[shown], cmap=LOADS, norm=Normalize(0, 1))
    else:
        lines.set(colors=[_colour(topology, vertex) for vertex in ends[shown, 1].tolist()], alpha=0.75)
    ax.add_collection(lines)


def _colour(topology: Topology, vertex: int) -> str:
    """Give a fabric's planes colours of their own, and grey to all else."""
    pods = topology.racks + (topology.planes * (int(topology.pod_of.max()) + 1))
    if not topology.planes or vertex < topology.racks or vertex >= topology.switches:
        return GREY
    plane = (vertex - topology.racks) % topology.planes if vertex < pods else (vertex - pods) // topology.uplinks
    return COLOURS[plane % len(COLOURS)]


def _vertices(ax: Axes, topology: Topology, x: Floats, boxed: bool) -> None:
    shown = topology.racks if boxed else topology.servers
    size = float(np.clip(1500 / max(shown, topology.switches), 6, 40))
    switches = np.arange(topology.switches)
    upper = switches[topology.level[switches] > 0]
    colours = [_colour(topology, vertex) if vertex >= topology.racks else "#333333" for vertex in upper.tolist()]
    ax.scatter(x[upper], topology.level[upper], s=1.6 * size, c=colours, marker="s", zorder=2, linewidths=0)
    if not boxed:
        ax.scatter(x[topology.switches :], np.zeros(topology.servers), s=size, c="#333333", zorder=2, linewidths=0)
        return
    ax.scatter(x[: topology.racks], np.zeros(topology.racks), s=3 * size, c="white", edgecolors="#333333", zorder=2)
    if topology.racks <= 64:
        for rack, count in enumerate(np.bincount(topology.rack_of).tolist()):
            ax.annotate(
                f"{count}", (x[rack], 0), (0, -9), textcoords="offset points", ha="center", va="top", fontsize=points()
            )


def _rows(ax: Axes, topology: Topology, x: float) -> None:
    count: Ints = np.bincount(topology.level[: topology.switches], minlength=len(topology.levels))
    count[0] = topology.servers
    for level, name in enumerate(topology.levels):
        words = _counted(int(count[level]), ROWS.get(name, name))
        ax.text(x, level, words, ha="right", va="center", fontsize=1.125 * points("text"))


def _tiers(ax: Axes, topology: Topology, x: float) -> None:
    """Write what the links between the rows carry."""
    for tier, name in enumerate(topology.tiers):
        mine = topology.link_tier == tier
        low, high = topology.level[topology.link_ends[mine][0]].tolist()
        capacities = np.unique(topology.link_capacity[mine]) / QUANTUM
        size = f"{capacities[0]:g}" + (f" to {capacities[-1]:g}" if len(capacities) > 1 else "")
        height = (low + high) / 2 if low != high else low + 0.25
        words = f"{name}\n{_counted(int(mine.sum()), 'link')} of {size}"
        ax.text(x, height, words, ha="left", va="center", fontsize=points("text"), color="#555555")


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 'es' if what.endswith('ch') else 's'}"
