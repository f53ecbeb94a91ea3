"""What buying servers came to."""

from binwright.analysis.measure.definition import define, table
from binwright.analysis.measure.finished_run import FinishedRun
from binwright.analysis.measure.metric import MONEY


def _log(run: FinishedRun) -> list[tuple[float, float, bool]] | None:
    """Need `autoscale`: of each purchase its hours in the measured time, its price, and whether it is of that time."""
    if not (scaler := run.simulation.features.get("autoscale")):
        return None
    hours = [max(0.0, min(hire.until, run.finish) - max(hire.since, run.begin)) / 3600 for hire in scaler.log]
    new = [run.begin <= hire.since <= run.finish for hire in scaler.log]
    return [(each, hire.price, is_new) for each, hire, is_new in zip(hours, scaler.log, new, strict=True)]


TABLE = table((
    define("servers_bought", "bought", "servers that were bought, each as often as that",
           lambda run, log: sum(new for _, _, new in log), needs=_log, better="lower"),
    define("cost_bought", "cost of bought servers of the run", "the hours for which they were there, at their prices",
           lambda run, log: sum(hours * price for hours, price, _ in log),
           unit=MONEY, needs=_log, better="lower", table="never"),
))  # fmt: skip
