"""How many links a request takes for each of its servers, and how many servers: densities, and what that depends on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from binwright.analysis.compare.statistics import mean_interval
from binwright.analysis.figures.figure_data import FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import heading, new, shades, tidy
from binwright.simcore.errors import ResultsError
from binwright.simcore.types import Floats

MOST = 4
"""Links for a server up to which axes go: 1 within a rack; two servers far apart have 3."""
LINKS = "links/server"
LARGEST = 400.0
"""Area of the bubble of all placements, in square points."""
DOTS = 400
"""So many dots a panel: of more requests the first ones, seed by seed."""
BIN = 0.25
"""Width of a bin of links for a server."""
FEW, COARSE = 25, 4
"""Where a request has more than so many servers, so many numbers of them are joined to one bubble or bar."""


@figure(
    meaning="links for each server of a request, and its servers: histograms with densities, and against one another",
    needs="a network, record: [requests]",
)
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw a row of four panels per agent, in a column the densities only, of the placed requests of all seeds."""
    agents = chosen.few_agents()
    chosen.few_points(1)
    first = chosen.results.resources[0]
    found = _placed(chosen, ("servers", "links", "bandwidth", first))
    wide = options.width != "column"
    figure = new(options.width or "page", 1.0 + 1.25 * len(agents))
    axes = figure.subplots(len(agents), 4 if wide else 2, squeeze=False, sharex="col")
    most = max(int(frame["servers"].to_numpy().max()) for frames in found.values() for frame in frames)
    step = 1 if most <= FEW else COARSE
    far, counts = np.arange(-BIN / 2, MOST + BIN, BIN), np.arange(0.5, most + step + 0.5, step)
    for row, agent in zip(axes, agents, strict=True):
        colour = chosen.look[agent][0]
        servers = [_column(frame, "servers") for frame in found[agent]]
        links = [_column(frame, "links") / many for frame, many in zip(found[agent], servers, strict=True)]
        for ax in row:
            tidy(ax)
        _density(row[0], links, far, colour)
        _density(row[1], servers, counts, colour)
        row[0].set_ylabel(chosen.heading(agent))
        if wide:
            _bubbles(row[2], servers, links, counts, far, colour)
            asked = [np.concatenate([_column(frame, name) for frame in found[agent]]) for name in (first, "bandwidth")]
            _dots(row[3], asked[0], asked[1], np.concatenate(links))
    for column, above, below in zip(
        range(axes.shape[1]),
        ("density", "density", LINKS, "bandwidth"),
        (LINKS, "servers", "servers", first),
        strict=False,
    ):
        axes[0, column].set_title(above)
        axes[-1, column].set_xlabel(below)
    axes[-1, 0].set_xticks(range(MOST + 1))
    where = f"{LINKS}: 0 on one server, 1 in one rack, more across racks"
    marks = ", from blue to red; areas: share of the placements" if wide else ""
    heading(figure, f"{chosen.title}: where requests are placed", f"{where}{marks}; bands: {chosen.caption}")
    return figure


def _placed(chosen: FigureData, columns: Sequence[str]) -> dict[str, list[pl.DataFrame]]:
    """Read for every agent a frame of placed requests per run, without the warm start's and empty runs."""
    found: dict[str, list[pl.DataFrame]] = {agent: [] for agent in chosen.agents}
    for _, agent, runs in chosen.groups():
        for run in runs:
            frame = chosen.results.requests(run)
            missing = [name for name in columns if name not in frame.columns]
            if missing:
                raise ResultsError(
                    f"the requests have no {' and '.join(missing)}",
                    file=chosen.results.folder,
                    remedy="Only those of a network have: write `cluster: {network: ...}` and `record: [requests]`.",
                )
            placed = frame.filter(pl.col("outcome").cast(pl.String).is_in(["placed", "interrupted"]) & ~pl.col("warm"))
            if len(placed):
                found[agent].append(placed)
    if not all(found.values()):
        empty = ", ".join(agent for agent, frames in found.items() if not frames)
        raise ResultsError(f"{empty} placed nothing", file=chosen.results.folder, remedy="Choose others with --agents.")
    return found


def _column(frame: pl.DataFrame, name: str) -> Floats:
    return frame[name].to_numpy().astype(np.float64)


def _density(ax: Axes, seeds: list[Floats], edges: Floats, colour: str) -> None:
    """Draw the histogram of all seeds, a density by a Gaussian kernel, and the mean over the seeds with its band."""
    from scipy.stats import gaussian_kde

    values = np.concatenate(seeds)
    ax.stairs(np.histogram(values, edges, density=True)[0], edges, fill=True, color=colour, alpha=0.4, linewidth=0)
    if values.std() > 0:
        x = np.linspace(edges[0], edges[-1], 100)
        ax.plot(x, gaussian_kde(values)(x), color=colour, linewidth=1.1)
    mean, half = mean_interval(np.array([one.mean() for one in seeds]))
    if np.isfinite(half):
        ax.axvspan(mean - half, mean + half, color="#222222", alpha=0.2, linewidth=0)
    ax.axvline(mean, color="#222222", linewidth=0.8)
    ax.set_yticks([])


def _bubbles(ax: Axes, servers: list[Floats], links: list[Floats], many: Floats, far: Floats, colour: str) -> None:
    """Draw how many requests have so many servers, and links for each; seeds count alike."""
    share = np.zeros((len(many) - 1, len(far) - 1))
    for one, other in zip(servers, links, strict=True):
        share += np.histogram2d(one, other, (many, far))[0] / len(one) / len(servers)
    across, up = np.nonzero(share)
    x, y = (many[:-1] + many[1:]) / 2, (far[:-1] + far[1:]) / 2
    ax.set_ylim(-0.4, MOST + 0.4)
    ax.set_yticks(range(MOST + 1))
    ax.margins(x=0.15)  # room for the largest circle at the first number of servers
    ax.scatter(x[across], y[up], s=LARGEST * share[across, up], color=colour, alpha=0.5, linewidths=0, rasterized=True)


def _dots(ax: Axes, one: Floats, other: Floats, links: Floats) -> None:
    """Draw a dot per request at what it asked for, coloured by its links for each server."""
    scale = LinearSegmentedColormap.from_list("links", shades())
    colours = scale(Normalize(0, MOST)(links[:DOTS]))
    ax.scatter(one[:DOTS], other[:DOTS], s=4, c=colours, linewidths=0, rasterized=True)
