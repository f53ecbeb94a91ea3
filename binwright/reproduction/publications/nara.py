"""Nara (Shabka and Zervas 2021): requests for several servers in a three-tier network."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import polars as pl

from binwright.reproduction.claims import Value
from binwright.reproduction.experiment import Publication
from binwright.reproduction.measures import Measure, Runs, above, averaged
from binwright.simcore.errors import UserError, WorkloadError
from binwright.workloads.demands import DEMANDS

FILES = {
    "{nara: {weights: text-alpha-uniform}}": "uniform",
    "{nara: {weights: text-azure-like}}": "azure",
    "{nara: {weights: text-alibaba-like}}": "alibaba",
    "{nara: {weights: text-beta-uniform}}": "uniform_beta",
    "{nara: {weights: text-beta-azure-like}}": "azure_beta",
    "{nara: {weights: text-beta-alibaba-like}}": "alibaba_beta",
}
"""Nara in the form of the text, trained by us with each demand on alpha or beta, and what the weights that the authors
published for the same are called."""
THEIRS = ", published weights"
"""Behind the name of an agent that has the weights that the authors published."""


def file_here(demand: str) -> bool:
    """Tell whether the file of a demand is on this machine."""
    try:
        return bool(DEMANDS.load(demand)().file())
    except WorkloadError:
        return False


def drawn(demand: str) -> str:
    """Draw requests from the file of a demand, or from a stand-in where it is not on this machine."""
    return f"workload.demand={{{demand}: {{split: test}}}}" if file_here(demand) else f"workload.demand={demand}-like"


def stand_in(demand: str) -> str:
    """Name the key of the conditions whose data is not here, if it is not."""
    return "" if file_here(demand) else "demand"


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
    missing = [demand for demand in ("azure", "alibaba") if not file_here(demand)]
    return [*notes, *({"kind": "explained", "text": text, "condition": f"demand={each};*"} for each in missing)]


def with_published_weights(whole: Publication, weights: Path) -> Publication:
    """Add agents with the weights that the authors published; a `UserError` says which are not in their folder."""
    files = {spec: (weights / f"{name}.safetensors").resolve() for spec, name in FILES.items()}
    if lacks := [file.name for file in files.values() if not file.is_file()]:
        remedy = f"Name a folder with {', '.join(FILES.values())}, as .safetensors with their .json."
        raise UserError(f"has no weights {', '.join(lacks)}", key="--weights", value=str(weights), remedy=remedy)
    (experiment,) = whole.experiments
    conditions = {}
    for name, condition in experiment.conditions.items():
        learned = {agent: files[spec] for agent, spec in condition.agents.items() if spec in files}
        theirs = {f"{agent}{THEIRS}": f"{{nara: {{path: {json.dumps(str(file))}}}}}" for agent, file in learned.items()}
        conditions[name] = replace(condition, agents={**condition.agents, **theirs})
    added = [replace(value, agent=f"{value.agent}{THEIRS}") for value in whole.values if value.agent in whole.own]
    return replace(whole, values=(*whole.values, *added), experiments=[replace(experiment, conditions=conditions)])
