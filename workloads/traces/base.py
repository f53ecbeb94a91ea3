"""What a trace format is, and the common columns that every reader gives."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, NamedTuple

from binwright.simcore.extras import pl


class ServerFile(NamedTuple):
    """Describes the file of servers that a trace comes with: its names, where it is had, and its columns.

    `columns` are those of each resource, and how many units a 1 there is; `devices` is the one that says how many
    devices there are, and `model` what they are.
    """

    files: tuple[str, ...]
    source: str
    columns: Mapping[str, tuple[str, float]]
    devices: str
    model: str


class Trace:
    """One format. Subclasses are frozen dataclasses: their fields are the options that a scenario may set."""

    summary: ClassVar[str] = ""
    reference: ClassVar[str] = ""
    source: ClassVar[str] = ""
    """Where a user gets it."""
    licence: ClassVar[str] = ""
    files: ClassVar[tuple[str, ...]] = ()
    """File names it is looked up under when no path is given."""
    units: ClassVar[dict[str, str]] = {}
    """Unit of each resource column, as a scenario would write it; others, such as machines, a scenario must explain."""
    headers: ClassVar[tuple[frozenset[str], ...]] = ()
    """The columns (of a database: tables) by which each form of the file is recognised."""
    begins: ClassVar[str] = ""
    """A regular expression for how a file begins, where no columns say what it is."""
    parquet: ClassVar[bool] = False
    """Whether `read` reads Parquet itself; of others, a Parquet file has the common columns."""
    servers: ClassVar[ServerFile | None] = None
    """The servers that the trace was taken on, if they are known."""

    def read(self, path: Path) -> pl.DataFrame:
        """Read the checked requests of a file, in order of arrival.

        Columns: `id` Int64 or String, `arrival` and `lifetime` Float64 in seconds (a lifetime of inf keeps
        running), then one Float64 column per resource, in its unit. Where requests name models of devices, there is a
        column `models`, String, as in `A100|V100`, empty for any; where they say something to rules of placement, those
        of `PLACED` in `binwright.workloads.traces.check`.
        """
        raise NotImplementedError
