"""What a run measures, while it goes on and when it is over; third parties add metrics by `binwright.metrics`."""

from simcore.registry import Registry

BUILT_IN = {
    "offered": "analysis.measure.metrics.requests:offered",
    "scheduled": "analysis.measure.metrics.requests:scheduled",
    "scheduled_bound": "analysis.measure.metrics.requests:bound",
    "acceptance": "analysis.measure.metrics.requests:acceptance",
    "rejected": "analysis.measure.metrics.requests:rejected",
    "impossible": "analysis.measure.metrics.requests:impossible",
    "running": "analysis.measure.metrics.requests:running",
    "running_lost": "analysis.measure.metrics.requests:running_lost",
    "stopped": "analysis.measure.metrics.requests:stopped",
    "interrupted": "analysis.measure.metrics.requests:interrupted",
    "lost": "analysis.measure.metrics.requests:lost",
    "preemptions": "analysis.measure.metrics.preemption:preemptions",
    "lost_work_{}": "analysis.measure.metrics.preemption:lost_work",
    "moves": "analysis.measure.metrics.moves:moves",
    "wait_total": "analysis.measure.metrics.waits:wait_total",
    "wait_mean": "analysis.measure.metrics.waits:wait_mean",
    "wait_p95": "analysis.measure.metrics.waits:wait_p95",
    "wait_max": "analysis.measure.metrics.waits:wait_max",
    "hours": "analysis.measure.metrics.length:hours",
    "makespan": "analysis.measure.metrics.length:makespan",
    "allocation": "analysis.measure.metrics.allocation:allocation",
    "allocation_decisions": "analysis.measure.metrics.allocation:allocation_decisions",
    "allocation_end": "analysis.measure.metrics.allocation:allocation_end",
    "utilisation": "analysis.measure.metrics.allocation:utilisation",
    "links_allocation": "analysis.measure.metrics.allocation:links_allocation",
    "links_allocation_decisions": "analysis.measure.metrics.allocation:links_allocation_decisions",
    "links_allocation_end": "analysis.measure.metrics.allocation:links_allocation_end",
    "links_utilisation": "analysis.measure.metrics.allocation:links_utilisation",
    "blocked": "analysis.measure.metrics.allocation:blocked",
    "load": "analysis.measure.metrics.allocation:load",
    "gang_servers": "analysis.measure.metrics.spans:gang_servers",
    "gang_racks": "analysis.measure.metrics.spans:gang_racks",
    "servers_per_request": "analysis.measure.metrics.spans:servers_per_request",
    "span": "analysis.measure.metrics.spans:span",
    "span_0": "analysis.measure.metrics.spans:one_server",
    "span_1": "analysis.measure.metrics.spans:one_rack",
    "span_2": "analysis.measure.metrics.spans:neighbouring_racks",
    "span_3": "analysis.measure.metrics.spans:beyond",
    "income": "analysis.measure.metrics.income:income",
    "income_held": "analysis.measure.metrics.income:held",
    "income_booked": "analysis.measure.metrics.income:booked",
    "server_hours": "analysis.measure.costs.metrics:there",
    "server_hours_on": "analysis.measure.costs.metrics:on",
    "server_hours_used": "analysis.measure.costs.metrics:used",
    "woken": "analysis.measure.costs.metrics:woken",
    "energy": "analysis.measure.costs.metrics:energy",
    "power": "analysis.measure.costs.metrics:power",
    "power_peak": "analysis.measure.costs.metrics:peak",
    "carbon": "analysis.measure.costs.metrics:carbon",
    "cost": "analysis.measure.costs.metrics:cost",
    "cost_servers": "analysis.measure.costs.metrics:servers",
    "cost_electricity": "analysis.measure.costs.metrics:electricity",
    "cost_moves": "analysis.measure.costs.metrics:moves",
    "net": "analysis.measure.costs.metrics:net",
    "drained": "analysis.measure.metrics.drains:drained",
    "undrained": "analysis.measure.metrics.drains:undrained",
    "fragmentation": "analysis.measure.metrics.servers:fragmentation",
    "fragmented_gpu": "analysis.measure.metrics.devices:fragmented",
    "fragmented_gpu_end": "analysis.measure.metrics.devices:at_the_end",
    "fragmented_gpu_both": "analysis.measure.metrics.devices:lacks_both",
    "fragmented_gpu_devices": "analysis.measure.metrics.devices:lacks_devices",
    "fragmented_gpu_cpu": "analysis.measure.metrics.devices:lacks_cpu",
    "fragmented_gpu_model": "analysis.measure.metrics.devices:other_model",
    "fragmented_gpu_no_devices_asked": "analysis.measure.metrics.devices:not_asked",
    "fragmented_gpu_no_devices_asked_no_cpu": "analysis.measure.metrics.devices:not_asked_no_cpu",
    "servers": "analysis.measure.metrics.servers:servers",
    "servers_used": "analysis.measure.metrics.servers:used",
    "moved": "analysis.measure.metrics.moves:moved",
    "downtime": "analysis.measure.metrics.moves:downtime",
    "moves_failed": "analysis.measure.metrics.moves:failed",
    "moves_under_way": "analysis.measure.metrics.moves:under_way",
    "plan_ms": "analysis.measure.metrics.moves:plan_ms",
    "plans_late": "analysis.measure.metrics.moves:late",
    "decision_us": "analysis.measure.metrics.length:decision_us",
}
"""Every run has these, and tables show them in this order; those of a scenario stand after `FOREMOST`."""

FOREMOST = "acceptance"

ASKED = {
    "acceptance_cumulative": "analysis.measure.metrics.requests:cumulative",
    "servers_used_end": "analysis.measure.metrics.servers:used_at_the_end",
    **{
        name: f"analysis.measure.metrics.batch:{name}"
        for name in (
            *("wait_p50", "wait_p99", "turnaround_mean", "turnaround_p50", "turnaround_p95", "turnaround_p99"),
            *("slowdown_mean", "slowdown_p50", "slowdown_p95", "slowdown_p99"),
        )
    },
}
"""Runs have these where their scenario asks for them."""

METRICS = Registry("metric", "binwright.metrics", BUILT_IN | ASKED)
