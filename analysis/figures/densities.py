"""What requests ask for and how long they stay: the density of each, a row per workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from binwright.analysis.figures.chosen_style import points
from binwright.analysis.figures.style import COLOURS
from binwright.analysis.measure.metric import unit_of_time
from binwright.simcore.files import replacing
from binwright.simcore.types import QUANTUM, Floats, Workload
from binwright.simcore.units import measure_of

BINS = 25
HELD = "holding time"
SKEWED = 40
"""A largest value of so many medians makes an axis logarithmic."""
Z = 1.96
"""Half the width of a 95 % interval, in standard errors."""


def draw(workloads: Mapping[str, Workload], path: Path | None = None, *, title: str | None = "") -> Figure:
    """Draw named workloads; writes the figure to `path` (its folder must exist) if one is given.

    A `title` of None leaves it to the caller.

    Bars are shares of the requests; where they are whole numbers and few, a bar is one number. Lines span the 95 %
    interval of each share, dashes mark the mean. A column has one scale, so rows compare. Requests that never end are
    not in the density of holding times.
    """
    rows = {name: _columns(workload) for name, workload in workloads.items()}
    heads = list(dict.fromkeys(head for columns in rows.values() for head in columns))
    if not heads or not all(len(workload) for workload in workloads.values()):
        raise ValueError("there is nothing to draw: no workload, or one without requests")
    figure = Figure(figsize=(2.9 * len(heads) + 0.6, 1.7 * len(rows) + 0.9), layout="constrained")
    axes = figure.subplots(len(rows), len(heads), squeeze=False, sharex="col")
    for column, head in enumerate(heads):
        scale, label = _scale(head, [columns[head] for columns in rows.values() if head in columns])
        edges = _edges(scale * np.concatenate([columns[head] for columns in rows.values() if head in columns]))
        logarithmic = edges[0] > 0 and not np.isclose(edges[1] - edges[0], edges[-1] - edges[-2])
        for place, (name, columns) in enumerate(rows.items()):
            ax = axes[place, column]
            if head in columns:
                _density(ax, scale * columns[head], edges, COLOURS[place % len(COLOURS)])
                ax.set_xscale("log" if logarithmic else "linear")
                ax.xaxis.set_major_formatter("{x:,g}")
            else:
                ax.text(0.5, 0.5, "none", transform=ax.transAxes, ha="center", color="#888888")
                ax.set_yticks([])
            ax.set_ylim(0, 1.2 * ax.get_ylim()[1])
            ax.spines[["top", "right"]].set_visible(False)
            if column == 0:
                ax.set_ylabel(f"{name}\n% of requests")
        axes[-1, column].set_xlabel(label)
    counts = sorted({len(workload) for workload in workloads.values()})
    drawn = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
    like = any(name.endswith("-like") for name in workloads)
    note = "\n-like: fitted stand-ins, not the original tables" if like else ""
    if title is not None:
        figure.suptitle(title or f"What requests ask for ({drawn} requests each){note}", fontsize="medium")
    if path is not None:
        with replacing(path) as unfinished:
            figure.savefig(unfinished, dpi=150, format=Path(path).suffix.removeprefix("."))
    return figure


def _columns(workload: Workload) -> dict[str, Floats]:
    """Return the numbers of each column of the figure, float64 [n], by what they are."""
    found = {name: workload.demand[:, number] / QUANTUM for number, name in enumerate(workload.resources)}
    if workload.bandwidth is not None:
        found["bandwidth"] = workload.bandwidth / QUANTUM
    found[HELD] = workload.duration[np.isfinite(workload.duration)]
    return found


def _scale(head: str, values: Sequence[Floats]) -> tuple[float, str]:
    """Return what to multiply numbers by, and what to write below them: times in hours or what suits them."""
    if head != HELD:
        unit = measure_of(head).base
        return 1.0, head + (unit and f", {unit}")
    several = np.concatenate(values)
    scale, unit = unit_of_time(float(np.median(several)) if len(several) else 0.0)
    return scale, f"{HELD},{unit}"


def _edges(values: Floats) -> Floats:
    """Choose edges of bins over all values, float64 [bins + 1]: around whole numbers, if that is what they are.

    Where a few are far larger than most, every bin is larger than the one before by the same factor.
    """
    if not len(values):
        return np.array([0.0, 1.0])
    low, high = float(values.min()), float(values.max())
    if low > 0 and high > SKEWED * float(np.median(values)):
        return np.geomspace(low, high, BINS + 1)
    if (values == np.round(values)).all():
        # Bins of equally many whole numbers each: bins of 1.4 would have a wave of their own.
        width = np.ceil((high - low + 1) / (BINS * 4 if high - low < BINS * 4 else BINS))
        return np.arange(low, high + width + 1, width) - 0.5
    return np.linspace(low, high, BINS + 1)


def _density(ax: Axes, values: Floats, edges: Floats, colour: str) -> None:
    if not len(values):
        ax.text(0.5, 0.5, "never ends", transform=ax.transAxes, ha="center", color="#888888")
        return
    share = np.histogram(values, edges)[0] / len(values)
    error = Z * np.sqrt(share * (1 - share) / len(values))
    ax.stairs(100 * share, edges, fill=True, color=colour, alpha=0.55)
    some = share > 0
    middle = (edges[:-1] + edges[1:]) / 2
    ax.errorbar(middle[some], 100 * share[some], 100 * error[some], fmt="none", ecolor=colour, elinewidth=0.8)
    ax.axvline(float(values.mean()), color="#333333", linestyle="--", linewidth=0.9)
    ax.annotate(
        f"mean {float(f'{values.mean():.3g}'):,g}",
        (0.98, 0.97),
        xycoords="axes fraction",
        ha="right",
        va="top",
        fontsize=points(),
        color="#333333",
    )
