"""First scenarios, as text to go on with: of the requests behind a file, or of the shipped `first`.

Keys are short, amounts have units, and a comment says what was guessed.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from binwright.scenarios.run.check import check_scenario
from binwright.scenarios.schema.explain import explain
from binwright.scenarios.schema.load import scenario_from, shipped
from binwright.scenarios.schema.trace import Trace
from binwright.scenarios.schema.workload import Generated
from binwright.scenarios.schema.yaml_source import Source
from binwright.simcore.errors import UserError
from binwright.simcore.extras import pl
from binwright.simcore.files import replacing
from binwright.simcore.types import QUANTUM
from binwright.simcore.units import LARGEST
from binwright.workloads import TRACES, WITH_SERVERS
from binwright.workloads.column_guesses import Proposal, propose
from binwright.workloads.describe import peaks, readable
from binwright.workloads.fit import fit
from binwright.workloads.traces.check import MODELS, resources_in
from binwright.workloads.traces.kubernetes import read_nodes
from binwright.workloads.traces.library import find, read, recognised

AGENTS = ("first-fit", "best-fit", "worst-fit", "dot-product")
MACHINE = {"cpu": "64 cores", "mem": "256 GB", "hdd": "4 TB", "ssd": "2 TB"}
"""What stands for a machine where a trace counts in machines."""
SIZES = (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
"""Units that a guessed server may have of a resource; beyond them, thousands."""
MOST = 40
"""Guessed servers, so that a first run is quick to look at."""
GUESS = "The servers are a guess, about what runs at the peak: put your own above."


@dataclass(frozen=True)
class RequestSource:
    """Holds requests in units, in the common columns of `Format.read`, and what a scenario says to read them.

    `proposal` is there where the mapping was guessed; `path` is the file.
    """

    name: str
    path: Path
    frame: pl.DataFrame
    workload: Mapping[str, Any]
    proposal: Proposal | None = None

    @property
    def resources(self) -> list[str]:
        return resources_in(self.frame.columns)

    @cached_property
    def peak(self) -> dict[str, float]:
        """The most that runs at once of each resource."""
        columns = {name: self.frame[name].to_numpy() for name in ("arrival", "lifetime", *self.resources)}
        return peaks(columns.pop("arrival"), columns.pop("lifetime"), columns)

    @property
    def guessed(self) -> dict[str, Any]:
        """Equal servers that are about enough for what runs at the peak."""
        number, node = servers_for(self.peak, self.frame.select(self.resources).max().row(0, named=True))
        return {"servers": number, "node": readable(node)}

    @property
    def cluster(self) -> Mapping[str, Any]:
        """The servers of the trace, or a guess."""
        if self.name == "kubernetes" and (nodes := read_nodes(self.path)):
            groups: list[dict[str, Any]] = []
            for node in nodes:
                has = {name: node.amounts.get(name, 0.0) for name in self.resources}
                groups.append({"count": 1, "node": readable(has), "labels": node.labels})
                groups[-1] |= {"taints": list(node.taints)} if node.taints else {}
            return {"groups": groups}
        if MODELS in self.frame.columns and self.name in WITH_SERVERS:
            return {"trace": {"name": self.name}}
        return self.guessed

    @property
    def _read_as(self) -> list[str]:
        """What the columns were taken for, and what is doubtful in that."""
        if self.proposal is None:
            return []
        notes = [f"{guess.column} -> {guess.name}: {guess.why}" for guess in self.proposal.guesses]
        notes += [f"? {doubt}" for doubt in self.proposal.doubts]
        return notes + [f"Not read: {', '.join(self.proposal.others)}"] * bool(self.proposal.others)

    def text(self, folder: Path, own: Mapping[str, Any] | None = None) -> str:
        """Write a scenario, to lie in this folder, that replays the requests on its servers, or on `own` ones."""
        cluster = {**self.guessed, **own} if own else self.cluster
        guess = not own and "node" in cluster
        notes = [*[GUESS] * guess, *self._read_as]
        workload = dict(self.workload)
        if "path" in workload:
            workload["path"] = os.path.relpath(workload["path"], folder)
        about = f"The {len(self.frame):,} requests of {self.path.name}: which agent finds room for most of them?"
        return scenario_text(about, cluster, workload, notes)

    def fitted(self) -> str:
        """Write a scenario whose requests are drawn like these, with what runs at the peak of both in a note."""
        try:
            workload = fit(self.frame)
        except UserError as error:
            error.file = self.path
            raise
        drawn = Generated.model_validate(workload).draw(tuple(self.resources), 0)
        amounts_drawn = {name: drawn.demand[:, place] / QUANTUM for place, name in enumerate(drawn.resources)}
        peak_drawn = peaks(drawn.arrival, drawn.duration, amounts_drawn)
        notes = [
            *[GUESS] * ("node" in self.cluster),
            *self._read_as,
            f"Fitted to {len(self.frame):,} requests of {self.path.name}: their most frequent demands, the mean rate "
            "by hours and weekdays where it follows them, and their lifetimes. Lost: growth, bursts, tenants.",
            *(
                f"{name}: at most {peak:,.6g} at once there, {peak_drawn[name]:,.6g} drawn (seed 0)"
                for name, peak in self.peak.items()
            ),
        ]
        about = f"Requests like those of {self.path.name}, drawn anew for every seed."
        return scenario_text(about, self.cluster, workload, notes, replications=10)


def requests_of(file: str) -> RequestSource:
    """Find the requests behind the name of a trace, or a file."""
    path = Path(file)
    if path.suffix in (".yaml", ".yml") or (file in shipped() and not path.exists()):
        remedy = "Name a file of requests, or a trace: `binwright list traces`."
        raise UserError("is a scenario, and not its requests", file=file, remedy=remedy)
    if file in TRACES and not path.is_file():
        return _of_trace(file, find(file), {"trace": file})
    name = recognised(path) or "table"
    return _of_table(path) if name == "table" else _of_trace(name, path, {"trace": name, "path": file})


def _of_table(path: Path) -> RequestSource:
    """Read a table as it is proposed."""
    proposal = propose(path)
    workload = {"trace": "table", "path": str(path), **proposal.workload}
    resources = tuple(resources_in(guess.name for guess in proposal.guesses if guess.name != "end"))
    try:
        frame = read("table", path, options=_spec(workload).options, resources=resources)
    except UserError as error:
        guesses = (f"    {guess.name}: {guess.column} ({guess.unit or guess.why})" for guess in proposal.guesses)
        error.remedy += "\n  The columns were read as\n" + "\n".join(guesses)
        raise
    return RequestSource("table", path, frame, workload, proposal)


def _of_trace(name: str, path: Path, workload: dict[str, Any]) -> RequestSource:
    """Read a known trace; what it counts in machines, as machines of a usual size."""
    frame, units = read(name, path), TRACES.load(name).units
    resources = tuple(resources_in(frame.columns))
    if sizes := {each: MACHINE[each] for each in resources if units.get(each) == "machines" and each in MACHINE}:
        workload["units"] = sizes
    factors = _spec(workload).units_of(resources)
    frame = frame.with_columns(frame[each] * factor for each, factor in factors.items())
    return RequestSource(name, path, frame, workload)


def _spec(workload: Mapping[str, Any]) -> Trace:
    try:
        return Trace.model_validate(dict(workload))
    except ValidationError as error:
        raise explain(error, Source(None, dict(workload))) from None


def servers_for(peak: Mapping[str, float], largest: Mapping[str, float]) -> tuple[int, dict[str, float]]:
    """Choose how many equal servers together have about the peak, and the units of each, with room for every request.

    Of the first resource a server has the smallest size that takes four of the largest requests, or the peak on `MOST`
    servers; of others as much as goes with that at the peak.
    """
    first = next(name for name in peak if peak[name] > 0)
    size = _size(max(4 * largest[first], peak[first] / MOST))
    sizes = {name: _size(max(largest[name], peak[name] / peak[first] * size)) for name in peak if peak[name]}
    node = {name: min(sizes.get(name, 0.0), LARGEST) for name in peak}
    return max(2, *(ceil(peak[name] / node[name]) for name in sizes)), node


def _size(units: float) -> float:
    return next((float(size) for size in SIZES if size >= units), float(ceil(units / 1000) * 1000))


def begin(requests: str | None, own: Mapping[str, Any], folder: Path) -> str:
    """Write a checked scenario to lie in a folder: the requests of a file or a trace, or else the shipped `first`.

    `own` says how many `servers` there are, and what each `node` has, instead of what is guessed or shipped.
    """
    if requests:
        text = requests_of(requests).text(folder, own)
    else:
        first = yaml.safe_load(shipped()["first"].read_text(encoding="utf-8"))
        notes = ["Generated requests. With --requests FILE, `binwright init` takes those of a CSV of yours."]
        cluster = {**first["cluster"], **own}
        about = "How do agents compare on these servers?"
        text = scenario_text(about, cluster, first["workload"], notes, replications=10)
    data = yaml.safe_load(text)
    if "path" in data["workload"]:
        data["workload"]["path"] = str((folder / data["workload"]["path"]).resolve())
    check_scenario(scenario_from(data))
    return text


def scenario_text(
    about: str,
    cluster: Mapping[str, Any],
    workload: Mapping[str, Any],
    notes: Iterable[str],
    replications: int = 1,
) -> str:
    """Write a whole scenario; `notes` stand above the workload."""

    def section(key: str, value: Any) -> str:
        options: dict[str, Any] = {"sort_keys": False, "width": 100, "allow_unicode": True}
        return str(yaml.safe_dump({key: value}, default_flow_style=None, **options)).strip()

    lines = [f"# {about}", section("cluster", dict(cluster))]
    lines += [f"# {' '.join(note.split())}" for note in notes]
    lines.append(section("workload", dict(workload)))
    lines.append("overflow: drop  # a request that fits nowhere is lost; wait: it waits in a line; stop: the run ends")
    lines.append(section("agents", list(AGENTS)))
    lines += [f"replications: {replications}"] * (replications > 1)
    return "\n".join(lines) + "\n"


def write_new(file: str, text: str) -> None:
    """Write a scenario where there is no file yet."""
    target = Path(file)
    if target.exists():
        raise UserError("is there already", file=target, remedy="Name another file with --out, or remove this one.")
    with replacing(target) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
