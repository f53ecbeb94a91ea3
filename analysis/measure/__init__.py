"""What a run measures, while it goes on and when it is over; third parties add metrics by `binwright.metrics`."""

from simcore.registry import Registry

BUILT_IN = {
    "offered": "analysis.measure.metrics.requests:offered",
    "scheduled": "analysis.measure.metrics.requests:scheduled",
    "scheduled_bound": "analysis.measure.metrics.requests:bound",
    "acceptance": "analysis.measure.metrics.requests:acceptance",
    "rejected": "analysis.measure.metrics.requests:rejected",
    "impossible": "analysis.measure.metrics.requests:impossible",
    "stopped": "analysis.measure.metrics.requests:stopped",
    "wait_total": "analysis.measure.metrics.waits:wait_total",
    "wait_mean": "analysis.measure.metrics.waits:wait_mean",
    "wait_p95": "analysis.measure.metrics.waits:wait_p95",
    "wait_max": "analysis.measure.metrics.waits:wait_max",
    "hours": "analysis.measure.metrics.length:hours",
    "makespan": "analysis.measure.metrics.length:makespan",
    "allocation": "analysis.measure.metrics.allocation:allocation",
    "allocation_decisions": "analysis.measure.metrics.allocation:after_decisions",
    "allocation_end": "analysis.measure.metrics.allocation:at_the_end",
    "utilisation": "analysis.measure.metrics.allocation:utilisation",
    "links_allocation": "analysis.measure.metrics.links:allocation",
    "links_allocation_decisions": "analysis.measure.metrics.links:after_decisions",
    "links_allocation_end": "analysis.measure.metrics.links:at_the_end",
    "links_utilisation": "analysis.measure.metrics.links:utilisation",
    "blocked": "analysis.measure.metrics.links:blocked",
    "load": "analysis.measure.metrics.load:load",
    "servers_per_request": "analysis.measure.metrics.spans:servers_per_request",
    "span": "analysis.measure.metrics.spans:span",
    "span_0": "analysis.measure.metrics.spans:one_server",
    "span_1": "analysis.measure.metrics.spans:one_rack",
    "span_2": "analysis.measure.metrics.spans:neighbouring_racks",
    "span_3": "analysis.measure.metrics.spans:beyond",
    "income": "analysis.measure.metrics.income:income",
    "income_booked": "analysis.measure.metrics.income:booked",
    "interrupted": "analysis.measure.metrics.interruptions:interrupted",
    "lost": "analysis.measure.metrics.interruptions:lost",
    "fragmentation": "analysis.measure.metrics.fragmentation:fragmentation",
    "servers": "analysis.measure.metrics.servers:servers",
    "servers_used": "analysis.measure.metrics.servers:used",
    "decision_us": "analysis.measure.metrics.decisions:decision_us",
}
"""Every run has these, and tables show them in this order."""

METRICS = Registry("metric", "binwright.metrics", BUILT_IN)
