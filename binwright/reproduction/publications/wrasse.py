"""Wrasse (Rai, Bhagwan and Guha 2012): allocation problems written as balls, bins and resources."""

from __future__ import annotations

from binwright.reproduction.experiment import Condition, Count, Experiment, Metric, Publication
from binwright.reproduction.measures import Runs, averaged, mean_of
from binwright.reproduction.publications import wrasse_counts as counts
from binwright.reproduction.published import Published
from binwright.reproduction.verdict import Value

AGENTS = {"secondnet": "secondnet", "wrasse": "solver"}
MACHINES = "workload.networks.pairs.machines"
TIMES = "Times on other machines and in other languages say nothing about the methods."
PLACED = "virtual data centres placed"
RATE = "solutions checked per second"


def longest(runs: Runs, agent: str) -> Value:
    """Average the longest decision of every run, in milliseconds."""
    return averaged(1000 * counts.array(runs.results.times(run)["seconds"].max() for run in runs.of(agent)["run"]))


def of_the_150th(runs: Runs, agent: str) -> Value:
    """Average the time of the 150th decision of every run, in milliseconds; no values where runs end before."""
    times = (runs.results.times(run)["seconds"].to_list()[149:150] for run in runs.of(agent)["run"])
    return averaged(1000 * counts.array(seconds for found in times for seconds in found))


def timed(one: Published) -> str:
    """Say that times cannot be compared."""
    return TIMES if "milliseconds" in one.metric else ""


def packed(one: Published) -> str:
    """Say which values of the packing cannot be compared: times, and what the inputs were fitted to."""
    if one.metric != "servers":
        return TIMES
    if one.agent == "wrasse":
        return ""
    return "Our inputs were fitted to this value, because the publication prints only averages of its own."


def counted(one: Published) -> str:
    """Say that lines of program code cannot be compared."""
    if one.metric == "lines of code":
        return "Ours is in Python, and shares code with other agents."
    return ""


def unanswered(one: Published) -> str:
    """Say why a value is not compared."""
    if one.agent == "z3 partitioned":
        return "Z3 on parts of the machines is not run here."
    if one.metric == RATE:
        return "No such graphics card is at hand."
    if one.table == "2":
        return "No specification that joins virtual data centres and jobs is shipped."
    return "No experiment answers this value."


PUBLICATION = Publication(
    name="wrasse",
    title="Wrasse",
    reference="Rai, Bhagwan and Guha 2012, Generalized Resource Allocation for the Cloud, SoCC",
    experiments=(
        Count(
            name="lines",
            tables={"2": "Lines of specifications, without comments, and of programs"},
            count=counts.lines,
            keys=frozenset(counts.LINES),
            quicker=False,
            incomparable=counted,
        ),
        Count(
            name="packing",
            tables={
                "4": "Servers for machines that are all known at once",
                "5": "Time of the same",
                "section 8.3": "Speed of the search",
            },
            count=counts.packing,
            keys=counts.PACKING,
            deviates="The machines are drawn: the publication prints averages only. wrasse is the published search as "
            "we read it, for 10 s.",
            incomparable=packed,
        ),
        Experiment(
            name="secondnet",
            tables={"6": "Virtual data centres placed before the first refusal", "section 8.2.1": "Time of the same"},
            scenario="wrasse/secondnet",
            conditions={
                "data=DS1": Condition(AGENTS, ("sweep=null", f"{MACHINES}=100"), seeds=5, quick=2),
                "data=DS2": Condition(AGENTS, ("sweep=null", f"{MACHINES}={{uniform: [64, 128]}}"), seeds=5, quick=2),
            },
            metrics={
                PLACED: Metric(mean_of("scheduled")),
                "mean milliseconds": Metric(mean_of("decision_us", 0.001), "lower"),
                "milliseconds of the 150th": Metric(of_the_150th, "lower"),
            },
            deviates="With the bandwidths that are described every agent, even a random one, fills all slots, so that "
            "the publication's runs must have had something that is not described.",
            smallest=("workload.requests=3",),
            incomparable=timed,
        ),
        Experiment(
            name="oktopus",
            tables={"section 8.2.2": "300 virtual clusters on 16,000 servers"},
            scenario="wrasse/oktopus",
            conditions={
                "servers=16000;clusters=300": Condition({"oktopus": "oktopus", "wrasse": "solver"}, (), 10, quick=2)
            },
            metrics={
                "clusters placed": Metric(mean_of("scheduled")),
                "mean milliseconds": Metric(mean_of("decision_us", 0.001), "lower"),
                "longest milliseconds": Metric(longest, "lower"),
            },
            smallest=("workload.requests=3",),
            incomparable=timed,
        ),
    ),
    unanswered=unanswered,
)
