"""What a run measures, while it goes on and when it is over; third parties add metrics by `binwright.metrics`."""

from binwright.simcore.registry import Registry


def _targets(names: str) -> dict[str, str]:
    """Name the table in which each metric is: that of the module or feature that stands before it, with a colon."""
    found, home = {}, ""
    for name in names.split():
        if name.endswith(":"):
            home = name.removesuffix(":")
            continue
        is_ours = home in ("requests", "cluster")
        module = f"analysis.measure.metrics.{home}" if is_ours else f"scenarios.features.{home}.metrics"
        found[name] = f"binwright.{module}:TABLE"
    return found


BUILT_IN = _targets("""
    requests: offered scheduled scheduled_bound acceptance acceptance_{} rejected impossible running running_lost
    stopped interrupted lost
    preemption: preemptions lost_work_{} spot_evicted quotas: jain borrowed_{} quota_wait
    sites: away spilled latency postponed moves: moves
    requests: wait_total wait_mean wait_p95 wait_max hours makespan
    cluster: allocation allocation_decisions allocation_end utilisation
    links_allocation links_allocation_decisions links_allocation_end links_utilisation
    used_{} contention_{} contended contended_requests contention_p99
    blocked load gang_servers gang_racks servers_per_request span span_0 span_1 span_2 span_3
    costs: income_month income income_held income_booked server_hours server_hours_on server_hours_used woken
    energy power power_peak carbon cost_month cost cost_servers cost_electricity cost_moves net_month net
    cluster: drained undrained fragmentation fragmented_gpu fragmented_gpu_end servers servers_used
    moves: moved downtime moves_failed moves_for_load moves_under_way plan_ms plans_late requests: decision_us
    autoscale: servers_bought bought_hours cost_bought
""")
"""Runs have these without asking, if they have what these need; tables show them in this order. Those of a scenario
stand after `FOREMOST`."""

FOREMOST = "acceptance_{}"

ASKED = _targets("""
    requests: acceptance_cumulative costs: income_year cost_year net_year cluster: servers_used_end
    requests: wait_p50 wait_p99
    turnaround_mean turnaround_p50 turnaround_p95 turnaround_p99 slowdown_mean slowdown_p50 slowdown_p95 slowdown_p99
""")
"""Runs have these where their scenario asks for them."""

METRICS = Registry("metric", "binwright.metrics", BUILT_IN | ASKED)
