"""What a run measures, while it goes on and when it is over; third parties add metrics by `binwright.metrics`."""

from binwright.simcore.registry import Registry


def _targets(names: str) -> dict[str, str]:
    return {name: f"binwright.analysis.measure.metrics:{name}" for name in names.split()}


BUILT_IN = _targets("""
    offered scheduled scheduled_bound acceptance acceptance_{} rejected impossible running running_lost
    stopped interrupted lost
    preemptions lost_work_{} spot_evicted jain borrowed_{} quota_wait away spilled latency postponed moves
    wait_total wait_mean wait_p95 wait_max hours makespan
    allocation allocation_decisions allocation_end utilisation
    links_allocation links_allocation_decisions links_allocation_end links_utilisation
    used_{} contention_{} contended contended_requests contention_p99
    blocked load gang_servers gang_racks servers_per_request span span_0 span_1 span_2 span_3
    income_month income income_held income_booked server_hours server_hours_on server_hours_used woken
    energy power power_peak carbon cost_month cost cost_servers cost_electricity cost_moves net_month net
    drained undrained fragmentation fragmented_gpu fragmented_gpu_end
    servers servers_used moved downtime moves_failed moves_for_load moves_under_way plan_ms plans_late decision_us
""") | {name: f"binwright.scenarios.features.autoscale.metrics:{name}"
         for name in ("servers_bought", "bought_hours", "cost_bought")}  # fmt: skip
"""Runs have these without asking, if they have what these need; tables show them in this order. Those of a scenario
stand after `FOREMOST`."""

FOREMOST = "acceptance_{}"

ASKED = _targets("""
    acceptance_cumulative income_year cost_year net_year servers_used_end wait_p50 wait_p99
    turnaround_mean turnaround_p50 turnaround_p95 turnaround_p99 slowdown_mean slowdown_p50 slowdown_p95 slowdown_p99
""")
"""Runs have these where their scenario asks for them."""

METRICS = Registry("metric", "binwright.metrics", BUILT_IN | ASKED)
