"""The requests behind a file of any kind that has some: a scenario, a known trace, or a stranger's table."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from binwright.scenarios.build.requests import ScenarioRequests
from binwright.scenarios.build.trace import window_of
from binwright.scenarios.draft.text import AGENTS, DraftServers, amounts, generated, scenario_text, servers_for
from binwright.scenarios.schema.explain import explain
from binwright.scenarios.schema.load import load_scenario, shipped
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.trace import Trace
from binwright.scenarios.schema.yaml_source import Source
from binwright.simcore.errors import UserError
from binwright.simcore.extras import pl
from binwright.simcore.types import QUANTUM
from binwright.workloads import TRACES, WITH_SERVERS
from binwright.workloads.arrivals import Poisson
from binwright.workloads.changes import changed
from binwright.workloads.column_guesses import Proposal, propose
from binwright.workloads.describe import EVEN, fit, growing, loads
from binwright.workloads.traces.cells import moment
from binwright.workloads.traces.check import MODELS, resources_in
from binwright.workloads.traces.kubernetes import read_nodes
from binwright.workloads.traces.library import find, read, recognised

_MACHINE = {"cpu": "64 cores", "mem": "256 GB", "hdd": "4 TB", "ssd": "2 TB"}
"""What stands for a machine where a trace counts in machines."""
FLAVOURS = 16
"""Different demands of a fitted workload."""
FITS = 5
"""Seeds of fitted requests that are compared with their trace."""


@dataclass(frozen=True)
class RequestSource:
    """Holds requests in units, in the common columns of `Trace.read`, and what a scenario says to read them.

    `proposal` is there where the mapping was guessed, `scenario` where one says it; `path` is the file. The first
    `running` requests run already at the start.
    """

    name: str
    path: Path
    frame: pl.DataFrame
    workload: Mapping[str, Any]
    proposal: Proposal | None = None
    scenario: Scenario | None = None
    running: int = 0

    @property
    def resources(self) -> list[str]:
        return resources_in(self.frame.columns)

    @cached_property
    def loads(self) -> dict[str, tuple[float, float]]:
        """The peak of what runs at once of every resource, and its 99th percentile over time."""
        arrival, lifetime = (self.frame[name].to_numpy() for name in ("arrival", "lifetime"))
        return loads(arrival, lifetime, {name: self.frame[name].to_numpy() for name in self.resources})

    @cached_property
    def doubts(self) -> list[str]:
        """What is doubtful in the columns, and whether the load grows."""
        result = list(self.proposal.doubts) if self.proposal else []
        arrival, lifetime = (self.frame[name].to_numpy() for name in ("arrival", "lifetime"))
        begin = float(arrival[self.running])
        if grows := growing(arrival, lifetime, self.frame.select(self.resources).to_numpy(), begin):
            column, whole, later, late = grows
            load = f"{whole:,.4g} {self.resources[column]} run on average, {later:,.4g} from {moment(late)} on"
            result.append(f"The load grows: {load}. {EVEN}")
        return result

    @property
    def servers(self) -> DraftServers | Mapping[str, Any]:
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
        return servers_for({name: peak for name, (peak, _) in self.loads.items()}, largest)

    def text(self, folder: Path, servers: DraftServers | Mapping[str, Any] | None = None) -> str:
        """Write a scenario, to lie in this folder, that replays the requests; on `self.servers` by default."""
        if self.scenario:
            remedy = "Run it, or change a copy of it."
            raise UserError("is a scenario already", key=self.scenario.name, remedy=remedy)
        notes = []
        if self.proposal:
            notes = [f"{guess.column} -> {guess.name}: {guess.why}" for guess in self.proposal.guesses]
            notes += [f"? {doubt}" for doubt in self.proposal.doubts]
            notes += [f"Not read: {', '.join(self.proposal.others)}"] * bool(self.proposal.others)
        workload = dict(self.workload)
        if "path" in workload:
            workload["path"] = os.path.relpath(workload["path"], folder)
        about = f"The {len(self.frame):,} requests of {self.path.name}: which agent finds room for most of them?"
        servers = self.servers if servers is None else servers
        return scenario_text(about, servers, workload, notes=notes)

    def fitted(self) -> str:
        """Write a scenario whose requests are drawn, like those that come from the start on."""
        frame = self.frame[self.running :]
        try:
            spec = fit(frame, FLAVOURS)
        except UserError as error:
            error.file = self.path
            raise
        assert isinstance(spec.arrivals, Poisson)
        patterns = ["hours"] * bool(spec.arrivals.hours) + ["weekdays"] * bool(spec.arrivals.days)
        share = frame.group_by(self.resources).len()["len"].top_k(FLAVOURS).sum() / len(frame)
        notes = [
            f"Fitted to {len(frame):,} requests of {self.path.name}: the {len(spec.flavours)} most frequent demands, "
            f"which are {share:.1%} of them.",
            f"Poisson arrivals ({', '.join(patterns) or 'the mean rate'}), quantiles of lifetimes. Lost: growth, "
            "bursts, tenants.",
        ]
        agents = [each.label for each in self.scenario.agents] if self.scenario else AGENTS
        about = f"Requests like those of {self.path.name}, drawn anew for every seed."
        return scenario_text(about, self.servers, generated(spec), notes=notes, agents=agents, replications=10)

    def beside(self, fitted: Scenario) -> list[tuple[str, str, float, float]]:
        """Compare what fitted requests ask for at once.

        Returns rows: the resource, `peak` or `99th percentile`, its units here, which are more than 0, and those drawn,
        on average of the first seeds.
        """
        drawn = []
        for seed in range(FITS):
            base = ScenarioRequests(fitted, dict).draw(seed)
            amounts = {name: base.demand[:, place] / QUANTUM for place, name in enumerate(base.resources)}
            drawn.append(loads(base.arrival, base.duration, amounts))
        return [
            (name, what, values, fmean(each[name][place] for each in drawn))
            for name, both in self.loads.items()
            if name in fitted.resources
            for place, (what, values) in enumerate(zip(("peak", "99th percentile"), both, strict=True))
            if values
        ]


def asked_of(file: str) -> RequestSource:
    """Find the requests behind the name of a trace or of a shipped scenario, or a file."""
    path = Path(file)
    if path.suffix in (".yaml", ".yml") or (file in shipped() and not path.exists()):
        return _of_scenario(file)
    if file in TRACES and not path.is_file():
        return _of_trace(file, find(file), {"trace": file})
    name = recognised(path) or "table"
    return _of_table(path) if name == "table" else _of_trace(name, path, {"trace": name, "path": file})


def _of_table(path: Path) -> RequestSource:
    """Read a table as it is proposed."""
    proposal = propose(path)
    columns = {name: column for name, column in proposal.workload["columns"].items() if name != column}
    workload = {"trace": "table", "path": str(path), **proposal.workload, "columns": columns}
    workload = {key: value for key, value in workload.items() if value}
    resources = tuple(resources_in(guess.name for guess in proposal.guesses if guess.name != "end"))
    try:
        frame = read("table", path, options=_spec(workload).options, resources=resources)
    except UserError as error:
        guesses = (f"    {guess.name}: {guess.column} ({guess.unit or guess.why})" for guess in proposal.guesses)
        error.remedy += "\n  The columns were read as\n" + "\n".join(guesses)
        raise
    return RequestSource("table", path, frame, workload, proposal)


def _of_trace(name: str, path: Path, workload: Mapping[str, Any]) -> RequestSource:
    frame = read(name, path)
    resources = tuple(resources_in(frame.columns))
    try:
        units = _spec(workload).units_of(resources)
    except PydanticCustomError:
        workload = {**workload, "units": {name: _MACHINE[name] for name in resources if name in _MACHINE}}
        units = _spec(workload).units_of(resources)
    frame = frame.with_columns(frame[name] * factor for name, factor in units.items())
    return RequestSource(name, path, frame, workload)


def _of_scenario(file: str) -> RequestSource:
    """Read the window that the first seed of a scenario meets, with its changes."""
    scenario = load_scenario(file)
    spec = scenario.workload
    if not isinstance(spec, Trace):
        remedy = "Name a scenario with `trace:`, a trace, or a file of requests."
        raise UserError("has no requests of a trace", file=file, key="workload", remedy=remedy)
    path = find(spec.trace, spec.path)
    plain = spec if spec.inflate is None else spec.model_copy(update={"inflate": None, "running": "drop"})
    window = window_of(plain, scenario.resources, scenario.seed)
    met = changed(window, spec.changes, scenario.seed)
    demands = {name: met.demand[:, place] / QUANTUM for place, name in enumerate(met.resources)}
    frame = pl.DataFrame({"id": met.id, "arrival": met.arrival, "lifetime": met.duration, **demands})
    workload = {"trace": spec.trace}
    return RequestSource(spec.trace, path, frame, workload, scenario=scenario, running=met.running)


def _spec(workload: Mapping[str, Any]) -> Trace:
    try:
        return Trace.model_validate(dict(workload))
    except ValidationError as error:
        raise explain(error, Source(None, dict(workload))) from None
