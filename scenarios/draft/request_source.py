"""The requests behind a file of any kind that has some: a scenario, a known trace, or a stranger's table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from binwright.analysis.measure.metric import duration
from binwright.scenarios.build.trace import TraceRequests
from binwright.scenarios.draft.text import AGENTS, DraftServers, amounts, generated, scenario_text, servers_for
from binwright.scenarios.schema.explain import explain
from binwright.scenarios.schema.load import load_scenario, shipped
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.workload import Trace
from binwright.scenarios.schema.yaml_source import Source
from binwright.simcore.errors import UserError
from binwright.simcore.extras import pl
from binwright.simcore.types import QUANTUM, Floats
from binwright.workloads import TRACES, WITH_SERVERS
from binwright.workloads.arrivals import Poisson
from binwright.workloads.changes import changed
from binwright.workloads.column_guesses import Proposal, propose
from binwright.workloads.describe import EVEN, fit, growing, loads
from binwright.workloads.lifetimes import kaplan_meier
from binwright.workloads.traces.cells import collecting, is_date, lines_of, moment
from binwright.workloads.traces.check import MODELS, resources_in
from binwright.workloads.traces.kubernetes import read_nodes
from binwright.workloads.traces.library import find, read, recognised
from binwright.workloads.windows import last_moment

_MACHINE = {"cpu": "64 cores", "mem": "256 GB", "hdd": "4 TB", "ssd": "2 TB"}
"""What stands for a machine where a trace counts in machines."""
MOST = 0.9
"""The share of the requests that the demands of a fitted workload should cover."""


@dataclass(frozen=True)
class RequestSource:
    """Holds requests in units, in the common columns of `Trace.read`, and what a scenario says to read them.

    `proposal` is there where the mapping was guessed, `scenario` where one says it; `path` is the file. `age` and
    `watched` are as in `binwright.simcore.types.Workload`.
    """

    name: str
    path: Path
    frame: pl.DataFrame
    workload: Mapping[str, Any]
    proposal: Proposal | None = None
    scenario: Scenario | None = None
    age: Floats | None = None
    watched: Floats | None = None

    @property
    def running(self) -> int:
        """How many requests, the first ones, run already at the start."""
        return 0 if self.age is None else len(self.age)

    @property
    def resources(self) -> list[str]:
        return resources_in(self.frame.columns)

    @property
    def loads(self) -> dict[str, tuple[float, float]]:
        """The peak of what runs at once of every resource, and its 99th percentile over time."""
        arrival, lifetime = (self.frame[name].to_numpy() for name in ("arrival", "lifetime"))
        return loads(arrival, lifetime, {name: self.frame[name].to_numpy() for name in self.resources})

    @property
    def doubts(self) -> list[str]:
        """What speaks against taking the requests for a steady stream of which all are known."""
        times, stays = (self.frame[name].to_numpy() for name in ("arrival", "lifetime"))
        arrival, lifetime = times[self.running :], stays[self.running :]
        found = []
        if (since := complete_from(arrival, lifetime)) is not None:
            found.append(
                f"Of what came before {moment(since)} nearly nothing ended before it, though later requests do: "
                f"the file seems to have only those that survived. {self._from(since)}"
            )
        if (begin := steady_from(arrival)) is not None:
            parts = arrival, arrival[arrival >= begin]
            gaps = [duration((part[-1] - part[0]) / max(1, len(part) - 1)) for part in parts]
            found.append(
                f"Arrivals are not steady: one every {gaps[0]} on average, and one every {gaps[1]} from "
                f"{moment(begin)} on. {self._from(begin)}"
            )
        grows = growing(times, stays, self.frame.select(self.resources).to_numpy(), float(arrival[0]))
        if grows:
            column, whole, later, late = grows
            when = moment(late) if self.watched is None else duration(late)  # the clock of a window begins at 0
            found.append(
                f"The load grows: {whole:,.4g} {self.resources[column]} run on average, {later:,.4g} from "
                f"{when} on. {EVEN}"
            )
        return found

    def _from(self, seconds: float) -> str:
        """Say how to begin at a moment."""
        if self.watched is not None:  # a window, whose clock begins at 0
            return "A later `start` leaves that out, and takes over what runs by then."
        text = moment(seconds)
        start = text[:16].replace(" ", "T") if is_date(text) else text
        return (
            f"`start: {start}` in a scenario leaves that out, and takes over what runs by then; so does --fit --start."
        )

    def since(self, start: str) -> RequestSource:
        """Return the requests of the window that begins there, with what runs by then."""
        try:
            begin = yaml.safe_load(start)
        except yaml.YAMLError:
            begin = None
        if not isinstance(begin, int | float | str | date):
            remedy = "Give a row, counted from 0, a time, as in 3 d, or a date."
            raise UserError("is no start", key="--start", value=start, remedy=remedy)
        spec = _spec({**self.workload, "start": begin})
        if self.scenario and isinstance(self.scenario.workload, Trace):
            spec = self.scenario.workload.model_copy(update={"start": spec.start, "changes": ()})
        seed = self.scenario.seed if self.scenario else 0
        return replace(self, **_window(spec, tuple(self.resources), seed))

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

    def text(
        self,
        folder: Path,
        servers: DraftServers | Mapping[str, Any] | None = None,
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
            notes += [f"Not read: {', '.join(self.proposal.others)}"] * bool(self.proposal.others)
        workload = dict(self.workload)
        if "path" in workload:
            workload["path"] = os.path.relpath(workload["path"], folder)
        about = f"The {len(self.frame):,} requests of {self.path.name}: which agent finds room for most of them?"
        servers = self.servers if servers is None else servers
        return scenario_text(about, servers, workload, notes=notes, overflow=overflow, agents=agents)

    def share_of(self, flavours: int) -> float:
        """Return the share of the requests that have one of so many demands, the most frequent ones."""
        kinds = self.frame.group_by(self.resources).len().sort("len", descending=True)["len"]
        return float(kinds.head(flavours).sum()) / len(self.frame)

    def fitted(self, flavours: int) -> str:
        """Write a scenario whose requests are drawn, like these."""
        try:
            spec = fit(self.frame, flavours, age=self.age, watched=self.watched)
        except UserError as error:
            error.file = self.path
            raise
        assert isinstance(spec.arrivals, Poisson)
        rates = {"hours": spec.arrivals.hours, "weekdays": spec.arrivals.days, "growth": spec.arrivals.growth != 1}
        kept, lost = ([name for name, fitted in rates.items() if bool(fitted) == wanted] for wanted in (True, False))
        share = self.share_of(flavours)
        notes = [
            f"Fitted to the {len(self.frame):,} requests of {self.path.name}: the {len(spec.flavours)} most frequent "
            f"demands, which are {share:.1%} of them{' (more with --flavours)' if share < MOST else ''},",
            f"Poisson arrivals, quantiles of lifetimes. Kept: {', '.join(kept) or 'the mean rate'}. "
            f"Lost: {', '.join([*lost, 'bursts', 'tenants'])}.",
        ]
        notes += [f"{self.running:,} requests run already at the start. They are not drawn."] * (self.running > 0)
        agents = [each.label for each in self.scenario.agents] if self.scenario else AGENTS
        about = f"Requests like those of {self.path.name}, drawn anew for every seed."
        fitted = {name: {"peak": peak, "p99": p99} for name, (peak, p99) in self.loads.items() if peak}
        workload = {**generated(spec), "fitted": fitted}
        return scenario_text(about, self.servers, workload, notes=notes, agents=agents, replications=10)


def asked_of(file: str, drop: bool = False) -> RequestSource:
    """Find the requests behind the name of a trace or of a shipped scenario, or a file; `drop` as `of_table` has it."""
    path = Path(file)
    if path.suffix in (".yaml", ".yml") or (file in shipped() and not path.exists()):
        return _of_scenario(file)
    if file in TRACES and not path.is_file():
        return _of_trace(file, find(file), {"trace": file})
    name = recognised(path) or "table"
    if name == "table":
        return of_table(path, propose(path), drop)
    return _of_trace(name, path, {"trace": name, "path": file})


def of_table(path: Path, proposal: Proposal, drop: bool = False) -> RequestSource:
    """Read a table as it is proposed; `drop` leaves out rows that cannot be read."""
    columns = {name: column for name, column in proposal.workload["columns"].items() if name != column}
    workload = {"trace": "table", "path": str(path), **proposal.workload, "columns": columns}
    workload = {key: value for key, value in workload.items() if value}
    resources = tuple(resources_in(guess.name for guess in proposal.guesses if guess.name != "end"))
    options = _spec(workload).options
    try:
        if not drop:
            return RequestSource(
                "table", path, read("table", path, options=options, resources=resources), workload, proposal
            )
        with collecting() as faults:
            frame = read("table", path, options=options, resources=resources)
    except UserError as error:
        error.remedy += _unreadable(path, options, resources) + "\n  The columns were read as\n"
        error.remedy += "\n".join(
            f"    {guess.name}: {guess.column} ({guess.unit or guess.why})" for guess in proposal.guesses
        )
        raise
    if faults:
        listed = "; ".join(map(str, faults))
        proposal.doubts.append(f"{len(lines_of(faults)):,} of the rows cannot be read and are left out: {listed}.")
    return RequestSource("table", path, frame, {**workload, "faulty": "drop"}, proposal)


def _unreadable(path: Path, options: Mapping[str, Any], resources: tuple[str, ...]) -> str:
    """Count the rows that cannot be read, and offer to leave them out; empty where it is not rows that are wrong."""
    try:
        with collecting() as faults:
            read("table", path, options=options, resources=resources)
    except UserError:
        return ""
    rows = len(lines_of(faults))
    many, them = (f"{rows:,} rows cannot", "them") if rows > 1 else ("1 row cannot", "it")
    return (
        f"\n  In all, {many} be read: `binwright traces describe {path} --drop-faulty` leaves {them} out, and so does "
        "`workload: {faulty: drop}` in a scenario."
    )


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
    scenario = load_scenario(file)
    spec = scenario.workload
    if not isinstance(spec, Trace):
        remedy = "Name a scenario with `trace:`, a trace, or a file of requests."
        raise UserError("has no requests of a trace", file=file, key="workload", remedy=remedy)
    path = find(spec.trace, spec.path)
    plain = spec if spec.inflate is None else spec.model_copy(update={"inflate": None, "running": "drop"})
    parts = _window(plain, scenario.resources, scenario.seed)
    return RequestSource(spec.trace, path, workload={"trace": spec.trace}, scenario=scenario, **parts)


def _window(spec: Trace, resources: tuple[str, ...], seed: int) -> dict[str, Any]:
    """Read the requests of a window, with its changes: the fields of `RequestSource` that hold them."""
    window = TraceRequests(spec, resources, None, dict).window_of(seed, watched=True)
    found = changed(window, spec.changes, seed)
    demands = {name: found.demand[:, place] / QUANTUM for place, name in enumerate(found.resources)}
    frame = pl.DataFrame({"id": found.id, "arrival": found.arrival, "lifetime": found.duration, **demands})
    return {"frame": frame, "age": found.age, "watched": found.watched}


def _spec(workload: Mapping[str, Any]) -> Trace:
    try:
        return Trace.model_validate(dict(workload))
    except ValidationError as error:
        raise explain(error, Source(None, dict(workload))) from None


ROWS = 20_000
"""So many rows are looked at, evenly chosen, where there are more."""
PARTS = 40
"""Moments that are tried for the beginning of what is complete."""
EXPECTED, MISSING = 20.0, 0.1
"""Requests that should have ended before a moment, at least, and the share of them that did, at most."""
CHANCE = 5.0
"""Standard deviations by which two numbers of arrivals differ at least, so that it is not by chance."""
FACTOR = 2.0
"""By so much the busiest quarter of the time differs from the calmest at least, where arrivals are not steady."""


def complete_from(arrival: Floats, lifetime: Floats) -> float | None:
    """Find the moment before which a trace has only those that survived it; None if it has those that ended, too.

    `arrival` float64 [n] ascends. Those that come later say how many of the earlier ones should have ended by then.
    """
    step = max(1, len(arrival) // ROWS)
    arrival, lifetime = arrival[::step], lifetime[::step]
    end, last = arrival + lifetime, last_moment(arrival, lifetime)
    best, found = 0.0, None
    for when in np.linspace(arrival[0], arrival[-1], PARTS + 1)[1:-1]:
        first = int(np.searchsorted(arrival, when))
        ended = np.isfinite(lifetime[first:])
        if not ended.any():
            break
        times, share = kaplan_meier(np.where(ended, lifetime[first:], last - arrival[first:]), ended)
        place = np.searchsorted(times, when - arrival[:first], side="right")
        expected = float(np.where(place > 0, share[place - 1], 0.0).sum())
        there = int((end[:first] <= when).sum())
        if expected >= EXPECTED / step and there <= MISSING * expected and expected - there > best:
            best, found = expected - there, float(when)
    return found


def steady_from(arrival: Floats) -> float | None:
    """Find the moment from which on arrivals are steady, where they are not so from the beginning; None if they are."""
    first, last = float(arrival[0]), float(arrival[-1])
    if _ratio(arrival, first, last) < FACTOR:
        return None
    moments = [first + part * (last - first) / PARTS for part in range(1, PARTS * 3 // 4)]
    return next((begin for begin in moments if _ratio(arrival, begin, last) < FACTOR), first + 0.75 * (last - first))


def _ratio(arrival: Floats, first: float, last: float) -> float:
    """Divide the arrivals in the busiest quarter of a time by those in the calmest; 1 where chance may be why."""
    counts, _ = np.histogram(arrival, 4, (first, last))
    most, least = int(counts.max()), int(counts.min())
    return most / max(1, least) if most - least > CHANCE * (most + least) ** 0.5 else 1.0
