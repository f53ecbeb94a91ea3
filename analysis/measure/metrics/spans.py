"""How far the servers of a placement are apart, in a network."""

from __future__ import annotations

import numpy as np

from binwright.analysis.measure.definition import Definition, metric
from binwright.analysis.measure.finished_run import FinishedRun


@metric(
    heading="servers/request", better="lower", in_parts=True, meaning="servers that a placed request is spread over"
)
def servers_per_request(run: FinishedRun) -> float | None:
    """Average how many servers a placed request has."""
    return _mean(run, 0)


@metric(
    heading="servers/gang",
    better="lower",
    meaning="servers that the parts of a placed gang lie on; mean of those that arrived in the measured time",
)
def gang_servers(run: FinishedRun) -> float | None:
    """Average on how many servers a gang lies; None where no request has several parts."""
    return _domains(run, "server")


@metric(heading="racks/gang", better="lower", meaning="racks, by their label, that the parts of a placed gang lie in")
def gang_racks(run: FinishedRun) -> float | None:
    """Average in how many racks a gang lies; None where servers have no label `rack`."""
    return _domains(run, "rack")


def _domains(run: FinishedRun, label: str) -> float | None:
    """Average over how many domains of a label the parts of placed gangs are spread; 0 where none was placed."""
    gangs, domain = run.asked.gangs, run.simulation.ledger.domains(label)
    if gangs is None or gangs.first is None or domain is None:
        return None
    rows = np.arange(run.first, run.simulation.offered)
    rows = rows[run.got_place[rows] & (gangs.parts[rows] > 1)]
    lies = np.unique(np.stack([gangs.first[rows], domain[run.server[rows]]]), axis=1)
    return len(lies.T) / max(len(np.unique(lies[0])), 1)


@metric(
    heading="span",
    better="lower",
    in_parts=True,
    meaning="0 one server, 1 one rack, 2 neighbouring racks, 3 beyond; mean",
)
def span(run: FinishedRun) -> float | None:
    """Average the spans of the placed requests."""
    return _mean(run, 1)


def _mean(run: FinishedRun, column: int) -> float | None:
    """Average a column of the spans; 0 where nothing was placed, None without a network."""
    if run.spans is None:
        return None
    return float(run.spans.T[column].mean()) if len(run.spans) else 0.0


def _share(number: int, where: str) -> Definition:
    """Make the metric of the share of placements with one span."""

    @metric(
        name=f"span_{number}",
        heading=f"{where} %",
        unit="%",
        table="never",
        in_parts=True,
        meaning=f"share of the placements in {where}",
    )
    def share(run: FinishedRun) -> float | None:
        if run.spans is None:
            return None
        return float((run.spans.T[1] == number).mean()) if len(run.spans) else 0.0

    return share


one_server = _share(0, "one server")
one_rack = _share(1, "one rack")
neighbouring_racks = _share(2, "neighbouring racks")
beyond = _share(3, "racks further apart")
