"""How far the servers of a placement are apart, in a network."""

from __future__ import annotations

from analysis.measure.definition import Definition, metric
from analysis.measure.finished_run import FinishedRun


@metric(
    heading="servers/request", better="lower", in_parts=True, meaning="servers that a placed request is spread over"
)
def servers_per_request(run: FinishedRun) -> float | None:
    """Average how many servers a placed request has."""
    return _mean(run, 0)


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
