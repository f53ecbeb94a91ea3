"""The requests behind a file of any kind that has some: a scenario, a known trace, or a stranger's table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from scenarios.build.trace import TraceRequests
from scenarios.draft.servers import Servers, servers_for
from scenarios.draft.text import AGENTS, amounts, generated, scenario_text
from scenarios.schema.explain import explain
from scenarios.schema.load import load_scenario, shipped
from scenarios.schema.scenario import Scenario
from scenarios.schema.source import Source
from scenarios.schema.workload import Trace
from simcore.errors import UserError
from simcore.vocabulary import QUANTUM
from workloads import TRACES, WITH_SERVERS
from workloads.changes import changed
from workloads.describe import peaks
from workloads.fit import fit
from workloads.propose import Proposal, propose
from workloads.traces.check import MODELS, resources_in
from workloads.traces.kubernetes import read_nodes
from workloads.traces.library import find, read, recognised

if TYPE_CHECKING:
    import polars as pl

_MACHINE = {"cpu": "64 cores", "mem": "256 GB", "hdd": "4 TB", "ssd": "2 TB"}
"""What stands for a machine where a trace counts in machines."""


@dataclass(frozen=True)
class Asked:
    """Holds requests in units, in the common columns of `Trace.read`, and what a scenario says to read them.

    `proposal` is there where the mapping was guessed, `scenario` where one says it; `path` is the file.
    """

    name: str
    path: Path
    frame: pl.DataFrame
    workload: Mapping[str, Any]
    proposal: Proposal | None = None
    scenario: Scenario | None = None

    @property
    def resources(self) -> list[str]:
        """The resources that are asked for."""
        return resources_in(self.frame.columns)

    @property
    def servers(self) -> Servers | Mapping[str, Any]:
        """Servers that are about enough: the scenario's, those of the trace, or a guess."""
        if self.scenario:
            return self.scenario.cluster.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True)
        if self.name == "kubernetes" and (nodes := read_nodes(self.path)):
            groups = []
            for node in nodes:
                has = {name: node.amounts.get(name, 0.0) for name in self.resources}
                group = {"count": 1, "node": amounts(has), "labels": node.labels}
                groups.append({**group, "taints": list(node.taints)} if node.taints else group)
            return {"groups": groups}
        if MODELS in self.frame.columns and self.name in WITH_SERVERS:
            return {"trace": {"name": self.name}}
        largest = {name: float(self.frame[name].max() or 0) for name in self.resources}  # type: ignore[arg-type]
        found = peaks(self.frame, self.resources)
        return servers_for({name: found[name] for name in self.resources}, largest)

    def text(
        self,
        folder: Path,
        servers: Servers | Mapping[str, Any] | None = None,
        overflow: str = "drop",
        agents: Sequence[Any] = AGENTS,
    ) -> str:
        """Write a scenario, to lie in this folder, that replays the requests; on `self.servers` by default."""
        if self.scenario:
            remedy = "Run it, or change a copy of it."
            raise UserError("is a scenario already", key=self.scenario.name, remedy=remedy)
        notes = []
        if self.proposal:
            notes = [f"{guess.column} -> {guess.name}: {guess.why}" for guess in self.proposal.guesses]
            notes += [f"? {doubt}" for doubt in self.proposal.doubts]
            if self.proposal.others:
                notes.append(f"Not read: {', '.join(self.proposal.others)}")
        workload = dict(self.workload)
        if "path" in workload:
            workload["path"] = os.path.relpath(workload["path"], folder)
        about = f"The {len(self.frame):,} requests of {self.path.name}: which agent finds room for most of them?"
        given = self.servers if servers is None else servers
        return scenario_text(about, given, workload, notes=notes, overflow=overflow, agents=agents)

    def fitted(self, flavours: int, points: int, requests: int | None) -> str:
        """Write a scenario whose requests are drawn, like these."""
        try:
            spec = fit(self.frame, flavours, points, requests)
        except UserError as error:
            error.file = self.path
            raise
        kinds = self.frame.group_by(self.resources).len().sort("len", descending=True)["len"]
        share = float(kinds.head(flavours).sum()) / len(self.frame)
        notes = [
            f"Fitted to the {len(self.frame):,} requests of {self.path.name}: the {len(spec.flavours)} most frequent "
            f"demands, which are {share:.1%} of them"
            f"{' (more with --flavours)' if share < 0.9 else ''},",
            "Poisson arrivals with their mean gap, and quantiles of lifetimes. Bursts, days and tenants are lost.",
        ]
        agents = [each.label for each in self.scenario.agents] if self.scenario else AGENTS
        about = f"Requests like those of {self.path.name}, drawn anew for every seed."
        return scenario_text(about, self.servers, generated(spec), notes=notes, agents=agents, replications=10)


