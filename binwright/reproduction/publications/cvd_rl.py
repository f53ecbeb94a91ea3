"""CVD-RL (Sheng and others 2025): how many requests servers take before the first that fits nowhere."""

from __future__ import annotations

from dataclasses import replace

from binwright.reproduction.experiment import Condition, Experiment, Metric, Publication
from binwright.reproduction.measures import gain_of_blocks, mean_of_blocks
from binwright.reproduction.publications.cvd_figures import (
    BASE,
    EXPERIMENTS,
    FIGURES,
    OUR_SETTINGS,
    OURS,
    PUBLISHED,
    RULES,
    epochs,
    trained,
)
from binwright.reproduction.publications.vmagent import EXPERIMENT as VMAGENT
from binwright.reproduction.published import Published, published

NAME = "cvd-rl"
LEARNED = {"cvd-rl": PUBLISHED, OUR_SETTINGS: OURS}
"""The agent of the tables has the published settings of training, and beside it is the one with ours."""
RIVALS = {
    "sched-rl": "{sched-rl: {weights: huawei-50}}",
    "padrl": "padrl",
    "hindsight": "hindsight",
}
WARM = (0, 30, 40, 50, 60)
COLUMNS = {
    "scheduled": ("scheduled",),
    "income": ("income_held", "income"),
    "allocation_cpu_percent": ("allocation_cpu_decisions",),
}
"""Where there is a warm start, what that placed earns, too: so read, incomes of clusters that grow are as published."""
GAIN = "% over best-fit"
GAINS = ("scheduled", "income")
DAY = 400
"""Rows of the trace in which runs end by the same events, about a day of requests of 4 cores or more."""
DEVIATES = (
    f"{trained()}; `{OUR_SETTINGS}` learned on 10 servers and requests that all end; PADRL, Hindsight and Internal are "
    "made from few published lines. The machines that never end are reconstructed from the publisher's plots, and the "
    "regime is the one of many readings that comes nearest. Nearly all runs end on few days: intervals are those of "
    "other days drawn from these."
)
EXPLAINED = {
    "first-fit": "It is not explained why First-Fit is published so far below Best-Fit: here both end at the same "
    "bursts.",
    "internal": "Ours is made from one published line, and keeps room for large requests; it lasts longer in few "
    "windows, which decide the mean.",
    "sched-rl": "Ours learned on requests that all end, and its training is known by name only.",
    "padrl": "Ours is made from one published line, learned otherwise, and imitates Best-Fit first.",
    "hindsight": "Ours imitates plans for whole episodes; how the published one was trained is not known.",
}
INCOME = "The publication does not say whose income counts; ours is that of all that is held while the run lasts."


def gains(table: str) -> tuple[Published, ...]:
    """Derive from a table by how many percent every agent is above Best-Fit.

    Our settings are held to what is published for cvd-rl, in these and in the printed values.
    """
    rows = [one for one in published(NAME) if one.table == table]
    bases = {(one.condition, one.metric): one.value for one in rows if one.agent == BASE}
    found = []
    for one in rows:
        base = bases[one.condition, one.metric]
        if one.agent == "cvd-rl":
            found.append(replace(one, agent=OUR_SETTINGS))
        if one.agent != BASE and one.metric in GAINS and base and one.value is not None:
            spread = None if one.spread is None else round(100 * one.spread / base, 2)
            gain = f"{100 * (one.value / base - 1):.2f}"
            agents = (one.agent, OUR_SETTINGS) if one.agent == "cvd-rl" else (one.agent,)
            metric = f"{one.metric}, {GAIN}"
            found += [Published(NAME, table, one.condition, agent, metric, gain, spread) for agent in agents]
    return tuple(found)


def explained(one: Published) -> str:
    """Say why a value is not reproduced, where that is known."""
    if one.metric == "income" and one.agent == BASE:
        return INCOME
    return EXPLAINED.get(one.agent, "")


def table(number: str, servers: str, title: str, agents: dict[str, str], seeds: int) -> Experiment:
    """Describe the runs of one table."""
    return Experiment(
        name=f"table{number}",
        tables={number: f"{title}; cvd-rl has had {epochs()}"},
        scenario=f"cvd/table{number}",
        conditions={
            f"servers={servers};warm_start={warm}%": Condition(
                agents, ("sweep=null", f"warm_start.until={warm / 100}"), seeds, quick=4
            )
            for warm in WARM
        },
        metrics={
            **{
                name: Metric(mean_of_blocks(columns, DAY, 100 if name.endswith("percent") else 1))
                for name, columns in COLUMNS.items()
            },
            **{f"{name}, {GAIN}": Metric(gain_of_blocks(COLUMNS[name], BASE, DAY)) for name in GAINS},
        },
        deviates=DEVIATES,
        smallest=("workload.requests=400", "warm_start.until=0"),
        derived=gains(number),
        remark=lambda one: f"{trained()}." if one.agent == "cvd-rl" else "",
        explained=explained,
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
        table("3", "100", "100 servers, by agents that learned on fewer", RULES | LEARNED, 60),
        table("4", "50..110 by 10", "50 servers that grow by tens up to 110", RULES | LEARNED, 40),
        VMAGENT,
        *EXPERIMENTS,
    ),
    unanswered=unanswered,
    figures=FIGURES,
)
