"""CVD-RL (Sheng and others 2025): how many requests servers take before the first that fits nowhere."""

from __future__ import annotations

from binwright.reproduction.experiment import Condition, Experiment, Metric, Publication
from binwright.reproduction.measures import gain_of, mean_of
from binwright.reproduction.publications.cvd_figures import (
    EXPERIMENTS,
    FIGURES,
    OUR_SETTINGS,
    OURS,
    PUBLISHED,
    RULES,
    epochs,
    trained,
)
from binwright.reproduction.published import Published, published

NAME, BASE = "cvd-rl", "best-fit"
LEARNED = {"cvd-rl": PUBLISHED, OUR_SETTINGS: OURS}
"""The agent of the tables has the published settings of training, and beside it is the one with ours."""
RIVALS = {
    "sched-rl": "{sched-rl: {weights: huawei-50}}",
    "padrl": "{padrl: {weights: huawei-50}}",
    "hindsight": "{hindsight: {weights: huawei-50}}",
}
WARM = (0, 30, 40, 50, 60)
COLUMNS = {"scheduled": "scheduled", "income": "income", "allocation_cpu_percent": "allocation_cpu"}
GAIN = "% over best-fit"
GAINS = ("scheduled", "income")
TRACE = "The workloads differ: the published trace fills 50 servers five times sooner, and has machines that never end."
DEVIATES = (
    f"{trained()}. It was trained once and not five times; `{OUR_SETTINGS}` has played as many episodes as published, "
    "and learned from them with other settings; windows of Huawei-East-1 are overlaid, because one window never fills "
    "the servers; all its machines end; PADRL, Hindsight and Internal are made from few published lines."
)


def gains(table: str) -> tuple[Published, ...]:
    """Derive from a table by how many percent every agent is above Best-Fit, which other workloads can be held to.

    Our settings are held to what is published for cvd-rl.
    """
    rows = [one for one in published(NAME) if one.table == table]
    bases = {(one.condition, one.metric): one.value for one in rows if one.agent == BASE}
    found = []
    for one in rows:
        base = bases[one.condition, one.metric]
        if one.agent != BASE and one.metric in GAINS and base and one.value is not None:
            spread = None if one.spread is None else round(100 * one.spread / base, 2)
            gain = f"{100 * (one.value / base - 1):.2f}"
            agents = (one.agent, OUR_SETTINGS) if one.agent == "cvd-rl" else (one.agent,)
            metric = f"{one.metric}, {GAIN}"
            found += [Published(NAME, table, one.condition, agent, metric, gain, spread) for agent in agents]
    return tuple(found)


def table(number: str, servers: str, title: str, agents: dict[str, str], seeds: int) -> Experiment:
    """Describe the runs of one table."""
    return Experiment(
        name=f"table-{number}",
        tables={number: f"{title}; cvd-rl has had {epochs()}"},
        scenario=f"cvd/table-{number}",
        conditions={
            f"servers={servers};warm_start={warm}%": Condition(
                agents, ("sweep=null", f"warm_start.until={warm / 100}"), seeds, quick=4
            )
            for warm in WARM
        },
        metrics={
            **{
                name: Metric(mean_of(column, 100 if name.endswith("percent") else 1))
                for name, column in COLUMNS.items()
            },
            **{f"{name}, {GAIN}": Metric(gain_of(COLUMNS[name], BASE)) for name in GAINS},
        },
        deviates=DEVIATES,
        smallest=("workload.requests=400", "workload.superpose=2", "warm_start.until=0"),
        derived=gains(number),
        remark=lambda one: f"{trained()}." if one.agent == "cvd-rl" else "",
        incomparable=lambda one: "" if one.metric.endswith(GAIN) else TRACE,
    )


def unanswered(one: Published) -> str:
    """Say why a value is not compared."""
    if one.table == "1":
        said = f"; {trained()}" if one.metric == "epochs" else ""
        said = "; one training is shipped" if one.metric == "seeds" else said
        return f"This is a setting of the training, not a result: it is that of cvd/published{said}."
    return "No experiment answers this value."


PUBLICATION = Publication(
    name=NAME,
    title="CVD-RL",
    reference="Sheng and others 2025, arXiv:2503.00537",
    own=lambda agent: agent == "cvd-rl",
    experiments=(
        table("2", "50", "50 servers", RULES | LEARNED | RIVALS, 60),
        table("3", "100", "100 servers, by agents that learned on 50", RULES | LEARNED, 40),
        table("4", "50..110 by 10", "50 servers that grow by tens up to 110", RULES | LEARNED, 24),
        *EXPERIMENTS,
    ),
    unanswered=unanswered,
    figures=FIGURES,
)
