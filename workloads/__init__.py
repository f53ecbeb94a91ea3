"""Binwright's requests, from generators and traces.

What there is: `WORKLOADS`, `TRACES`, `ARRIVALS`, `LIFETIMES` and `PREDICTORS`, each open to third parties by its entry
point group, and `catalogue()` over all of them. What to call: `workloads.traces.library` (find, detect, read a trace),
`binwright.workloads.windows` (select requests from it), `binwright.workloads.generators` (draw requests from flavours),
`workloads.describe` (what a trace holds, and a generator like it).
"""

from pathlib import Path
from typing import NamedTuple

from binwright.simcore.registry import Registry

PRESETS = Path(__file__).parent / "traces" / "presets"
"""Holds a file for each format of traces."""
TRACES = Registry(
    "trace",
    "binwright.traces",
    {
        "table": "binwright.workloads.traces.table:Table",
        **{file.stem: f"binwright.workloads.traces.presets:{file.stem}" for file in sorted(PRESETS.glob("*.yaml"))},
    },
    "binwright list traces",
    note="A CSV or Parquet file of your own is read by `table`. ",
)
WITH_SERVERS = ("alibaba-openb",)
"""Traces that come with the servers they were recorded on."""
WORKLOADS = Registry("workload", "binwright.workloads", {})
ARRIVALS = Registry(
    "arrivals",
    "binwright.arrivals",
    {
        "poisson": "binwright.workloads.arrivals:Poisson",
        "fixed": "binwright.workloads.arrivals:Fixed",
        "bursty": "binwright.workloads.arrivals:Bursty",
    },
)
LIFETIMES = Registry(
    "lifetimes",
    "binwright.lifetimes",
    {
        "fixed": "binwright.workloads.lifetimes:Fixed",
        "exponential": "binwright.workloads.lifetimes:Exponential",
        "lognormal": "binwright.workloads.lifetimes:Lognormal",
        "empirical": "binwright.workloads.lifetimes:Empirical",
    },
)
PREDICTORS = Registry(
    "predictor",
    "binwright.predictors",
    {
        "noise": "binwright.workloads.predictors:Noise",
        "survival": "binwright.workloads.predictors:Survival",
        "shuffled": "binwright.workloads.predictors:Shuffled",
        "requested": "binwright.workloads.predictors:Requested",
    },
)


class Entry(NamedTuple):
    """One line of `binwright list workloads`."""

    kind: str
    name: str
    summary: str
    reference: str


def catalogue() -> list[Entry]:
    """List every workload, trace, model, arrival process, lifetime distribution, predictor, demand and network."""
    from binwright.workloads.demands import DEMANDS
    from binwright.workloads.lublin import Lublin
    from binwright.workloads.virtual import NETWORKS

    registered = [
        Entry(registry.kind, name, _summary(found), getattr(found, "reference", "-"))
        for registry in (WORKLOADS, TRACES, ARRIVALS, LIFETIMES, PREDICTORS, DEMANDS, NETWORKS)
        for name in registry
        for found in [registry.load(name)]
    ]
    return [*registered, Entry("model", "lublin", Lublin.summary, Lublin.reference)]


def _summary(found: object) -> str:
    """Take what something says of itself, or else the first line of its docstring."""
    return str(getattr(found, "summary", "") or (found.__doc__ or "-").strip().splitlines()[0])
