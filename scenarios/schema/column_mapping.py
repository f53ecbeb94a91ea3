"""The schema of what a table of one's own calls its columns, and which of its rows are read."""

from collections.abc import Mapping
from functools import partial
from math import inf
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, Field

from binwright.simcore.errors import suggest
from binwright.simcore.fields import TIMES, Model, Shown, Text, Units, checked, is_name, mapping_of, together, wrong
from binwright.simcore.units import TIME, amount, measure_of
from binwright.workloads.traces.check import TEXTS
from binwright.workloads.traces.filters import REMEDY, check_conditions


def _columns(values: Any) -> dict[str, Any]:
    def column(name: str, value: Any) -> Any:
        deep = name == "where" and isinstance(value, Mapping) and value
        texts = list(value.values()) if deep else [value]
        if not is_name(name) or not all(isinstance(text, str) and text for text in texts):
            remedy = "Write the name of a column, in quotes if it looks like a number" + (
                ", or columns by label: {zone: az}." if name == "where" else "."
            )
            raise wrong("is not the name of a column", remedy, (name,))
        return dict(value) if deep else value

    found = mapping_of(values, "names to columns", "{arrival: created, end: deleted, cpu: vCPUs}", column)
    if "end" in found and "lifetime" in found:
        raise wrong("says the same as `lifetime`", "Keep the one that is right.", ("end",))
    return found


def _empty(values: Any) -> dict[str, str]:
    """Read what an empty cell stands for: a time or `never`, or an amount; texts that read as exactly the same."""

    def stands_for(name: str, value: Any) -> str:
        if name not in TIMES:
            return measure_of(name).show(checked(partial(amount, name), (name,))(value))
        if name == "arrival":
            raise wrong("has no default", "Leave out such rows: `keep: {Created: '!='}`.", (name,))
        return "never" if value in ("never", inf) else TIME.show(checked(TIME.parse, (name,))(value))

    return mapping_of(values, "columns to values", "{end: never, gpu: 0}", stands_for)


def _keep(values: Any) -> dict[str, list[str]]:
    def conditions(name: str, value: Any) -> list[str]:
        items = value if isinstance(value, list | tuple) else [value]
        if not all(isinstance(item, str | int | float) for item in items):
            raise wrong("is no condition", f"{REMEDY} Dates are put in quotes.", (name,))
        texts = [str(item).lower() if isinstance(item, bool) else str(item) for item in items]
        checked(check_conditions, (name,))(texts)
        return texts

    return mapping_of(values, "columns to conditions", "{vCPUs: '> 0', State: [running, stopped]}", conditions)


_Names: TypeAlias = Annotated[
    dict[str, Any],
    BeforeValidator(_columns),
    Shown("{name: column}"),
]
_Empty: TypeAlias = Annotated[dict[str, str], BeforeValidator(_empty), Shown("{name: time, `never`, or amount}")]
_Keep: TypeAlias = Annotated[
    dict[str, list[str]],
    BeforeValidator(_keep),
    Shown("{column: value, list of values, or comparisons}"),
]


class Mapped(Model):
    """What a table calls its columns, and which rows of a trace are read."""

    columns: _Names = Field(
        default_factory=dict,
        description="The columns of a `table` for `arrival`, `lifetime` or `end`, `id`, resources, `models`, "
        "`group`, `where` (or one for each label) and `tolerates`, where they have other names.",
        examples=["{arrival: Created At, end: Deleted At, cpu: vCPUs, mem: RAM, where: {zone: AZ}}"],
    )
    units: Units = Field(
        default_factory=dict,
        description="The unit of a column, or how much a 1 there is: of resources, and in a `table` of `arrival`, "
        "`end` and `lifetime`. Needed for data in a `table` and for azure-packing-2020.",
        examples=["{cpu: millicores, mem: GiB, arrival: ms}"],
    )
    labels: dict[str, Text] = Field(
        default_factory=dict,
        description="Columns of a `table` that become labels of the requests. Agents do not see them.",
        examples=["{tenant: Customer, priority: Prio}"],
    )
    empty: _Empty = Field(
        default_factory=dict,
        description="What an empty cell of a `table` is: a time or `never` for `end` or `lifetime`, an amount for a "
        "resource. Otherwise such a row is refused.",
        examples=["{end: never, gpu: 0}"],
    )
    keep: _Keep = Field(
        default_factory=dict,
        description="Read only rows with one of these values, or that meet all comparisons (>, >=, <, <=, !=) with "
        "numbers or dates. Columns are those of a `table`'s file; of other traces `arrival` and "
        "`lifetime` in seconds, and resources.",
        examples=["{State: [running, stopped], vCPUs: '> 0', Created: '>= 2026-11-01'}", "{cpu: '>= 4'}"],
    )

    @property
    def reads_mapped(self) -> bool:
        """Whether anything is said about the columns of a table."""
        return bool(self.columns or self.labels or self.empty or set(self.units) & set(TIMES))

    def mapping(self) -> dict[str, Any]:
        """Return the options of the reader, in seconds and units."""

        def stands_for(name: str, value: str) -> float:
            if name in TIMES:
                return inf if value == "never" else TIME.parse(value)
            return amount(name, value)

        found: dict[str, Any] = {
            "columns": self.columns,
            "factors": self.units,
            "labels": self.labels,
            "empty": {name: stands_for(name, value) for name, value in self.empty.items()},
            "keep": self.keep,
        }
        return {name: value for name, value in found.items() if value}

    def check_mapping(self, resources: tuple[str, ...]) -> None:
        """Refuse names in the mapping that mean nothing."""
        known = {"columns": ["id", *TIMES, *TEXTS, *resources], "empty": ["end", "lifetime", *resources]}

        def meant(key: str, name: str) -> None:
            if name not in known[key]:
                problem = "is neither a resource of the cluster nor anything else that requests have"
                raise wrong(problem, suggest(name, known[key]), ("workload", key, name))

        together(*(partial(meant, key, name) for key in known for name in getattr(self, key)))
