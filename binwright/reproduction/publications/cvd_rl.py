"""CVD-RL (Sheng and others 2025): how many requests servers take before the first that fits nowhere."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from agents.learned.common.tensors import SHIPPED
from binwright.reproduction.claims import Published, Value, published
from binwright.reproduction.experiment import Condition, Experiment, Note, Publication
from binwright.reproduction.figures import Drawing, Material, intervals, of_kind
from binwright.reproduction.measures import Measure, Runs, averaged, gain_of, mean_of
from binwright.reproduction.publications.vmagent import EXPERIMENT as VMAGENT

if TYPE_CHECKING:
    from analysis.figures.draw import Figure

NAME = "cvd-rl"
BASE = "best-fit"
RULES = {name: name for name in ("first-fit", "best-fit", "internal")}
FILTER = "{best-fit: 4, internal: 3}"
"""Mixed-43."""
OUR_SETTINGS = "cvd-rl, our settings"
"""The agent of the tables has the published settings of training, and beside it is the one with ours."""
LEARNED = {"cvd-rl": f"{{cvd-rl: {{weights: published, filter: {FILTER}}}}}", OUR_SETTINGS: "cvd-rl"}
RIVALS = {"sched-rl": "{sched-rl: {weights: huawei-50}}", "padrl": "padrl", "hindsight": "hindsight"}
WARM = (0, 30, 40, 50, 60)
GAIN = "% over best-fit"
COLUMNS = {"scheduled": ("scheduled",), "income": ("income_held", "income")}
"""Where there is a warm start, what that placed earns, too: so read, incomes of clusters that grow are as published."""
DAY = 400
"""Rows of the trace in which runs end by the same events, about a day of requests of 4 cores or more."""
MEASURES = {
    **{name: mean_of(*columns, rows=DAY) for name, columns in COLUMNS.items()},
    "allocation_cpu_percent": mean_of("allocation_cpu_decisions", scale=100, rows=DAY),
    **{f"{name}, {GAIN}": gain_of(BASE, *columns, rows=DAY) for name, columns in COLUMNS.items()},
}
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


def epochs() -> str:
    """Say how many epochs the shipped weights had that were trained with the published settings."""
    notes = json.loads((SHIPPED / "cvd-rl-published.json").read_text("utf-8"))
    had, done = notes["trained"]["step"], notes.get("iterations", 0)
    best = f" (trained {done}, best at {had})" if done > had else ""
    return f"{had} of 3,000 epochs{best}"


def trained() -> str:
    """Say that these weights are nearly untrained."""
    return f"cvd-rl, with the published settings, has had {epochs()}, and is nearly untrained"


def gains(table: str) -> tuple[Published, ...]:
    """Derive from a table by how many percent every agent is above Best-Fit.

    Our settings are held to what is published for cvd-rl, in these and in the printed values.
    """
    rows = [one for one in published(NAME) if one.table == table]
    bases = {(one.condition, one.metric): one.value for one in rows if one.agent == BASE}
    found = []
    for one in rows:
        agents = (one.agent, OUR_SETTINGS) if one.agent == "cvd-rl" else (one.agent,)
        found += [replace(one, agent=agent) for agent in agents[1:]]
        base = bases[one.condition, one.metric]
        if one.agent != BASE and one.metric in COLUMNS and base and one.value is not None:
            spread = None if one.spread is None else round(100 * one.spread / base, 2)
            gain, metric = f"{100 * (one.value / base - 1):.2f}", f"{one.metric}, {GAIN}"
            found += [replace(one, agent=agent, metric=metric, printed=gain, spread=spread) for agent in agents]
    return tuple(found)


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
        measures=MEASURES,
        deviates=f"{trained()}; `{OUR_SETTINGS}` learned on 10 servers and requests that all end; PADRL, Hindsight and "
        "Internal are made from few published lines. The machines that never end are reconstructed from the "
        "publisher's plots, and the regime is the one of many readings that comes nearest. Nearly all runs end on few "
        "days: intervals are those of other days drawn from these.",
        smallest=("workload.requests=400", "warm_start.until=0"),
        derived=gains(number),
        notes=(
            Note("remark", f"{trained()}.", agent="cvd-rl"),
            Note("explained", INCOME, agent=BASE, metric="income"),
            *(Note("explained", why, agent=agent) for agent, why in EXPLAINED.items()),
        ),
    )


def unanswered(one: Published) -> str:
    """Say why a value of Table 1 is not compared."""
    said = {"epochs": f"; {trained()}", "seeds": "; one training is shipped"}.get(one.metric, "")
    return f"This is a setting of the training, not a result: it is that of cvd/published{said}."


# -- the figures, and the runs that only they need ---------------------------------------------------------------------

CHANCE = "random, same candidates"
SIZES = (2, 5, 10, 20, 50)
OVER_BASE = gain_of(BASE, "scheduled")
EVERYONE = (*RULES, CHANCE, "cvd-rl", OUR_SETTINGS, "padrl", "hindsight", "sched-rl")
FULL, GROWING = "50 servers, half full at the start", "50 servers that grow by tens up to 110, half full at the start"
DRAWN = "50 servers, months drawn anew"
FILTERS = {
    "Mixed-43": f"{{cvd-rl: {{weights: huawei-10-k7, filter: {FILTER}}}}}",
    "best-fit, 5": "{cvd-rl: {filter: best-fit, weights: huawei-10-by-best-fit}}",
    "internal, 5": "{cvd-rl: {filter: internal, weights: huawei-10-by-internal}}",
    "none": "{cvd-rl: {filter: none, weights: huawei-10-no-filter}}",
    "Mixed-43, at random": f"{{random-top: {{filter: {FILTER}}}}}",
    "none, at random": "{random-top: {filter: none}}",
}
COUNTS = {
    "k=3": "{cvd-rl: {k: 3, weights: huawei-10-k3}}",
    "k=5": "cvd-rl",
    "k=7": "{cvd-rl: {k: 7, weights: huawei-10-k7}}",
    "k=10": "{cvd-rl: {k: 10, weights: huawei-10-k10}}",
}
OPERATORS = {
    "with both": "cvd-rl",
    "without look-ahead": "{cvd-rl: {lookahead: false, weights: huawei-10-no-lookahead}}",
    "untrained": "{cvd-rl: {weights: untrained}}",
    "at random": "random-top",
}


def at_size(servers: int) -> Condition:
    """Describe the runs on so many servers, half full at the start."""
    chance = {CHANCE: f"{{random-top: {{filter: {FILTER}}}}}"}
    agents = RULES | chance | LEARNED | {"padrl": "padrl", "hindsight": "hindsight"}
    if servers in (10, 50):
        agents["sched-rl"] = f"{{sched-rl: {{weights: huawei-{servers}}}}}"
    return Condition(agents, ("sweep=null", f"cluster.servers={servers}"), 30, quick=3)


def runs_of(name: str, conditions: dict[str, Condition], *smallest: str) -> Experiment:
    """Describe runs of a scenario that only figures are drawn from."""
    smallest = (*smallest, "warm_start.until=0")
    return Experiment(name=name, scenario=f"cvd/{name}", conditions=conditions, smallest=smallest)


OVER_TIME = Condition(RULES | LEARNED | {"hindsight": "hindsight"}, (), 10, quick=2)
FEW = ("workload.requests=300", "cluster.servers=3")
EXPERIMENTS = (
    runs_of("sizes", {f"servers={servers}": at_size(servers) for servers in SIZES}, "workload.requests=300"),
    runs_of("ablation", {DRAWN: Condition(RULES | FILTERS | COUNTS | OPERATORS, (), 100, quick=6)}, *FEW),
    runs_of("allocation", {FULL: OVER_TIME}, "workload.requests=400", "cluster.servers=3"),
    runs_of("allocation-expansion", {GROWING: OVER_TIME}, "workload.requests=400", "cluster.servers=3"),
)


def episode_seconds(runs: Runs, agent: str) -> Value:
    """Measure how long the decisions of a run take together, in seconds."""
    return averaged(runs.values(agent, "decision_us") * (runs.values(agent, "scheduled") + 1) / 1e6)


def by_size(measure: Measure, y: str, title: str, agents: tuple[str, ...], given: Material) -> Figure:
    """Draw a measure over the number of servers; a size that an agent is not trained for is left out."""
    from analysis.figures.lines import Line, Panel, lines

    runs = {servers: given.of("sizes", f"servers={servers}") for servers in SIZES}
    found: list[Line] = []
    measured: list[Value] = []
    for agent in agents:
        there = {servers: one for servers, one in runs.items() if agent in one.labels and len(one.of(agent))}
        values = {servers: measure(one, agent) for servers, one in there.items()}
        found.append(Line(agent, [(servers, one.mean, one.low, one.high) for servers, one in values.items()]))
        measured += values.values()
    figure = lines([Panel(found, "servers", y)], title, caption=intervals(measured), logarithmic=True)
    figure.axes[0].set_xticks(list(SIZES), [str(servers) for servers in SIZES])
    figure.axes[0].set_xticks([], minor=True)
    return figure


def ablation(agents: dict[str, str], title: str, given: Material) -> Figure:
    """Draw by how many percent agents of the ablation are above Best-Fit, in a row, with their intervals."""
    from analysis.figures.dots import Dot, Panel, dots

    runs = given.of("ablation", DRAWN)
    found = [Dot(name, *OVER_BASE(runs, name)[:3]) for name in (*agents, "internal")]
    caption = "50 servers from a warm start of 50 %, 100 months; 95 % intervals"
    return dots([Panel(found, "requests placed, % over best-fit")], title, caption=caption, width="column")


def figures() -> tuple[Drawing, ...]:
    """Declare the figures."""
    little = "cvd-rl is nearly untrained, as above."
    few = (*RULES, CHANCE, "sched-rl")
    others = tuple(name for name in EVERYONE if name != BASE)
    percent, placed = "% over best-fit", "requests placed"
    anew = (
        "Every network was trained with our settings on 10 servers and requests that all end; published are 50 servers "
        "with the published ones. These are months drawn anew, so that intervals say what they promise."
    )
    same = "Measured as figure 10."
    whole, growing = "Allocation over time, 50 servers", "Allocation over time, 50 servers that grow by tens up to 110"
    return (
        Drawing(
            "1",
            "whole-cluster",
            "An agent that sees the whole cluster, beside the rules, as the cluster grows",
            partial(by_size, OVER_BASE, percent, "What seeing the whole cluster comes to", few),
            "The publication's motive; its figure was not to be had.",
        ),
        Drawing(
            "5",
            "episode-time",
            "How long all decisions of an episode take",
            partial(by_size, episode_seconds, "seconds", "Decisions of an episode", EVERYONE),
            f"Times are of one core here; {little}",
        ),
        Drawing(
            "6",
            "lengths",
            "Requests placed on 2 to 50 servers, with the baselines as lines",
            partial(by_size, mean_of("scheduled"), placed, "Requests placed", EVERYONE),
            f"{little[:-1]}; published are whole trainings for each size; ours are of one, and of sched-rl of 10 and "
            "50.",
        ),
        Drawing(
            "7",
            "gains",
            "The same in percent over Best-Fit",
            partial(by_size, OVER_BASE, percent, "Requests placed, over Best-Fit", others),
            f"{little} Few days decide these gains: intervals over the seeds are too narrow.",
        ),
        Drawing("8", "allocation", whole, of_kind("timeline", ("allocation", FULL)), little),
        Drawing("9", "expansion", growing, of_kind("timeline", ("allocation-expansion", GROWING)), little),
        Drawing(
            "10",
            "filters",
            "What the filter adds",
            partial(ablation, FILTERS, "Filters"),
            f"{anew} Mixed-43 has the weights of k=7, which learned behind 2 candidates of Best-Fit and 5 of internal.",
        ),
        Drawing("11", "candidates", "How many candidates", partial(ablation, COUNTS, "Candidates of both rules"), same),
        Drawing("12", "operators", "What the other operators add", partial(ablation, OPERATORS, "Operators"), same),
    )


def describe() -> Publication:
    """Describe the publication."""
    return Publication(
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
        figures=figures(),
    )
