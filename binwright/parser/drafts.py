"""The commands of the parser that write scenarios."""

from __future__ import annotations

import argparse
from typing import Any, TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[Any]"


def add_init(commands: Commands) -> None:
    """Add `init`."""
    init = commands.add_parser(
        "init",
        help="write a first scenario, from five answers",
        description="Write a first scenario. On a terminal, what no option says is asked for; elsewhere it has its "
        "default.",
    )
    init.set_defaults(answer="drafting.init", interrupted="Nothing is written.")
    init.add_argument(
        "--requests", metavar="FILE", help="a CSV or Parquet file, or a trace's name (default: generated)"
    )
    init.add_argument("--servers", type=int, metavar="N", help="how many (default: 10, or enough for FILE)")
    init.add_argument("--node", metavar="AMOUNTS", help='what each has: "cpu: 64, mem: 256 GB" (default: that)')
    init.add_argument("--overflow", choices=("drop", "wait", "stop"), help="if a request fits nowhere (default: drop)")
    init.add_argument("--agents", help="with commas (default: first-fit,best-fit,worst-fit,dot-product)")
    init.add_argument("--out", default="first.yaml", metavar="FILE", help="the scenario to write (default: first.yaml)")


def add_fit(commands: Commands) -> None:
    """Add `fit`."""
    fit = commands.add_parser(
        "fit",
        help="fit a generator of requests to a trace",
        description="Fit a generated workload to a trace: its most frequent demands, their lifetimes, and the rate "
        "of arrivals. Prints a scenario, or writes it.",
    )
    fit.set_defaults(answer="drafting.fit", interrupted="Nothing is written.")
    fit.add_argument("file", help="a CSV or Parquet file, a scenario that reads one, or the name of a trace")
    fit.add_argument("--flavours", type=int, default=16, metavar="N", help="different demands (default: 16)")
    fit.add_argument("--points", type=int, default=41, metavar="N", help="quantiles of lifetimes of each (default: 41)")
    fit.add_argument("--requests", type=int, metavar="N", help="how many (default: as many as the trace has)")
    fit.add_argument("--start", help="fit to what comes from then on: a row, a time or a date (default: to all)")
    fit.add_argument("--out", metavar="FILE", help="the scenario to write (default: print it)")
