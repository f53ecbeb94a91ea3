"""What a run measures, while it goes on and when it is over; third parties add metrics by `binwright.metrics`."""

from binwright.simcore.registry import Registry


def _targets(names: str) -> dict[str, str]:
    """Name the table in which each metric is: that of the module or feature that stands before it, with a colon."""
    result, home = {}, ""
    for name in names.split():
        if name.endswith(":"):
            home = name.removesuffix(":")
            continue
        is_ours = home in ("requests", "cluster")
        module = f"analysis.measure.metrics.{home}" if is_ours else f"scenarios.features.{home}"
        result[name] = f"binwright.{module}:TABLE"
    return result


BUILT_IN = _targets("""
    requests: offered scheduled acceptance acceptance_{} rejected impossible running_lost stopped interrupted lost
    preemption: preemptions lost_work_{} quotas.metrics: jain quota_wait sites.run: away spilled latency
    moves.metrics: moves
    requests: wait_total wait_mean wait_p95 hours makespan
    cluster: allocation allocation_decisions allocation_end utilisation links_allocation links_allocation_decisions
    used_{} contention_{} contended contention_p99 gang_servers span span_0 span_1 span_2 span_3
    costs: income_month income income_held server_hours_on energy carbon cost_month cost cost_electricity net_month
    cluster: drained undrained fragmentation fragmented_gpu servers servers_used
    moves.metrics: moves_failed requests: decision_us autoscale: servers_bought cost_bought
""")
"""Runs have these without asking, if they have what these need; tables show them in this order. Those of a scenario
stand after `FOREMOST`."""

FOREMOST = "acceptance_{}"

ON_DEMAND = _targets("requests: acceptance_cumulative turnaround_mean slowdown_mean cluster: servers_used_end")
"""Runs have these where their scenario asks for them."""

METRICS = Registry("metric", "binwright.metrics", BUILT_IN | ON_DEMAND)
