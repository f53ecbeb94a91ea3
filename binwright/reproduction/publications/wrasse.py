"""Wrasse (Rai, Bhagwan and Guha 2012): allocation problems written as balls, bins and resources."""

from __future__ import annotations

from binwright.reproduction.experiment import Condition, Count, Experiment, Metric, Publication
from binwright.reproduction.figures import Drawing, of_kind
from binwright.reproduction.measures import gain_of, mean_of
from binwright.reproduction.publications import wrasse_counts as counts
from binwright.reproduction.publications import wrasse_times as times
from binwright.reproduction.published import Published, published

NETWORKS = {"secondnet": "secondnet", "wrasse": "solver"}
CLUSTERS = {"oktopus": "oktopus", "wrasse": "solver"}
PAIRS = "workload.networks.pairs"
PLACED = "virtual data centres placed"
GAIN = f"{PLACED}, % over secondnet"
DS1, DS2, CLUSTER = "data=DS1", "data=DS2", "servers=16000;clusters=300"
WIDE, SMALL = "data=DS1 with 5.1 Gbps", "data=DS2 with 72 machines"
"""Conditions of ours beside DS1 and DS2, under which the published numbers can come about."""
TIMES = "Times on other machines and in other languages say nothing about the methods."


def placed_derived() -> tuple[Published, ...]:
    """Derive by how many percent Wrasse placed more, and what our own conditions are held to."""
    values = {(one.condition, one.agent): one for one in published("wrasse") if one.metric == PLACED}
    found = []
    for condition, ours in ((DS1, DS1), (DS1, WIDE), (DS2, DS2), (DS2, SMALL)):
        both = [values[condition, agent] for agent in NETWORKS]
        if ours != condition:
            found += [Published("wrasse", "6", ours, one.agent, PLACED, one.printed) for one in both]
        base, more = (one.value or 0.0 for one in both)
        found.append(Published("wrasse", "6", ours, "wrasse", GAIN, f"{100 * (more / base - 1):.2f}"))
    return tuple(found)


def timed(one: Published) -> str:
    """Say that times of their own cannot be compared."""
    return TIMES if one.metric.endswith(("milliseconds", "milliseconds of the 150th")) else ""


def packed(one: Published) -> str:
    """Say which values of the packing cannot be compared: times, and what the inputs were fitted to."""
    if one.metric == "milliseconds":
        return TIMES
    if one.agent in (*counts.HEURISTICS, "lower bound"):
        return "Our inputs were fitted to this value, because the publication prints only averages of its own."
    return ""


def counted(one: Published) -> str:
    """Say that lines of program code cannot be compared."""
    if one.metric == "lines of code":
        return "Ours is in Python, and shares code with other agents."
    return ""


def about_lines(one: Published) -> str:
    """Say what is counted of a specification."""
    if one.metric == counts.SPECIFIED:
        return "Ours has the numbers of an example in it; what the publication counts is not said."
    return ""


def about_packing(one: Published) -> str:
    """Say whose search a derived value is of, and how Z3 is run."""
    if one.agent == "solver":
        return "Ours is our own search, held to the servers that wrasse is published with."
    if one.agent == counts.Z3:
        return "The size of the published parts is not known; ours have 80 machines."
    return ""


def about_networks(one: Published) -> str:
    """Say what a condition is, and why one published value cannot be reached."""
    if one.condition == WIDE:
        return "This is DS1 with the bandwidth at which our secondnet places what is published."
    if one.condition == SMALL:
        return "This is 64 machines and an exponential number of mean 8: 221 networks fit with such a mean only."
    if one.condition == DS2 and one.agent == "wrasse" and one.metric == PLACED:
        return "221 networks of 64 to 128 machines, 96 in the mean, need 21,216 slots; there are 16,384."
    return ""


