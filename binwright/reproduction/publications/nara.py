"""Nara (Shabka and Zervas 2021): requests for several servers in a three-tier network."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from binwright.reproduction.claims import Published, Value, published
from binwright.reproduction.experiment import Condition, Experiment, Note, Publication
from binwright.reproduction.figures import Drawing, Material, of_kind
from binwright.reproduction.measures import Measure, Runs, above, averaged, mean_of
from simcore.errors import UserError, WorkloadError
from workloads.demands import DEMANDS

if TYPE_CHECKING:
    from analysis.figures.draw import Figure

BASELINES = {"random": "random", "tetris": "{tetris: {near: ever, links: misplaced}}"}
"""Tetris as in the authors' program (docs/experiments/nara.md has it as described, too)."""
SMALL = {"nulb": "nulb", "nalb": "nalb"}
"""Baselines whose values are printed for alpha and beta only: searched as in the program, with routes by hops."""
TRAINED = {
    "uniform": "{nara: {weights: text-alpha-uniform}}",
    "azure": "{nara: {weights: text-azure-like}}",
    "alibaba": "{nara: {weights: text-alibaba-like}}",
    "uniform_beta": "{nara: {weights: text-beta-uniform}}",
    "azure_beta": "{nara: {weights: text-beta-azure-like}}",
    "alibaba_beta": "{nara: {weights: text-beta-alibaba-like}}",
}
"""Nara in the form of the text, trained by us with each demand on alpha or, `_beta`, on beta. Weights that the authors
published are called so, too. The rows of Table 1 repeat those of Tables 6 and 7 that were trained so."""
THEIRS = ", published weights"
"""Behind the name of an agent that has the weights that the authors published."""
HOLDING = {"uniform": 30, "azure": 24, "alibaba": 36}
"""The demands, and H, the bound of their holding times on alpha and beta."""
STAND_INS = {"azure": "azure-like", "alibaba": "alibaba-like"}
"""What is drawn from where the file of a demand is not on this machine."""
TOPOLOGIES = {
    "alpha": "40 servers in 4 racks",
    "beta": "40 servers in 8 racks",
    "gamma": "640 servers in 16 racks",
    "delta": "2,560 servers in 64 racks",
}
LARGE = {"gamma": (896, 16, 20, 4), "delta": (2048, 64, 5, 2)}
"""Requests, how many times as many servers and steps of holding, seeds, and seeds with --quick; on alpha and beta they
are 128, 1, 100 and 20."""
AGENTS = ("nara", "tetris", "nalb", "nulb", "random")
PLAINLY = "requests within one rack"
"""What the publication calls rack-local has fewer than two links for each server, which several racks may have."""
LINKS = "allocation_{}_decisions_last_20"


def file_here(demand: str) -> bool:
    """Tell whether the file of a demand, if it needs one, is on this machine."""
    try:
        return demand not in STAND_INS or bool(DEMANDS.load(demand)().file())
    except WorkloadError:
        return False


def learned(demand: str, topology: str) -> dict[str, str]:
    """Name for every published agent of a condition that learned which of the trainings it is."""
    found = {"nara": demand}
    if topology == "alpha":
        found |= {f"nara trained on {other}": other for other in HOLDING}
    if topology == "beta":
        found |= {"nara trained on alpha": demand, "nara trained on beta": f"{demand}_beta"}
    return found


def is_learned(agent: str) -> bool:
    """Tell whether a published agent was trained here."""
    return agent.startswith("nara") and not agent.endswith(THEIRS)


def condition(demand: str, topology: str, weights: Path | None) -> Condition:
    """Describe the runs of one demand on one topology, with the published numbers of requests and holding times."""
    trained = learned(demand, topology)
    agents = {agent: TRAINED[training] for agent, training in trained.items()}
    agents |= (BASELINES if topology != "delta" else {}) | (SMALL if topology not in LARGE else {})
    if weights is not None:
        for agent, training in trained.items():
            path = json.dumps(f"{(weights / training).resolve()}.safetensors")
            agents[f"{agent}{THEIRS}"] = f"{{nara: {{path: {path}}}}}"
    here = file_here(demand)
    drawn = f"{{{demand}: {{split: test}}}}" if demand in STAND_INS and here else STAND_INS.get(demand, demand)
    requests, times, seeds, quick = LARGE.get(topology, (128, 1, 100, 20))
    overrides = [
        "sweep=null",
        f"cluster.network.topology={topology}",
        f"workload.demand={drawn}",
        f"workload.requests={requests}",
        f"workload.holding={HOLDING[demand] * times}",
        *(["record=[requests]"] if topology == "alpha" else []),
    ]
    return Condition(agents, tuple(overrides), seeds, quick, "" if here else "demand")


def share_of_placed(which: pl.Expr) -> Measure:
    """Measure the share of the placed requests of which something is true."""

    def measure(runs: Runs, agent: str) -> Value:
        details = (runs.results.requests(run).filter(pl.col("servers") > 0) for run in runs.of(agent)["run"])
        return averaged([found.select(which.mean()).item() for found in details])

    return measure


def tiers(runs: Runs, agent: str) -> Value:
    """Measure by what share more of the servers' links is used than of the racks'.

    It is the ratio of the means over all seeds: single runs leave the racks' links next to empty.
    """
    return above(*(runs.values(agent, LINKS.format(tier)) for tier in ("server-rack", "rack-fabric")))


