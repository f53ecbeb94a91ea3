"""FGD (Weng and others 2023): fragmentation of GPU clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from binwright.reproduction.experiment import Condition, Experiment, Metric, Publication
from binwright.reproduction.figures import Drawing, Material, intervals
from binwright.reproduction.measures import Runs, averaged
from binwright.reproduction.published import Published, published
from binwright.reproduction.verdict import Value
from fabric.fragmentation import CAUSES, USABLE
from simcore.types import Floats

if TYPE_CHECKING:
    import polars as pl

    from analysis.figures.draw import Figure

AGENTS = {
    "random": "gpu-random",
    "dotprod": "gpu-dot-product",
    "gpuclustering": "gpu-clustering",
    "gpupacking": "gpu-packing",
    "bestfit": "gpu-best-fit",
    "fgd": "fgd",
}
ARRIVED = (50, 80, 90, 95, 100, 110, 120, 130)
"""Percent of the devices asked for when values are read."""


def allocated(found: pl.DataFrame) -> Floats:
    """Return the percent of all devices that are held, by decision."""
    share: Floats = 100 * found["allocated"].to_numpy() / (found["allocated"] + found["free"]).to_numpy()
    return share


def fragmented(found: pl.DataFrame) -> Floats:
    """Return the percent of what is free that is fragmented, by decision."""
    fragments = found.select([f"fragments_{cause}" for cause in CAUSES]).to_numpy()
    share: Floats = 100 * (1 - fragments[:, USABLE] / np.maximum(fragments.sum(axis=1), 1e-9))
    return share


def at(found: pl.DataFrame, of: Callable[[pl.DataFrame], Floats], percent: int) -> float:
    """Average over the decisions at which, in whole percent, so much had been asked for; NaN where there are none."""
    devices = (found["allocated"] + found["free"]).to_numpy()
    there = np.rint(100 * found["arrived"].to_numpy() / devices) == percent
    return float(of(found)[there].mean()) if there.any() else np.nan


def when_arrived(of: Callable[[pl.DataFrame], Floats]) -> Callable[[Runs, str], Value]:
    """Measure at the moment that the condition names, `arrived=90%`."""

    def measure(runs: Runs, agent: str) -> Value:
        percent = int(runs.condition.rpartition("arrived=")[2].rstrip("%"))
        values = np.array([at(runs.results.devices(run), of, percent) for run in runs.of(agent)["run"]])
        return averaged(values[~np.isnan(values)]) if (~np.isnan(values)).any() else Value(np.nan, None, None, 0)

    return measure


def remark(one: Published) -> str:
    """Say what differs for one value."""
    return "Its random choices are other ones." if one.agent == "random" else ""


def curves(metric: str, title: str, given: Material) -> Figure:
    """Draw a metric over what has arrived, ours and the published values."""
    from analysis.figures.lines import Line, Panel, lines

    panels, measured = [], list[Value]()
    for agent in AGENTS:
        ours, theirs = [], []
        for percent in ARRIVED:
            condition = f"workload=default;arrived={percent}%"
            given.of("inflated", condition)
            key = condition, agent, metric
            if found := given.value(*key):
                measured.append(found)
                ours.append((float(percent), *found[:3]))
            printed = next(one for one in published("fgd") if (one.condition, one.agent, one.metric) == key)
            theirs.append((float(percent), printed.value or 0.0, None, None))
        both = [Line("ours", ours), Line("published", theirs, published=True)]
        panels.append(Panel(both, "% of GPUs asked for", title, agent))
    return lines(panels, f"{title}, when so many have been asked for", caption=intervals(measured))


def allocation_figure(given: Material) -> Figure:
    """Draw how many devices are held."""
    return curves("gpu_allocated_percent", "% of GPUs held", given)


def fragmentation_figure(given: Material) -> Figure:
    """Draw how much of the rest is fragmented."""
    return curves("gpu_fragmented_percent_of_free", "% of free GPUs fragmented", given)


PUBLICATION = Publication(
    name="fgd",
    title="FGD",
    reference="Weng and others 2023, Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation "
    "Gradient Descent, USENIX ATC; the expected results of hkust-adsl/kubernetes-scheduler-simulator",
    experiments=(
        Experiment(
            name="inflated",
            tables={"figures": "How many GPUs are held, and fragmented of those that are free, while pods arrive"},
            scenario="fgd/default",
            conditions={
                f"workload=default;arrived={percent}%": Condition(
                    AGENTS, ("record=[devices]",), seeds=10, quick=2, runs="default"
                )
                for percent in ARRIVED
            },
            metrics={
                "gpu_allocated_percent": Metric(when_arrived(allocated)),
                "gpu_fragmented_percent_of_free": Metric(when_arrived(fragmented), "lower"),
            },
            smallest=(
                "cluster={servers: 12, node: {cpu: 96, mem: 393 GB}, devices: {count: 8}, numbering: fgd}",
                "workload.requests=60",
            ),
            remark=remark,
        ),
    ),
    unanswered=lambda one: "No experiment answers this value.",
    figures=(
        Drawing(
            "9(a)",
            "allocated",
            "How many GPUs are held",
            allocation_figure,
            "The publication draws lines of the same runs.",
        ),
        Drawing("7(a)", "fragmented", "How much of the free GPUs is fragmented", fragmentation_figure),
    ),
)
