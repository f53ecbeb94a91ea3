"""Failures of servers, links, switches, and of domains such as racks."""

from functools import partial
from math import inf
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from binwright.fabric.topology import Topology, adjacency
from binwright.scenarios.features.feature import Feature, Point
from binwright.simcore.errors import ScenarioError, suggest
from binwright.simcore.faults import Faults, Kind
from binwright.simcore.fields import Index, Model, PositiveTime, Text, Time, wrong


class _Planned(Model):
    """What happens at a planned time."""

    at: Time = Field(description="When, counted from the first request.")
    repair_after: PositiveTime | None = None
    """Time until it is back; by default it never is."""

    @property
    def lasts(self) -> float:
        """The seconds until it is back; infinite where it never is."""
        return inf if self.repair_after is None else self.repair_after


class Failure(_Planned):
    """A planned failure of one server."""

    server: Index = Field(description="Which server; the first is 0.")


class PartFailure(_Planned):
    """A planned failure of a link or switch."""

    part: Index = Field(description="Its number: `binwright list topology NAME` lists them.")


class DomainFailure(_Planned):
    """A planned failure of all servers of a domain."""

    domain: Text = Field(description="The value of the label: `3` of numbered racks, or `a` of `zone: a`.")

    @field_validator("domain", mode="before")
    @classmethod
    def _numbered(cls, value: object) -> object:
        return str(value) if type(value) is int else value


class _Chance(Model):
    """What fails and is repaired by chance, if at all."""

    mtbf: PositiveTime | None = None
    """Mean time from a repair to the next failure (exponential)."""
    mttr: PositiveTime | None = Field(default=None, description="Mean time to the repair (exponential).")

    @model_validator(mode="after")
    def _pair(self) -> Self:
        if (self.mtbf is None) != (self.mttr is None):
            missing = "mttr" if self.mttr is None else "mtbf"
            raise wrong("is missing", "mtbf and mttr go together: give both or neither.", (missing,))
        return self


class DomainFailures(_Chance):
    """Domains that fail: all servers with one value of a label at once."""

    scheduled: tuple[DomainFailure, ...] = Field((), description="Failures at planned times.")


class PartFailures(_Chance):
    """Links or switches that fail."""

    scheduled: tuple[PartFailure, ...] = Field((), description="Failures at planned times.")


class Failures(_Chance):
    """Servers that fail, and in a network links and switches. They come back empty."""

    scheduled: tuple[Failure, ...] = Field(default=(), description="Failures at planned times.")
    on_failure: Literal["lose", "requeue"] = "lose"
    """Requests on a failed part are lost, or offered again for the rest of their lifetimes."""
    domains: dict[str, DomainFailures] = Field(
        default_factory=dict,
        examples=["{rack: {mtbf: 30 d, mttr: 4 h}}", "{zone: {scheduled: [{at: 2 d, domain: a, repair_after: 4 h}]}}"],
    )
    """Racks, zones or power feeds that fail, by label."""
    links: PartFailures | None = Field(default=None, description="Links of the network that fail.")
    switches: PartFailures | None = Field(default=None, description="Switches that fail, all links with them.")


def _together(point: Point, label: str, spec: DomainFailures, requeue: bool) -> Faults:
    """Make the failures of the domains of a label; they are numbered as their first servers are."""
    labels, file = point.labels, point.scenario.file
    names = list(dict.fromkeys(name for name in labels.labels.get(label, np.array([])).tolist() if name))
    if not names:
        remedy = suggest(label, labels.labels)
        key = f"cluster.failures.domains.{label}"
        raise ScenarioError("no server has this label", file=file, key=key, remedy=remedy)
    scheduled = []
    for number, each in enumerate(spec.scheduled):
        if each.domain not in names:
            key = f"cluster.failures.domains.{label}.scheduled.{number}.domain"
            remedy = suggest(each.domain, names)
            raise ScenarioError("there is no such domain", file=file, key=key, value=each.domain, remedy=remedy)
        scheduled.append((each.at, names.index(each.domain), each.lasts))

    def domains(servers: int) -> list[list[int]]:
        values = (
            labels.grown(servers - labels.servers).labels[label] if servers > labels.servers else labels.labels[label]
        )
        members: dict[str, list[int]] = {name: [] for name in names}
        for server, name in enumerate(values.tolist()):
            if name:
                members.setdefault(name, []).append(server)
        return list(members.values())

    return Faults(
        spec.mtbf or inf, spec.mttr or 0.0, tuple(scheduled), requeue, point.seed, "server", f"domain {label}", domains
    )


def _links(topology: Topology, _: int) -> list[list[int]]:
    """List the links of every switch."""
    first, links = adjacency(topology.link_ends, topology.servers, len(topology.level))[::2]
    return [links[first[switch] : first[switch + 1]].tolist() for switch in range(topology.switches)]


class _Keys(Model):
    failures: Failures = Field(default=Failures(), description="Servers that fail.")


class _Feature(Feature):
    key = "cluster.failures"
    keys: ClassVar = {"cluster": _Keys}
    learned = False

    def section(self, scenario: Any) -> bool:
        return bool(scenario.cluster.failures != Failures())

    def check(self, scenario: Any) -> None:
        cluster, failures = scenario.cluster, scenario.cluster.failures
        for kind in ("links", "switches"):
            if (parts := getattr(failures, kind)) is None:
                continue
            at = ("cluster", "failures", kind)
            if cluster.network is None:
                raise wrong("the cluster has no network", "Give the cluster a network, or remove this key.", at)
            count = getattr(cluster.network.topology.built, kind)
            for number, failure in enumerate(parts.scheduled):
                if failure.part >= count:
                    where = (*at, "scheduled", number, "part")
                    raise wrong("there is no such part", f"The {kind} are 0 to {count - 1}.", where, failure.part)
        size = cluster.size
        if size is None or scenario.grows:
            return  # how many servers there will be is not known here
        for number, each in enumerate(failures.scheduled):
            if each.server >= size:
                key = ("cluster", "failures", "scheduled", number, "server")
                raise wrong("there is no such server", f"Servers are 0 to {size - 1}.", key, each.server)

    def faults(self, point: Point) -> list[Faults]:
        spec: Failures = point.scenario.cluster.failures
        requeue, result = spec.on_failure == "requeue", list[Faults]()
        kinds: tuple[tuple[str, Kind, Failures | PartFailures | None], ...]
        kinds = ("server", "server", spec), ("link", "link", spec.links), ("switch", "link", spec.switches)
        for label, kind, parts in kinds:
            if parts and (parts.mtbf is not None or parts.scheduled):
                key, chance = "server" if kind == "server" else "part", (parts.mtbf or inf, parts.mttr or 0.0)
                scheduled = tuple((failure.at, getattr(failure, key), failure.lasts) for failure in parts.scheduled)
                links = partial(_links, point.scenario.cluster.network.topology.built) if label == "switch" else None
                result.append(Faults(*chance, scheduled, requeue, point.seed, kind, label, links))
        return [*result, *(_together(point, label, each, requeue) for label, each in spec.domains.items())]


FEATURE = _Feature()