MEASURES = {
    "acceptance": mean_of("acceptance_cumulative_last_20"),
    "utilisation_cpu": mean_of("allocation_cpu_decisions_last_50"),
    "utilisation_mem": mean_of("allocation_mem_decisions_last_50"),
    "rack-local requests": share_of_placed((pl.col("links") / pl.col("servers")).is_between(1, 2, closed="left")),
    PLAINLY: share_of_placed(pl.col("span") <= 1),
    "server-rack bandwidth used": mean_of(LINKS.format("server-rack")),
    "requests over more than 5 servers": share_of_placed(pl.col("servers") > 5),
    "server-rack use over rack-fabric use, less one": tiers,
}


def derived(weights: Path | None) -> tuple[Published, ...]:
    """Derive the plain meaning of what is called rack-local, and rows of agents with the published weights."""
    printed = published("nara")
    plainly = tuple(replace(one, metric=PLAINLY) for one in printed if one.metric == "rack-local requests")
    rows = (*printed, *plainly) if weights is not None else ()
    return (*plainly, *(replace(one, agent=f"{one.agent}{THEIRS}") for one in rows if is_learned(one.agent)))


def network(name: str, given: Material) -> Figure:
    """Draw a topology."""
    from analysis.figures.network_map import draw
    from fabric.presets import topology

    return draw(topology(name))


def demands(given: Material) -> Figure:
    """Draw what requests ask for, of those that the runs draw from."""
    from analysis.figures.densities import draw
    from workloads.multiserver import MultiServerRequests

    found = {}
    for name, steps in HOLDING.items():
        here = file_here(name)
        kind = DEMANDS.load(name if here else STAND_INS[name])
        options = {"split": "test"} if name in STAND_INS and here else {}
        asked = MultiServerRequests(20_000, kind(**options), steps)
        found[name if here else f"{name} (stand-in)"] = asked.draw(("cpu", "mem"), 0)
    return draw(found, title="What requests ask for, 20,000 each, with the holding times of alpha")


def figures() -> tuple[Drawing, ...]:
    """Declare the figures."""
    on_alpha = {demand: ("fabrics", f"demand={demand};topology=alpha") for demand in HOLDING}
    parts = ("cpu", "mem", "server-rack", "rack-fabric", "fabric-spine")
    return (
        *(
            Drawing(
                "2 to 8",
                f"placements-{demand}",
                f"Where requests of the demand {demand} are placed on alpha",
                of_kind("distances", where, agents=AGENTS),
                "The publication has a figure for every agent." if demand == "uniform" else "",
            )
            for demand, where in on_alpha.items()
        ),
        Drawing(
            "2 to 8",
            "tiers",
            "What is in use on alpha over the last fifth of the requests",
            of_kind("bars", *on_alpha.values(), agents=AGENTS, metrics=[LINKS.format(part) for part in parts]),
        ),
        *(
            Drawing("9", f"topology-{name}", f"{name}, {said}", partial(network, name))
            for name, said in TOPOLOGIES.items()
        ),
        Drawing("10", "demands", "What requests ask for", demands),
    )


def describe(weights: Path | None = None) -> Publication:
    """Describe the publication; a `UserError` says which of the published weights are not in their folder."""
    lacks = [
        f"{name}.safetensors" for name in TRAINED if not (weights or Path()).joinpath(f"{name}.safetensors").is_file()
    ]
    if weights is not None and lacks:
        remedy = f"Name a folder with {', '.join(TRAINED)}, as .safetensors with their .json."
        raise UserError(f"has no weights {', '.join(lacks)}", key="--weights", value=str(weights), remedy=remedy)
    stand_in = "The demand is a stand-in: whether the published one would come nearer is not known."
    rack = "The publication counts requests over neighbouring racks, too: this is the plain meaning of its words."
    return Publication(
        name="nara",
        title="Nara",
        reference="Shabka and Zervas 2021, arXiv:2106.02412",
        own=is_learned,
        weighed=weights is not None,
        experiments=(
            Experiment(
                name="fabrics",
                tables={
                    "1": "Acceptance",
                    "2": "Utilisation on alpha",
                    "3": "Utilisation on beta",
                    "4": "Utilisation on gamma",
                    "5": "Utilisation on delta",
                    "6": "Trained on alpha or on beta, used on beta",
                    "7": "Trained with one demand, used with another, on alpha",
                    "section 5.3": "Where requests are placed",
                },
                scenario="nara/table1",
                conditions={
                    f"demand={demand};topology={topology}": condition(demand, topology, weights)
                    for demand in HOLDING
                    for topology in TOPOLOGIES
                },
                measures=MEASURES,
                deviates="Nara's weights are those of our trainings on alpha with each demand, in the form of the "
                "text; azure and alibaba were earlier stand-ins there. Requests are drawn from a fifth of Azure's and "
                "Alibaba's table, or from a stand-in where the table is not on this machine; such columns say so.",
                tolerance=0.05,
                derived=derived(weights),
                notes=(
                    Note("explained", rack, metric=PLAINLY),
                    *(
                        Note("explained", stand_in, condition=f"demand={one};*")
                        for one in HOLDING
                        if not file_here(one)
                    ),
                ),
                smallest=("workload.requests=8",),
            ),
        ),
        figures=figures(),
    )
