"""The schema of a workload that is a trace: its file, columns and units, what is read of it, and its windows."""

from collections.abc import Mapping, Sequence
from functools import partial
from math import inf
from typing import Annotated, Any, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from binwright.scenarios.agent_spec import AgentSpec
from binwright.scenarios.features import with_keys
from binwright.scenarios.features.placement import PlacementKeys
from binwright.scenarios.schema.cluster import ClusterSpec
from binwright.scenarios.schema.workload_kind import WorkloadKind
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.fields import (
    Keys,
    Model,
    PositiveNumber,
    Shown,
    Text,
    checked,
    is_name,
    known_resources,
    mapping_of,
    together,
    wrong,
)
from binwright.simcore.units import COUNT, DATA, TIME, amount, measure_of
from binwright.workloads import TRACES
from binwright.workloads.amounts import TIMES, Units, measure_of_column
from binwright.workloads.parts import Parts
from binwright.workloads.traces.check import TEXTS
from binwright.workloads.traces.filters import REMEDY, check_conditions
from binwright.workloads.windows import ApartStart, Window


def _columns(values: Any) -> dict[str, str]:
    def column(name: str, value: Any) -> str:
        if not is_name(name) or not isinstance(value, str) or not value:
            remedy = "Write the name of a column, in quotes if it looks like a number."
            if name == "where":
                remedy = "Write the name of the one column whose cells are like `zone=a;kind=large`."
            raise wrong("is not the name of a column", remedy, (name,))
        return value

    result = mapping_of(values, "names to columns", "{arrival: created, end: deleted, cpu: vCPUs}", column)
    if "end" in result and "lifetime" in result:
        raise wrong("says the same as `lifetime`", "Keep the one that is right.", ("end",))
    return result


def _stands_for(name: str, value: Any) -> float:
    """Read what an empty cell stands for: a time or `never`, or an amount."""
    if name not in TIMES:
        return amount(name, value)
    return inf if value in ("never", inf) else TIME.parse(value)


def _empty(values: Any) -> dict[str, str]:
    """Read what empty cells stand for, as texts that read as exactly the same."""

    def text(name: str, value: Any) -> str:
        if name == "arrival":
            raise wrong("has no default", "Leave out such rows: `keep: {Created: '!='}`.", (name,))
        result = checked(partial(_stands_for, name), (name,))(value)
        return "never" if result == inf else measure_of_column(name).show(result)

    return mapping_of(values, "columns to values", "{end: never, gpu: 0}", text)


def _keep(values: Any) -> dict[str, list[str]]:
    def conditions(name: str, value: Any) -> list[str]:
        items = value if isinstance(value, list | tuple) else [value]
        if not all(isinstance(item, str | int | float) for item in items):
            raise wrong("is no condition", f"{REMEDY} Dates are put in quotes.", (name,))
        texts = [str(item).lower() if isinstance(item, bool) else str(item) for item in items]
        checked(check_conditions, (name,))(texts)
        return texts

    return mapping_of(values, "columns to conditions", "{vCPUs: '> 0', State: [running, stopped]}", conditions)


_Names: TypeAlias = Annotated[dict[str, str], BeforeValidator(_columns), Shown("{name: column}")]
_Empty: TypeAlias = Annotated[dict[str, str], BeforeValidator(_empty), Shown("{name: time, `never`, or amount}")]
_Keep: TypeAlias = Annotated[
    dict[str, list[str]],
    BeforeValidator(_keep),
    Shown("{column: value, list of values, or comparisons}"),
]


_UNITS = ("workload", "units")


class Inflate(Model):
    """Requests in random order, then random ones of them again, a second apart; none ends.

    Seeds 42 to 51 have the requests of FGD's experiments (Weng and others 2023).
    """

    until: PositiveNumber = Field(examples=[1.3])
    """They go on until they ask for this times what the servers have."""
    of: Text = Field(description="The resource that `until` is about.", examples=["gpu"])


def _known(name: str) -> str:
    """Refuse what is no format of traces; says what to write where a file or a class stands in its place."""
    if ":" in name:
        remedy = f'Draw requests by a workload of your own, `workload: {{"{name}": {{}}}}`, or write `trace: table`.'
        raise UserError("is a class, and the name of a format belongs here", value=name, remedy=remedy)
    if name not in TRACES and any(letter in name for letter in "./"):
        remedy = (
            f"A file of your own is `trace: table` with `path: {name}`; `binwright traces describe {name} --out FILE` "
            "finds out what its columns are, and writes a scenario that reads it."
        )
        raise UserError("is a file, and the name of a format belongs here", value=name, remedy=remedy)
    if name not in TRACES:
        problem, remedy = TRACES.unknown(name)
        raise UserError(problem, value=name, remedy=remedy)
    return name


