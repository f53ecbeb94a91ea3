"""Nara (Shabka and Zervas 2021): requests for several servers in a three-tier network."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from binwright.reproduction.claims import Value, keys_of, published
from binwright.reproduction.experiment import Publication
from binwright.reproduction.measures import Measure, Runs, above, averaged
from binwright.simcore.errors import UserError, WorkloadError
from binwright.workloads.demands import DEMANDS

TRAINED = {
    name: f"{{nara: {{weights: text-{weights}}}}}"
    for name, weights in (
        ("uniform", "alpha-uniform"),
        ("azure", "azure-like"),
        ("alibaba", "alibaba-like"),
        ("uniform_beta", "beta-uniform"),
        ("azure_beta", "beta-azure-like"),
        ("alibaba_beta", "beta-alibaba-like"),
    )
}
"""Nara in the form of the text, trained by us with each demand on alpha or, `_beta`, on beta. Weights that the authors
published are called so, too. The rows of Table 1 repeat those of Tables 6 and 7 that were trained so."""
THEIRS = ", published weights"
"""Behind the name of an agent that has the weights that the authors published."""
HOLDING = {"uniform": 30, "azure": 24, "alibaba": 36}
"""The demands, and H, the bound of their holding times on alpha and beta."""
STAND_INS = {"azure": "azure-like", "alibaba": "alibaba-like"}
"""What is drawn from where the file of a demand is not on this machine."""
LARGE = {"gamma": (896, 16, 20, 4), "delta": (2048, 64, 5, 2)}
"""Requests, how many times as many servers and steps of holding, seeds, and seeds with --quick; on alpha and beta they
are 128, 1, 100 and 20."""


def file_here(demand: str) -> bool:
    """Tell whether the file of a demand, if it needs one, is on this machine."""
    try:
        return demand not in STAND_INS or bool(DEMANDS.load(demand)().file())
    except WorkloadError:
        return False


def learned(demand: str, topology: str) -> dict[str, str]:
    """Name for every published agent of a condition that learned which of the trainings it is."""
    trained = {"nara": demand}
    if topology == "alpha":
        trained |= {f"nara trained on {other}": other for other in HOLDING}
    if topology == "beta":
        trained |= {"nara trained on alpha": demand, "nara trained on beta": f"{demand}_beta"}
    return trained


def is_learned(agent: str) -> bool:
    """Tell whether a published agent was trained here."""
    return agent.startswith("nara") and not agent.endswith(THEIRS)


def where(demand: str, topology: str) -> dict[str, Any]:
    """Describe the runs of one demand on one topology, with the published numbers of requests and holding times."""
    agents = {agent: TRAINED[training] for agent, training in learned(demand, topology).items()}
    if topology != "delta":  # Tetris as in the authors' program; docs/experiments/nara.md has it as described, too
        agents |= {"random": "random", "tetris": "{tetris: {links: misplaced}}"}
    if topology not in LARGE:
        agents |= {"nulb": "nulb", "nalb": "nalb"}
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
    stand_in = "" if here else "demand"
    return {"agents": agents, "overrides": overrides, "seeds": seeds, "quick": quick, "stand_in": stand_in}


def share_of_placed(which: str) -> Measure:
    """Measure the share of the placed requests of which something is true, in SQL."""

    def measure(runs: Runs, agent: str) -> Value:
        placed = (runs.results.requests(run).filter(pl.col("servers") > 0) for run in runs.of(agent)["run"])
        return averaged([requests.select(pl.sql_expr(which).mean()).item() for requests in placed])

    return measure


def tiers(runs: Runs, agent: str) -> Value:
    """Measure by what share more of the servers' links is used than of the racks'.

    It is the ratio of the means over all seeds: single runs leave the racks' links next to empty.
    """
    columns = (f"allocation_{tier}_decisions_last_20" for tier in ("server-rack", "rack-fabric"))
    return above(*(runs.values(agent, column) for column in columns))


def stand_ins(*notes: dict[str, str]) -> list[dict[str, str]]:
    """Add a note to these of every demand whose file is not here."""
    text = "The demand is a stand-in: whether the published one would come nearer is not known."
    missing = (demand for demand in HOLDING if not file_here(demand))
    return [*notes, *({"kind": "explained", "text": text, "condition": f"demand={one};*"} for one in missing)]


def with_published_weights(whole: Publication, weights: Path) -> Publication:
    """Add agents with the weights that the authors published; a `UserError` says which are not in their folder."""
    files = {name: (weights / f"{name}.safetensors").resolve() for name in TRAINED}
    if lacks := [file.name for file in files.values() if not file.is_file()]:
        remedy = f"Name a folder with {', '.join(TRAINED)}, as .safetensors with their .json."
        raise UserError(f"has no weights {', '.join(lacks)}", key="--weights", value=str(weights), remedy=remedy)
    (experiment,) = whole.experiments
    conditions = {}
    for name, condition in experiment.conditions.items():
        trained = learned(*keys_of(name).values())
        theirs = {f"{one}{THEIRS}": f"{{nara: {{path: {json.dumps(str(files[of]))}}}}}" for one, of in trained.items()}
        conditions[name] = replace(condition, agents={**condition.agents, **theirs})
    rows = [one for one in (*published("nara"), *experiment.derived) if is_learned(one.agent)]
    derived = (*experiment.derived, *(replace(one, agent=f"{one.agent}{THEIRS}") for one in rows))
    return replace(whole, experiments=(replace(experiment, conditions=conditions, derived=derived),))
