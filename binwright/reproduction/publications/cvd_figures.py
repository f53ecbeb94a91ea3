"""The figures of CVD-RL's publication, and the runs that only they need."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from agents.learned.common.tensors import SHIPPED
from binwright.reproduction.experiment import Condition, Experiment
from binwright.reproduction.figures import Drawing, Material, intervals, of_kind
from binwright.reproduction.measures import Measure, Runs, averaged, gain_of, mean_of
from binwright.reproduction.verdict import Value

if TYPE_CHECKING:
    from analysis.figures.draw import Figure

BASE = "best-fit"
RULES = {name: name for name in ("first-fit", "best-fit", "internal")}
FILTER = "{best-fit: 4, internal: 3}"
"""Mixed-43."""
PUBLISHED = f"{{cvd-rl: {{weights: published, filter: {FILTER}}}}}"
OUR_SETTINGS = "cvd-rl, our settings"
OURS = "cvd-rl"
"""What that is, in tables and figures alike."""
CHANCE = "random, same candidates"
SIZES = (2, 5, 10, 20, 50)


def epochs() -> str:
    """Say how many epochs the shipped weights had that were trained with the published settings."""
    notes = json.loads((SHIPPED / "cvd-rl-published.json").read_text("utf-8"))
    had, done = notes["trained"]["step"], notes.get("iterations", 0)
    best = f" (trained {done}, best at {had})" if done > had else ""
    return f"{had} of 3,000 epochs{best}"


def trained() -> str:
    """Say that these weights are nearly untrained."""
    return f"cvd-rl, with the published settings, has had {epochs()}, and is nearly untrained"


def at_size(servers: int) -> Condition:
    """Describe the runs on so many servers, half full at the start."""
    agents = RULES | {
        CHANCE: f"{{random-top: {{filter: {FILTER}}}}}",
        "cvd-rl": PUBLISHED,
        OUR_SETTINGS: OURS,
        "padrl": "padrl",
        "hindsight": "hindsight",
    }
    if servers in (10, 50):
        agents["sched-rl"] = f"{{sched-rl: {{weights: huawei-{servers}}}}}"
    return Condition(agents, ("sweep=null", f"cluster.servers={servers}"), 30, quick=3)


OVER_TIME = {
    "allocation": "50 servers, half full at the start",
    "allocation-expansion": "50 servers that grow by tens up to 110, half full at the start",
}
"""By scenario, what is shown over time; the figures have it as their heading."""


def over_time(scenario: str) -> Experiment:
    """Describe the runs of a scenario that records how full the servers are."""
    agents = RULES | {"cvd-rl": PUBLISHED, OUR_SETTINGS: OURS, "hindsight": "hindsight"}
    return Experiment(
        name=scenario,
        tables={},
        scenario=f"cvd/{scenario}",
        conditions={OVER_TIME[scenario]: Condition(agents, (), 10, quick=2)},
        metrics={},
        smallest=("workload.requests=400", "warm_start.until=0", "cluster.servers=3"),
    )


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
DRAWN = "50 servers, months drawn anew"
EXPERIMENTS = (
    Experiment(
        name="sizes",
        tables={},
        scenario="cvd/sizes",
        conditions={f"servers={servers}": at_size(servers) for servers in SIZES},
        metrics={},
        smallest=("workload.requests=300", "warm_start.until=0"),
    ),
    Experiment(
        name="ablation",
        tables={},
        scenario="cvd/ablation",
        conditions={
            DRAWN: Condition(RULES | FILTERS | COUNTS | OPERATORS, (), 100, quick=6),
        },
        metrics={},
        smallest=("workload.requests=300", "warm_start.until=0", "cluster.servers=3"),
    ),
    *map(over_time, OVER_TIME),
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


def gains(agents: dict[str, str], title: str, given: Material) -> Figure:
    """Draw by how many percent agents of the ablation are above Best-Fit, in a row, with their intervals."""
    from analysis.figures.chosen_style import style
    from analysis.figures.style import heading, new, tidy

    runs = given.of("ablation", DRAWN)
    named = {name: gain_of("scheduled", BASE)(runs, name) for name in (*agents, "internal")}
    with style():
        figure = new("column", 0.7 + 0.19 * len(named))
        ax = figure.add_subplot()
        tidy(ax, grid="x")
        for place, value in enumerate(named.values()):
            half = 0.0 if value.high is None else value.high - value.mean
            ax.errorbar(value.mean, place, xerr=half, fmt="o", color="#333333", markersize=3.5, capsize=2, linewidth=1)
        ax.axvline(0.0, color="#888888", linewidth=0.8)
        ax.set_yticks(range(len(named)), list(named))
        ax.invert_yaxis()
        ax.set_xlabel("requests placed, % over best-fit")
        heading(figure, title, "50 servers from a warm start of 50 %, 100 months; 95 % intervals")
    return figure


EVERYONE = (*RULES, CHANCE, "cvd-rl", OUR_SETTINGS, "padrl", "hindsight", "sched-rl")
ABLATION = (
    "Every network was trained with our settings on 10 servers and requests that all end; published are 50 servers "
    "with the published ones. These are months drawn anew, so that intervals say what they promise."
)
MIXED = "Mixed-43 has the weights of k=7, which learned behind 2 candidates of Best-Fit and 5 of internal."
FIGURES = (
    Drawing(
        "1",
        "whole-cluster",
        "An agent that sees the whole cluster, beside the rules, as the cluster grows",
        partial(
            by_size,
            gain_of("scheduled", BASE),
            "% over best-fit",
            "What seeing the whole cluster comes to",
            (*RULES, CHANCE, "sched-rl"),
        ),
        "That learning on the whole cluster falls behind on large ones is the publication's motive; its figure was not "
        "to be had, and this is what our runs say about it.",
    ),
    Drawing(
        "5",
        "episode-time",
        "How long all decisions of an episode take",
        partial(by_size, episode_seconds, "seconds", "Decisions of an episode", EVERYONE),
        f"Times are of one core here; {trained()}.",
    ),
    Drawing(
        "6",
        "lengths",
        "Requests placed on 2 to 50 servers, with the baselines as lines",
        partial(by_size, mean_of("scheduled"), "requests placed", "Requests placed", EVERYONE),
        f"{trained()}; published are whole trainings for each size; ours are of one, and of sched-rl of 10 and 50.",
    ),
    Drawing(
        "7",
        "gains",
        "The same in percent over Best-Fit",
        partial(
            by_size,
            gain_of("scheduled", BASE),
            "% over best-fit",
            "Requests placed, over Best-Fit",
            tuple(name for name in EVERYONE if name != BASE),
        ),
        f"{trained()}. Few days decide these gains: intervals over the seeds are too narrow.",
    ),
    Drawing(
        "8",
        "allocation",
        "Allocation over time, 50 servers",
        of_kind("timeline", ("allocation", OVER_TIME["allocation"])),
        f"{trained()}.",
    ),
    Drawing(
        "9",
        "expansion",
        "Allocation over time, 50 servers that grow by tens up to 110",
        of_kind("timeline", ("allocation-expansion", OVER_TIME["allocation-expansion"])),
        f"{trained()}.",
    ),
    Drawing("10", "filters", "What the filter adds", partial(gains, FILTERS, "Filters"), f"{ABLATION} {MIXED}"),
    Drawing("11", "candidates", "How many candidates", partial(gains, COUNTS, "Candidates of both rules"), ABLATION),
    Drawing("12", "operators", "What the other operators add", partial(gains, OPERATORS, "Operators"), ABLATION),
)
