"""Binwright's requests, from generators and traces.

What there is: `WORKLOADS`, `TRACES`, `ARRIVALS`, `LIFETIMES` and `PREDICTORS`, each open to third parties by its entry
point group. What to call: `workloads.traces.library` (find, recognise, read a trace), `workloads.windows` (select
requests from it), `workloads.describe` and `workloads.fit` (what a trace holds, and a generator like it). Kinds of
workload draw their requests themselves: `scenarios.schema.workload`.
"""

from pathlib import Path

from binwright.simcore.registry import Registry

PRESETS = Path(__file__).parent / "traces" / "presets"
"""Holds a file for each format of traces."""
TRACES = Registry(
    "trace",
    "binwright.traces",
    {file.stem: f"binwright.workloads.traces.presets:{file.stem}" for file in sorted(PRESETS.glob("*.yaml"))},
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
