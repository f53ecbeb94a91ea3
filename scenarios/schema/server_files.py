"""The schema of servers that a file lists: a CSV of one's own, or that of a trace."""

from typing import Literal, Self

from pydantic import Field, model_validator

from binwright.simcore.errors import UserError
from binwright.simcore.fields import Model, Text, Units, checked, known_resources, wrong
from binwright.simcore.units import DATA, measure_of
from binwright.workloads import TRACES, WITH_SERVERS
from binwright.workloads.traces.base import ServerFile

DEVICE = "gpu"
"""The resource that servers have as devices."""


class DeviceColumns(Model):
    """The columns of devices in a file of servers."""

    count: Text = Field(description="The column with the number of a server's devices.", examples=["gpu"])
    model: Text | None = Field(default=None, description="The column with their model.", examples=["model"])


class TracedServers(Model):
    """The servers that a trace was taken on."""

    name: Text = Field(description="The trace.", examples=["alibaba-openb"])
    path: Text | None = Field(
        default=None, description="The file of its servers; by default it is looked up like a trace."
    )
    only: Literal["all", "devices"] = Field(
        default="all", description="Take all servers, or only those that have devices.", examples=["devices"]
    )
    units: Units = Field(
        default_factory=dict,
        description="How much a unit of a resource in the file is, as in the workload's `units`.",
        examples=["{mem: 1 GB}"],
    )

    @model_validator(mode="after")
    def _known(self) -> Self:
        checked(servers_of, ("name",))(self.name)
        return self


class Csv(Model):
    """Servers from a CSV file with a header: a server per row, its capacity split evenly over its nodes."""

    path: Text = Field(description="The file, relative to this one.", examples=["nodes.csv"])
    columns: dict[str, Text] = Field(
        description="The column of each resource, in the order of the cluster's resources.",
        examples=["{cpu: cpu_milli, mem: memory_mib, gpu: gpu}"],
        min_length=1,
    )
    units: Units = Field(
        default_factory=dict,
        description="The unit of the column, or how much a 1 there is. Data needs it; others are cores, cards, or 1.",
        examples=["{cpu: millicores, mem: MiB}"],
    )
    devices: DeviceColumns | None = Field(
        default=None, description="The columns of devices.", examples=["{count: gpu, model: model}"]
    )
    labels: dict[str, Text] = Field(
        default_factory=dict, description="The column of each label of the servers.", examples=["{zone: az}"]
    )
    kind: Text | None = Field(
        default=None, description="The column of each server's kind, for `costs`.", examples=["sku"]
    )
    taints: Text | None = Field(
        default=None, description="The column of taints, as in `spot|old`.", examples=["taints"]
    )

    @model_validator(mode="after")
    def _units(self) -> Self:
        known_resources(self.units, tuple(self.columns), ("units",))
        for name, column in self.columns.items():
            if name not in self.units and measure_of(name) is DATA:
                remedy = f"Say so: `units: {{{name}: GB}}`, or GiB, MiB, ..."
                raise wrong(f"does not say in what unit the column {column} is", remedy, ("units",))
        return self


def servers_of(name: str) -> ServerFile:
    """Return what is known of the servers that a trace comes with."""
    known: ServerFile | None = TRACES.load(name).servers if name in WITH_SERVERS else None
    if known is None:
        raise UserError("comes without servers", value=name, remedy=f"Traces with servers: {', '.join(WITH_SERVERS)}.")
    return known
