"""FGD (Weng and others 2023): fragmentation of GPU clusters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from binwright.reproduction.claims import Value, keys_of, published
from binwright.reproduction.experiment import Condition, Experiment, Note, Publication
from binwright.reproduction.figures import Drawing, Material, intervals
from binwright.reproduction.measures import Measure, Runs, averaged
from fabric.fragmentation import CAUSES, USABLE
from simcore.lazy_imports import pl
from simcore.types import Floats

if TYPE_CHECKING:
    from analysis.figures.draw import Figure

AGENTS = {
    "random": "gpu-random",
    "dotprod": "gpu-dot-product",
    "gpuclustering": "gpu-clustering",
    "gpupacking": "gpu-packing",
    "bestfit": "gpu-best-fit",
    "fgd": "fgd",
}
DEFAULT = "workload=default"
HELD, FRAGMENTED = "gpu_allocated_percent", "gpu_fragmented_percent_of_free"


def allocated(found: pl.DataFrame) -> Floats:
    """Return the percent of all devices that are held, by decision."""
    share: Floats = 100 * found["allocated"].to_numpy() / (found["allocated"] + found["free"]).to_numpy()
    return share


def fragmented(found: pl.DataFrame) -> Floats:
    """Return the percent of what is free that is fragmented, by decision."""
    fragments = found.select([f"fragments_{cause}" for cause in CAUSES]).to_numpy()
    share: Floats = 100 * (1 - fragments[:, USABLE] / np.maximum(fragments.sum(axis=1), 1e-9))
    return share


def when_arrived(of: Callable[[pl.DataFrame], Floats]) -> Measure:
    """Measure over the decisions at which as many devices had been asked for as the condition says, `arrived=90%`."""

    def measure(runs: Runs, agent: str) -> Value:
        percent = int(keys_of(runs.condition)["arrived"].rstrip("%"))
        values = []
        for run in runs.of(agent)["run"]:
            found = runs.results.devices(run)
            devices = (found["allocated"] + found["free"]).to_numpy()
            there = np.rint(100 * found["arrived"].to_numpy() / devices) == percent
            if there.any():
                values.append(float(of(found)[there].mean()))
        return averaged(values) if values else Value(np.nan, None, None, 0)

    return measure


def curves(metric: str, title: str, given: Material) -> Figure:
    """Draw a metric over what has arrived, ours and the published values."""
    from analysis.figures.lines import Line, Panel, lines

    given.of("inflated", DEFAULT)
    panels, measured = [], list[Value]()
    for agent in AGENTS:
        ours, theirs = [], []
        for one in published("fgd"):
            if (one.agent, one.metric) == (agent, metric):
                percent = float(keys_of(one.condition)["arrived"].rstrip("%"))
                theirs.append((percent, one.value or 0.0, None, None))
                if found := given.value(one.condition, agent, metric):
                    measured.append(found)
                    ours.append((percent, *found[:3]))
        both = [Line("ours", ours), Line("published", theirs, published=True)]
        panels.append(Panel(both, "% of GPUs asked for", title, agent))
    return lines(panels, f"{title}, when so many have been asked for", caption=intervals(measured))


def describe() -> Publication:
    """Describe the publication."""
    held, rest = "How many GPUs are held", "How much of the free GPUs is fragmented"
    return Publication(
        name="fgd",
        title="FGD",
        reference="Weng and others 2023, Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation "
        "Gradient Descent, USENIX ATC; the expected results of hkust-adsl/kubernetes-scheduler-simulator",
        experiments=(
            Experiment(
                name="inflated",
                tables={"figures": "How many GPUs are held, and fragmented of those that are free, while pods arrive"},
                scenario="fgd/default",
                conditions={DEFAULT: Condition(AGENTS, ("record=[devices]",), seeds=10, quick=2)},
                measures={HELD: when_arrived(allocated), FRAGMENTED: when_arrived(fragmented)},
                lower=(FRAGMENTED,),
                notes=(Note("remark", "Its random choices are other ones.", agent="random"),),
                smallest=(
                    "cluster={servers: 12, node: {cpu: 96, mem: 393 GB}, devices: {count: 8}, numbering: fgd}",
                    "workload.requests=60",
                ),
            ),
        ),
        figures=(
            Drawing(
                "9(a)",
                "allocated",
                held,
                partial(curves, HELD, "% of GPUs held"),
                "The publication draws lines of the same runs.",
            ),
            Drawing("7(a)", "fragmented", rest, partial(curves, FRAGMENTED, "% of free GPUs fragmented")),
        ),
    )
