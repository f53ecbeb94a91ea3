"""The rules every trace keeps, checked row by row in file order so that a message can name the line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from binwright.simcore.errors import UserError, WorkloadError, combined
from binwright.simcore.extras import pl
from binwright.simcore.roles import read_where
from binwright.simcore.types import QUANTUM, Floats
from binwright.simcore.units import LARGEST, measure_of
from binwright.workloads.traces.cells import moment, report

LATEST = 1e12
"""Seconds. Beyond it, floats do not tell thousandths of a second apart."""
COMMON = ("id", "arrival", "lifetime")
MODELS = "models"
"""A column that a trace may have: the models of devices that a request may take, as in `A100|V100`; empty for any."""
PLACED = ("group", "where", "tolerates")
"""Columns that a trace may have, for rules of placement: a group, labels as in `zone=a|b;kind=large`, and taints as in
`spot|old`; empty for none.
"""
REQUESTED = "requested_time"
"""A column that a trace may have: the seconds that users asked for, Float64."""
TEXTS = (MODELS, *PLACED)
"""All columns of text that a trace may have beside its ids and labels."""
LABELS = "labels."
"""What the names of columns of the requests' own labels begin with: `labels.tenant`."""


def is_text(name: str) -> bool:
    """Tell whether a column holds text beside the ids."""
    return name in TEXTS or name.startswith(LABELS)


def resources_in(columns: Iterable[str]) -> list[str]:
    """List the columns that are demands."""
    return [name for name in columns if name not in (*COMMON, REQUESTED) and not is_text(name)]


def floats_of(trace: pl.DataFrame, name: str) -> Floats:
    """Return a column of numbers, float64 [rows]."""
    return trace[name].cast(pl.Float64).to_numpy()


def check(
    frame: pl.DataFrame,
    path: Path,
    keys: Mapping[str, str],
    factors: Mapping[str, float] = MappingProxyType({}),
    *,
    own: bool = False,
) -> pl.DataFrame:
    """Check the common columns of `frame`; the `WorkloadError` names the first row that breaks each rule, and others.

    `frame` holds the common columns in file order and, where the file has lines, `line`; `keys` says what the
    file calls a column, where its name differs, and `factors` how many units a 1 in a column is, where it is not one.
    Of a table of one's `own`, messages also say what a scenario may say of its rows.
    """
    columns = [name for name in frame.columns if name != "line"]
    if frame.is_empty():
        raise WorkloadError("no requests: this trace is empty", file=path, remedy="Was the download cut short?")
    if not resources_in(columns):
        raise WorkloadError("no column with a demand", file=path, remedy="Add a column per resource: cpu, mem.")
    mistakes = []
    for name, broken, problem, remedy in _rules(frame, keys, factors, own=own):
        mask = frame.select(broken.alias("broken"))["broken"].fill_null(value=False)
        if mask.any():
            value = _shown(frame.row(int(mask.arg_max() or 0), named=True), name, keys)
            try:
                report(frame, mask, path, keys.get(name, name), problem, remedy, value)
            except WorkloadError as error:
                mistakes.append(error)
    if mistakes:
        raise combined(mistakes)
    return frame.select(columns)


def _shown(row: Mapping[str, Any], name: str, keys: Mapping[str, str]) -> Any:
    """Write a value as the file has it, 2 and not 2.0; a lifetime in seconds, or by its end if it has one."""
    value, arrival = row[name], row["arrival"]
    if name == "lifetime" and value is not None:
        return f"{moment(arrival)} to {moment(arrival + value)}" if "end" in keys else f"{value:g} s"
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value