@with_keys("workload")
class Trace(PlacementKeys, Window, WorkloadKind):
    """Requests of a trace."""

    trace: Annotated[Text, AfterValidator(checked(_known))] = Field(examples=["huawei-east-1"])
    """A trace format; `binwright list traces` lists them."""
    path: Text | None = Field(None, examples=["../shared/traces/huawei-east-1.csv"])
    """The file, relative to this one; by default it is looked up in $BINWRIGHT_TRACES and the user's cache."""
    columns: _Names = Field(
        default_factory=dict, examples=["{arrival: Created At, end: Deleted At, cpu: vCPUs, mem: RAM}"]
    )
    """The columns of a `table` for `arrival`, `lifetime` or `end`, `id`, resources, `models`, `group`, `where` and
    `tolerates`, where they have other names."""
    units: Units = Field(default_factory=dict, examples=["{cpu: millicores, mem: GiB, arrival: ms}"])
    """The unit of a column, or how much a 1 there is: of resources, and in a `table` of `arrival`, `end` and
    `lifetime`. Needed for data in a `table` and for azure-packing-2020."""
    labels: dict[str, Text] = Field(default_factory=dict, examples=["{tenant: Customer, priority: Prio}"])
    """Columns of a `table` that become labels of the requests. Agents do not see them."""
    empty: _Empty = Field(default_factory=dict, examples=["{end: never, gpu: 0}"])
    """What an empty cell of a `table` is: a time or `never` for `end` or `lifetime`, an amount for a resource.
    Otherwise such a row is refused."""
    keep: _Keep = Field(
        default_factory=dict,
        examples=["{State: [running, stopped], vCPUs: '> 0', Created: '>= 2026-11-01'}", "{cpu: '>= 4'}"],
    )
    """Read only rows with one of these values, or that meet all comparisons (>, >=, <, <=, !=) with numbers or dates.
    Columns are those of a `table`'s file; of other traces `arrival` and `lifetime` in seconds, and resources."""
    parts: Parts | None = Field(None, examples=["processors", "{by: pods, together: rack}"])
    """How many parts every request has, placed together or not at all."""
    inflate: Inflate | None = Field(None, examples=["{until: 1.3, of: gpu}"])
    """Fill the cluster with these requests again and again."""

    @classmethod
    def prepare(cls, data: Any) -> Any:
        for key in ("arrivals", "flavours"):
            if isinstance(data, Mapping) and data.get(key) is not None:
                remedy = "A workload is a trace or generated; what an extended file says is taken back by `key: null`."
                raise wrong("does not go with a trace", remedy, (key,))
        return data

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for key, present in (("resample", self.resample), ("parts", self.parts)):
            if present and self.inflate:
                raise wrong("does not go with `inflate`", "Remove one of the two.", (key,))
        written = [key for key in ("columns", "labels", "empty") if getattr(self, key)]
        for key in (*written, *["units"] * bool({*self.units} & {*TIMES})) if self.trace != "table" else ():
            raise wrong("is for a table of your own", f"{self.trace} knows its columns: remove it.", (key,))
        return self

    @property
    def placed(self) -> Sequence[tuple[Keys, PlacementKeys]]:
        """What all of its requests say to rules of placement."""
        return [((), self)]

    def check_against(self, cluster: ClusterSpec, agents: Sequence[tuple[Keys, AgentSpec]], seeds: int) -> None:
        resources, start = cluster.resources, self.start
        known = {"columns": ["id", *TIMES, *TEXTS, *resources], "empty": ["end", "lifetime", *resources]}

        def meant(key: str, name: str) -> None:
            if name not in known[key]:
                problem = "is neither a resource of the cluster nor anything else that requests have"
                raise wrong(problem, suggest(name, known[key]), ("workload", key, name))

        def inflated() -> None:
            if self.inflate and self.inflate.of not in resources:
                remedy, at = suggest(self.inflate.of, resources), ("workload", "inflate", "of")
                raise wrong("the cluster has no such resource", remedy, at, self.inflate.of)

        def apart() -> None:
            if isinstance(start, ApartStart) and self.requests and start.count(self.requests) < seeds * self.superpose:
                problem = f"has {start.count(self.requests)} windows of {self.requests} requests side by side, too few"
                problem += f" for {seeds} seeds" + f" with {self.superpose} windows each" * (self.superpose > 1)
                remedy = "Give fewer replications, shorter windows, or a wider range."
                raise wrong(problem, remedy, ("workload", "start", "apart"), [*start.apart])

        together(
            partial(known_resources, [name for name in self.units if name not in TIMES], resources, _UNITS),
            *(partial(meant, key, name) for key in known for name in getattr(self, key)),
            inflated,
            partial(self.units_of, resources),
            apart,
        )

    def units_of(self, resources: tuple[str, ...]) -> dict[str, float]:
        """Return how many units of each of these resources a 1 in the trace is; refuses what nobody has said."""
        known: Mapping[str, str] = TRACES.load(self.trace).units
        result: dict[str, float] = {}
        for name in resources:
            measure, unit = measure_of(name), known.get(name, "")
            understood = unit in measure.factors if unit else measure is not DATA
            if name not in self.units and measure is not COUNT and not understood:
                problem = f"the trace's {name} is in {unit}, no unit of {measure.name}"
                remedy = f"Say what a 1 in its column is: `units: {{{name}: {measure.base}}}`, if that is right."
                raise wrong(problem if unit else f"the unit of the trace's {name} is not known", remedy, _UNITS)
            result[name] = self.units.get(name, float(measure.factors.get(unit, 1)))
        return result

    @property
    def options(self) -> dict[str, Any]:
        """The reader's options, in seconds and units."""
        result: dict[str, Any] = {"keep": self.keep}
        if self.trace == "table":
            shares = self.use.labels if self.use else ()
            result |= {
                "columns": self.columns,
                "factors": self.units,
                "labels": {**{name: name for name in shares}, **self.labels},
                "empty": {name: _stands_for(name, value) for name, value in self.empty.items()},
            }
        return {name: value for name, value in result.items() if value}
