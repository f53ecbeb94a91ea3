"""The schema of failures of servers, links and switches."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from binwright.simcore.fields import Index, Model, PositiveTime, Text, Time, wrong
from binwright.simcore.json_schema import Schema, given


class _Planned(Model):
    """What happens at a planned time."""

    at: Time = Field(description="When, counted from the first request.", examples=["1 h"])
    repair_after: PositiveTime | None = Field(
        default=None, description="Time until it is back; by default it never is.", examples=["4 h"]
    )

    @property
    def lasts(self) -> float:
        """The seconds until it is back; infinite where it never is."""
        return inf if self.repair_after is None else self.repair_after


class Failure(_Planned):
    """A planned failure of one server."""

    server: Index = Field(description="Which server; the first is 0.", examples=[3])
    announced: bool = Field(
        default=False,
        description="It is known before: easy and conservative backfilling start nothing there that may not end in "
        "time.",
    )


class PartFailure(_Planned):
    """A planned failure of a link or switch."""

    part: Index = Field(description="Its number: `binwright list topology NAME` lists them.", examples=[3])


class DomainFailure(_Planned):
    """A planned failure of all servers of a domain."""

    domain: Text = Field(
        description="The value of the label: `3` of numbered racks, or `a` of `zone: a`.", examples=["3"]
    )

    @field_validator("domain", mode="before")
    @classmethod
    def _numbered(cls, value: object) -> object:
        return str(value) if type(value) is int else value


class _Chance(Model):
    """What fails and is repaired by chance, if at all."""

    mtbf: PositiveTime | None = None
    mttr: PositiveTime | None = None

    forms: ClassVar[Sequence[Schema]] = (given("mtbf", "mttr"), given(without=["mtbf", "mttr"]))

    @model_validator(mode="after")
    def _pair(self) -> Self:
        if (self.mtbf is None) != (self.mttr is None):
            missing = "mttr" if self.mttr is None else "mtbf"
            raise wrong("is missing", "mtbf and mttr go together: give both or neither.", (missing,))
        return self


class DomainFailures(_Chance):
    """Domains that fail: all servers with one value of a label at once."""

    mtbf: PositiveTime | None = Field(
        None, description="Mean time from a domain's repair to its next failure (exponential).", examples=["30 d"]
    )
    mttr: PositiveTime | None = Field(None, description="Mean time to its repair (exponential).", examples=["4 h"])
    scheduled: tuple[DomainFailure, ...] = Field((), description="Failures at planned times.")


class PartFailures(_Chance):
    """Links or switches that fail."""

    mtbf: PositiveTime | None = Field(
        None, description="Mean time from a part's repair to its next failure (exponential).", examples=["90 d"]
    )
    mttr: PositiveTime | None = Field(None, description="Mean time to its repair (exponential).", examples=["1 h"])
    scheduled: tuple[PartFailure, ...] = Field((), description="Failures at planned times.")


class Failures(_Chance):
    """Servers that fail, and in a network links and switches. They come back empty."""

    mtbf: PositiveTime | None = Field(
        default=None,
        description="Mean time from a server's repair to its next failure (exponential).",
        examples=["30 d"],
    )
    mttr: PositiveTime | None = Field(
        default=None, description="Mean time to its repair (exponential).", examples=["4 h"]
    )
    scheduled: tuple[Failure, ...] = Field(default=(), description="Failures at planned times.")
    on_failure: Literal["lose", "requeue"] = Field(
        default="lose",
        description="Requests on a failed part are lost, or offered again for the rest of their lifetimes.",
    )
    domains: dict[str, DomainFailures] = Field(
        default_factory=dict,
        description="Racks, zones or power feeds that fail, by label.",
        examples=["{rack: {mtbf: 30 d, mttr: 4 h}}", "{zone: {scheduled: [{at: 2 d, domain: a, repair_after: 4 h}]}}"],
    )
    links: PartFailures | None = Field(default=None, description="Links of the network that fail.")
    switches: PartFailures | None = Field(default=None, description="Switches that fail, all links with them.")
