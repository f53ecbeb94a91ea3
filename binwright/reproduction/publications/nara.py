"""Nara (Shabka and Zervas 2021): requests for several servers in a three-tier network."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from binwright.reproduction.experiment import Condition, Experiment, Metric, Publication, StandIn
from binwright.reproduction.measures import Measure, Runs, above, averaged, mean_of
from binwright.reproduction.publications.nara_data import STAND_INS, file_here
from binwright.reproduction.publications.nara_figures import FIGURES
from binwright.reproduction.published import Published, published
from binwright.reproduction.verdict import Value
from simcore.errors import UserError

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
DEMAND = {"uniform": "uniform", "azure": "{azure: {split: test}}", "alibaba": "{alibaba: {split: test}}"}
HOLDING = {"uniform": 30, "azure": 24, "alibaba": 36}
"""H, the bound of the holding times, on alpha and beta."""
TIMES = {"gamma": 16, "delta": 64}
"""How many times as many servers, and steps of holding, the larger topologies have."""


def learned(demand: str, topology: str) -> dict[str, str]:
    """Name for every published agent of a condition that learned which of the trainings it is."""
    found = {"nara": demand}
    if topology == "alpha":
        found |= {f"nara trained on {other}": other for other in DEMAND}
    if topology == "beta":
        found |= {"nara trained on alpha": demand, "nara trained on beta": f"{demand}_beta"}
    return found


def agents_of(demand: str, topology: str) -> dict[str, str]:
    """Name our agents for every published one of a condition."""
    found = {agent: TRAINED[training] for agent, training in learned(demand, topology).items()}
    if topology != "delta":
        found |= BASELINES
    if topology in ("alpha", "beta"):
        found |= SMALL
    return found


def condition(demand: str, topology: str) -> Condition:
    """Describe the runs of one demand on one topology, with the published numbers of requests and holding times."""
    requests = {"gamma": 896, "delta": 2048}.get(topology, 128)
    overrides = [
        "sweep=null",
        f"cluster.network.topology={topology}",
        f"workload.demand={DEMAND[demand]}",
        f"workload.requests={requests}",
        f"workload.holding={HOLDING[demand] * TIMES.get(topology, 1)}",
    ]
    if topology == "alpha":
        overrides.append("record=[requests]")
    seeds, quick = {"gamma": (20, 4), "delta": (5, 2)}.get(topology, (100, 20))
    instead = None
    if demand in STAND_INS:
        instead = StandIn("demand", partial(file_here, demand), (f"workload.demand={STAND_INS[demand]}",))
    return Condition(agents_of(demand, topology), tuple(overrides), seeds, quick, instead)


def share_of_placed(which: pl.Expr) -> Measure:
    """Measure the share of the placed requests of which something is true."""

    def measure(runs: Runs, agent: str) -> Value:
        details = (runs.results.requests(run).filter(pl.col("servers") > 0) for run in runs.of(agent)["run"])
        return averaged(np.array([found.select(which.mean()).item() for found in details], np.float64))

    return measure


def tiers(runs: Runs, agent: str) -> Value:
    """Measure by what share more of the servers' links is used than of the racks'.

    It is the ratio of the means over all seeds: single runs leave the racks' links next to empty.
    """
    lower, upper = (runs.values(agent, LINKS.format(tier)) for tier in ("server-rack", "rack-fabric"))
    return above(lower, upper)


def unanswered(one: Published) -> str:
    """Say why a value is not compared."""
    return "No experiment answers this value."


PLAINLY = "requests within one rack"
"""What the publication calls rack-local has fewer than two links for each server, which several racks may have."""
LINKS = "allocation_{}_decisions_last_20"


def explained(one: Published) -> str:
    """Say why a value is missed, as far as that is known."""
    demand = one.conditions["demand"]
    if one.metric == PLAINLY:
        return "The publication counts requests over neighbouring racks, too: this is the plain meaning of its words."
    if demand in STAND_INS and not file_here(demand):
        return "The demand is a stand-in: whether the published one would come nearer is not known."
    return ""


METRICS = {
    "acceptance": Metric(mean_of("acceptance_cumulative_last_20")),
    "utilisation_cpu": Metric(mean_of("allocation_cpu_decisions_last_50")),
    "utilisation_mem": Metric(mean_of("allocation_mem_decisions_last_50")),
    "rack-local requests": Metric(
        share_of_placed((pl.col("links") / pl.col("servers")).is_between(1, 2, closed="left"))
    ),
    PLAINLY: Metric(share_of_placed(pl.col("span") <= 1)),
    "server-rack bandwidth used": Metric(mean_of(LINKS.format("server-rack"))),
    "requests over more than 5 servers": Metric(share_of_placed(pl.col("servers") > 5)),
    "server-rack use over rack-fabric use, less one": Metric(tiers),
}


DERIVED = tuple(replace(one, metric=PLAINLY) for one in published("nara") if one.metric == "rack-local requests")
"""The same values beside the plain meaning of their words."""


def with_weights(folder: Path) -> Publication:
    """Add rows of agents with the published weights in a folder; a `UserError` says which files are not there."""
    missing = [name for name in TRAINED if not (folder / f"{name}.safetensors").is_file()]
    if missing:
        problem = f"has no weights {', '.join(f'{name}.safetensors' for name in missing)}"
        remedy = f"Name a folder with {', '.join(TRAINED)}, as .safetensors with their .json."
        raise UserError(problem, key="--weights", value=str(folder), remedy=remedy)
    [experiment] = PUBLICATION.experiments
    assert isinstance(experiment, Experiment)
    conditions = {}
    for name, asked in experiment.conditions.items():
        where = dict(pair.split("=") for pair in name.split(";"))
        theirs = {
            f"{agent}{THEIRS}": f"{{nara: {{path: {json.dumps(f'{(folder / training).resolve()}.safetensors')}}}}}"
            for agent, training in learned(where["demand"], where["topology"]).items()
        }
        conditions[name] = replace(asked, agents={**asked.agents, **theirs})
    rows = [one for one in published("nara") if experiment.answers(one)]
    derived = tuple(replace(one, agent=f"{one.agent}{THEIRS}") for one in (*rows, *DERIVED) if is_learned(one.agent))
    return replace(PUBLICATION, experiments=(replace(experiment, conditions=conditions, derived=(*DERIVED, *derived)),))


def is_learned(agent: str) -> bool:
    """Tell whether a published agent was trained here."""
    return agent.startswith("nara") and not agent.endswith(THEIRS)


PUBLICATION = Publication(
    name="nara",
    title="Nara",
    reference="Shabka and Zervas 2021, arXiv:2106.02412",
    own=is_learned,
    weighed=with_weights,
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
                f"demand={demand};topology={topology}": condition(demand, topology)
                for demand in DEMAND
                for topology in ("alpha", "beta", "gamma", "delta")
            },
            metrics=METRICS,
            deviates="Nara's weights are those of our trainings on alpha with each demand, in the form of the text; "
            "azure and alibaba were earlier stand-ins there. Requests are drawn from a fifth of Azure's and Alibaba's "
            "table, or from a stand-in where the table is not on this machine; such columns say so.",
            tolerance=0.05,
            derived=DERIVED,
            explained=explained,
            smallest=("workload.requests=8",),
        ),
    ),
    unanswered=unanswered,
    figures=FIGURES,
)