def _rules(
    frame: pl.DataFrame, keys: Mapping[str, str], factors: Mapping[str, float], *, own: bool
) -> Iterator[tuple[str, pl.Expr, str, str]]:
    """Yield for each rule its column, where it is broken, what is wrong, and what to do."""
    resources, ends = resources_in(name for name in frame.columns if name != "line"), "end" in keys

    def keep(name: str, condition: str) -> str:
        return f" In a scenario, `keep: {{{keys.get(name, name)}: '{condition}'}}` leaves such rows out." * own

    for name in frame.columns:
        remedy = f"Fill the cell or remove the row.{keep(name, '!=')}"
        if own and (name == "lifetime" or name in resources):
            meaning = f"{name}: 0" if name in resources else "end: never" if ends else "lifetime: never"
            remedy += f" `empty: {{{meaning}}}` says what an empty cell is."
        yield name, pl.col(name).is_null(), "no value", remedy
    for name in resources:
        demand, remedy = pl.col(name), f"Give an amount in units, or remove the row.{keep(name, '>= 0')}"
        yield name, demand.is_nan(), "a demand that is not a number", remedy
        yield name, demand < 0, "negative demand", remedy
        much = demand * factors.get(name, 1.0) > LARGEST
        yield name, much, f"a demand above {LARGEST:.0e} units", "Check the column's unit."
    nothing = pl.all_horizontal(pl.col(name) == 0 for name in resources)
    remedy = f"Give some resource a demand above zero, or remove the row.{keep(resources[0], '> 0')}"
    yield resources[0], nothing, "a request for nothing", remedy
    lifetime, arrival = pl.col("lifetime"), pl.col("arrival")
    yield "lifetime", lifetime.is_nan(), "a lifetime that is not a number", "Give seconds, or inf to keep running."
    remedy = "A request must end after it arrives: correct or remove it."
    yield "lifetime", lifetime < 0, "ends before it arrives" if ends else "negative lifetime", remedy
    yield "arrival", ~arrival.is_finite(), "an arrival that is not a time", "Give seconds."
    yield "arrival", arrival.abs() > LATEST, f"an arrival beyond {LATEST:.0e} s", "Give seconds from any near moment."
    yield "arrival", arrival.diff() < 0, "arrivals are not sorted: earlier than the row before", "Sort by arrival."
    yield "id", ~pl.col("id").is_first_distinct(), "duplicate id", "Every request needs its own id."
    for text in frame["where"].unique(maintain_order=True).to_list() if "where" in frame.columns else ():
        try:
            read_where(text)
        except UserError as error:
            yield "where", pl.col("where") == text, error.problem, error.remedy


def check_resources(trace: pl.DataFrame, units: dict[str, float], file: Path | None) -> None:
    """Refuse a trace with requests that ask for none of the resources, or for more of one than can be counted."""
    known = resources_in(trace.columns)
    if missing := [name for name in units if name not in known]:
        remedy = f"Resources of this trace: {', '.join(known)}. Name the cluster's resources after them."
        problem = f"the trace has no demand for {', '.join(missing)}"
        raise WorkloadError(problem, file=file, key="cluster", remedy=remedy)
    nothing = np.ones(len(trace), np.bool_)
    for name, unit in units.items():
        amounts = floats_of(trace, name) * unit
        none = np.rint(amounts * QUANTUM) == 0
        nothing &= none
        if (lost := none & (amounts > 0)).any():
            problem = f"{lost.sum()} of {len(trace)} requests ask for less than can be counted: {1 / QUANTUM:g}"
            remedy = f"`workload: {{units: {{{name}: ...}}}}` says what a 1 in the trace is."
            raise WorkloadError(problem, file=file, key=name, value=float(amounts[lost][0] / unit), remedy=remedy)
        if amounts.max() > LARGEST:
            problem, value = f"a demand above {measure_of(name).show(LARGEST)}", float(amounts.max() / unit)
            remedy = "Check what a 1 in the trace is."
            raise WorkloadError(problem, file=file, key=f"workload.units.{name}", value=value, remedy=remedy)
    if nothing.any():
        problem = f"{nothing.sum()} of {len(trace)} requests ask for none of {', '.join(units)}"
        remedy = f"Give the servers more of the trace's resources: {', '.join(known)}."
        raise WorkloadError(problem, file=file, key="cluster", remedy=remedy)