def asked_of(file: str) -> Asked:
    """Find the requests behind the name of a trace or of a shipped scenario, or a file."""
    path = Path(file)
    if path.suffix in (".yaml", ".yml") or (file in shipped() and not path.exists()):
        return _of_scenario(file)
    if file in TRACES and not path.is_file():
        return _of_trace(file, find(file), {"trace": file})
    name = recognised(path) or "table"
    if name == "table":
        return of_table(path, propose(path))
    return _of_trace(name, path, {"trace": name, "path": file})


def of_table(path: Path, proposal: Proposal) -> Asked:
    """Read a table as it is proposed."""
    workload = {"trace": "table", "path": str(path), **proposal.workload}
    columns = {name: column for name, column in workload["columns"].items() if name != column}
    workload = {key: value for key, value in {**workload, "columns": columns}.items() if value}
    resources = tuple(resources_in(guess.name for guess in proposal.guesses if guess.name != "end"))
    try:
        frame = read("table", path, options=_spec(workload).options, resources=resources)
    except UserError as error:
        error.remedy += "\n  The columns were read as\n" + "\n".join(
            f"    {guess.name}: {guess.column} ({guess.unit or guess.why})" for guess in proposal.guesses
        )
        raise
    return Asked("table", path, frame, workload, proposal)


def _of_trace(name: str, path: Path, workload: Mapping[str, Any]) -> Asked:
    frame = read(name, path)
    spec, resources = _spec(workload), tuple(resources_in(frame.columns))
    try:
        units = spec.units_of(resources)
    except PydanticCustomError:
        workload = {**workload, "units": {name: _MACHINE[name] for name in resources if name in _MACHINE}}
        units = _spec(workload).units_of(resources)
    frame = frame.with_columns(frame[name] * factor for name, factor in units.items())
    return Asked(name, path, frame, workload)


def _of_scenario(file: str) -> Asked:
    import polars as pl

    scenario = load_scenario(file)
    spec = scenario.workload
    if not isinstance(spec, Trace):
        remedy = "Name a scenario with `trace:`, a trace, or a file of requests."
        raise UserError("has no requests of a trace", file=file, key="workload", remedy=remedy)
    path = find(spec.trace, spec.path)
    plain = spec if spec.inflate is None else spec.model_copy(update={"inflate": None})
    window = TraceRequests(plain, scenario.resources, None, dict).window_of(scenario.seed)
    asked = changed(window, [each.change for each in spec.changes], scenario.seed)
    demands = {name: asked.demand[:, place] / QUANTUM for place, name in enumerate(asked.resources)}
    frame = pl.DataFrame({"id": asked.id, "arrival": asked.arrival, "lifetime": asked.duration, **demands})
    return replace(Asked(spec.trace, path, frame, {"trace": spec.trace}), scenario=scenario)


def _spec(workload: Mapping[str, Any]) -> Trace:
    try:
        return Trace.model_validate(dict(workload))
    except ValidationError as error:
        raise explain(error, Source(None, dict(workload))) from None
