"""CVD-RL (Sheng and others 2025): how many requests servers take before the first that fits nowhere."""

from __future__ import annotations

from binwright.reproduction.experiment import Condition, Experiment, Metric, Publication
from binwright.reproduction.measures import gain_of, mean_of
from binwright.reproduction.published import Published, published

NAME, BASE = "cvd-rl", "best-fit"
RULES = {name: name for name in ("first-fit", "best-fit", "internal")}
LEARNED = {"cvd-rl": "{cvd-rl: {weights: huawei-50}}"}
RIVALS = {"padrl": "{padrl: {weights: huawei-50}}", "hindsight": "{hindsight: {weights: huawei-50}}"}
WARM = (0, 30, 40, 50, 60)
COLUMNS = {"scheduled": "scheduled", "income": "income", "allocation_cpu_percent": "allocation_cpu"}
GAIN = "% over best-fit"
GAINS = ("scheduled", "income")
SETTINGS = {
    "learning_rate": ".0005 as well",
    "epochs": "3,000 as well",
    "discount": ".99 here",
    "epsilon": "here from 1 to .05 in the first 300 iterations",
    "batch": "16 batches of 128 here",
    "buffer": "50,000 here",
    "optimiser": "Adam as well",
    "target_tau": "here the target network is a copy after every 100 batches",
    "network": "here five hidden layers of 32, with ReLU",
    "episodes_per_epoch": "5 as well",
    "seeds": "3 trainings on 10 servers and 1 on 50 here",
}
TRACE = "The workloads differ: the published trace fills 50 servers five times sooner, and has machines that never end."
DEVIATES = (
    "Windows of Huawei-East-1 are overlaid, because one window never fills the servers; all its machines end; training "
    "takes as many episodes as published, with settings of our own; PADRL, Hindsight and Internal are made from few "
    "published lines."
)


def gains(table: str) -> tuple[Published, ...]:
    """Derive from a table by how many percent every agent is above Best-Fit, which other workloads can be held to."""
    rows = [one for one in published(NAME) if one.table == table]
    bases = {(one.condition, one.metric): one.value for one in rows if one.agent == BASE}
    found = []
    for one in rows:
        base = bases[one.condition, one.metric]
        if one.agent != BASE and one.metric in GAINS and base and one.value is not None:
            spread = None if one.spread is None else round(100 * one.spread / base, 2)
            gain = f"{100 * (one.value / base - 1):.2f}"
            found.append(Published(NAME, table, one.condition, one.agent, f"{one.metric}, {GAIN}", gain, spread))
    return tuple(found)


def table(number: str, servers: str, title: str, agents: dict[str, str], seeds: int) -> Experiment:
    """Describe the runs of one table."""
    return Experiment(
        name=f"table-{number}",
        tables={number: title},
        scenario=f"cvd/table-{number}",
        conditions={
            f"servers={servers};warm_start={warm}%": Condition(
                agents, ("sweep=null", f"warm_start.until={warm / 100}"), seeds, quick=5
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
        smallest=("cluster.servers=2", "workload.requests=400", "workload.superpose=2"),
        derived=gains(number),
        incomparable=lambda one: "" if one.metric.endswith(GAIN) else TRACE,
    )


def unanswered(one: Published) -> str:
    """Say why a value is not compared."""
    if one.table == "1":
        return f"This is a setting of the training, not a result; {SETTINGS[one.metric]}."
    if one.agent == "sched-rl":
        return "SchedRL sees the whole cluster, and is trained here for ten servers only."
    return "No experiment answers this value."


PUBLICATION = Publication(
    name=NAME,
    title="CVD-RL",
    reference="Sheng and others 2025, arXiv:2503.00537",
    experiments=(
        table("2", "50", "50 servers", RULES | LEARNED | RIVALS, 60),
        table("3", "100", "100 servers, by agents that learned on 50", RULES | LEARNED, 40),
        table("4", "50..110 by 10", "50 servers that grow by tens up to 110", RULES | LEARNED, 24),
    ),
    unanswered=unanswered,
)
