"""Nara (Shabka and Zervas 2021): requests for several servers in a three-tier network."""

import polars as pl

from binwright.reproduction.claims import Value
from binwright.reproduction.measures import Measure, Runs, above, averaged


def share_of_placed(which: str) -> Measure:
    """Measure the share of the placed requests of which something is true, in SQL."""

    def measure(runs: Runs, agent: str) -> Value:
        placed = (runs.results.requests(run).filter(pl.col("servers") > 0) for run in runs.of(agent)["run"])
        return averaged([requests.select(pl.sql_expr(which).mean()).item() for requests in placed])

    return measure


def tiers(runs: Runs, agent: str) -> Value:
    """Measure by what share more of the servers' links is used than of the racks'.

    It is the ratio of the means over all seeds: single runs leave the racks' links next to empty.
    """
    columns = ("server-rack", "rack-fabric")
    return above(*(runs.values(agent, f'"allocation_{tier}_decisions_last_20"') for tier in columns))