PUBLICATION = Publication(
    name="wrasse",
    title="Wrasse",
    reference="Rai, Bhagwan and Guha 2012, Generalized Resource Allocation for the Cloud, SoCC",
    own=lambda agent: agent.startswith(("wrasse", "solver")),
    experiments=(
        Count(
            name="lines",
            tables={"2": "Lines of specifications, without comments, and of programs"},
            count=counts.lines,
            keys=frozenset(counts.LINES),
            quicker=False,
            incomparable=counted,
            remark=about_lines,
        ),
        Count(
            name="packing",
            tables={"4": "Servers for machines that are all known at once", "5": "Time of the same"},
            count=counts.packing,
            keys=counts.PACKING,
            deviates="The machines are drawn: the publication prints averages only. wrasse is the published search as "
            "we read it, for 10 s; its time is that after which the answer was there.",
            derived=counts.packing_derived(),
            incomparable=packed,
            remark=about_packing,
        ),
        Count(
            name="speed",
            tables={"section 8.3": "Speed of the search"},
            count=counts.speed,
            keys=frozenset((counts.PGRANK, agent, counts.RATE) for agent in (counts.CARD, counts.CORES)),
            deviates="Attempts to put the machines into 87 servers, which none can: on two threads of the processor, "
            "and by OpenCL on a graphics card where there is one.",
            incomparable=lambda one: TIMES,
        ),
        Experiment(
            name="secondnet",
            tables={"6": "Virtual data centres placed before the first refusal", "section 8.2.1": "Time of the same"},
            scenario="wrasse/secondnet",
            conditions={
                DS1: Condition(NETWORKS, ("sweep=null", f"{PAIRS}.machines=100"), seeds=5, quick=3),
                DS2: Condition(NETWORKS, ("sweep=null", f"{PAIRS}.machines={{uniform: [64, 128]}}"), seeds=5, quick=2),
                SMALL: Condition(
                    NETWORKS, ("sweep=null", f"{PAIRS}.machines={{exponential: {{mean: 8, above: 64}}}}"), 5, quick=2
                ),
                WIDE: Condition(
                    NETWORKS, ("sweep=null", f"{PAIRS}.machines=100", f"{PAIRS}.bandwidth=5.1 Gbps"), 5, quick=1
                ),
            },
            metrics={
                PLACED: Metric(mean_of("scheduled")),
                GAIN: Metric(gain_of("scheduled", "secondnet")),
                "mean milliseconds": Metric(mean_of("decision_us", 0.001), "lower"),
                "milliseconds of the 150th": Metric(times.of_the_150th, "lower"),
                times.beside("secondnet"): Metric(times.ratio_to("secondnet"), "lower"),
                times.LATE: Metric(times.late, "lower"),
            },
            deviates="With the bandwidths that are described every agent, even a random one, fills all slots, so that "
            "the publication's runs must have had something that is not described.",
            smallest=("workload.requests=3",),
            derived=(*placed_derived(), *times.networks()),
            incomparable=timed,
            remark=about_networks,
        ),
        Experiment(
            name="oktopus",
            tables={"section 8.2.2": "300 virtual clusters on 16,000 servers"},
            scenario="wrasse/oktopus",
            conditions={CLUSTER: Condition(CLUSTERS, (), 10, quick=4)},
            metrics={
                "clusters placed": Metric(mean_of("scheduled")),
                "mean milliseconds": Metric(mean_of("decision_us", 0.001), "lower"),
                "longest milliseconds": Metric(times.longest, "lower"),
                times.beside("oktopus"): Metric(times.ratio_to("oktopus"), "lower"),
                times.LONGEST: Metric(times.longest_over_mean, "lower"),
            },
            smallest=("workload.requests=3",),
            derived=times.clusters(),
            incomparable=timed,
        ),
    ),
    unanswered=lambda one: "No experiment answers this value.",
    figures=(
        Drawing(
            "2",
            "secondnet-times",
            "Time of every decision on the virtual data centres of DS1, by order of arrival",
            of_kind("decisions", ("secondnet", DS1)),
            "Published are 525 ms for wrasse and 925 ms for secondnet in the mean, and 5.8 s for wrasse's 150th.",
        ),
        Drawing(
            "3",
            "oktopus-times",
            "Time of every decision on virtual clusters, by order of arrival",
            of_kind("decisions", ("oktopus", CLUSTER)),
            "Published are 183 ms for wrasse and 35.6 ms for oktopus in the mean, and 2.6 s at most for wrasse.",
        ),
    ),
)
