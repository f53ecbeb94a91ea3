"""Reads the Azure Trace for Packing 2020: a SQLite file of VM requests whose sizes are fractions of a machine."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from binwright.simcore.errors import WorkloadError
from binwright.simcore.extras import pl
from binwright.simcore.types import Floats
from binwright.workloads.csv_files import require

DAY = 86_400.0
SIZES = {"cpu": "core", "mem": "memory", "hdd": "hdd", "ssd": "ssd", "nic": "nic"}
COLUMNS = {"vm": ("vmId", "vmTypeId", "starttime", "endtime"), "vmType": ("vmTypeId", "machineId", *SIZES.values())}
CHUNK = 200_000


def requests(path: Path) -> pl.DataFrame:
    """Read `vm` joined with one row of `vmType` per type.

    `machineId` there is a kind of machine, not one machine, and a type has one row per kind it may run on
    (Azure/AzurePublicDataset#18, #29). Each type takes the kind of which it needs the smallest largest fraction; a size
    that is not given (no such disk, say) is 0. VMs that started before the trace arrive at 0 with what is left of their
    lifetime.
    """
    vms, sizes = _table(path, "vm"), list(SIZES.values())
    types = _table(path, "vmType").with_columns(pl.col(sizes).fill_null(0.0))
    start = pl.max_horizontal(pl.col("starttime"), 0.0)
    lifetime = (pl.col("endtime").fill_null(float("inf")) - start) * DAY
    frame = vms.filter((pl.col("starttime") >= 0) | pl.col("endtime").is_null() | (pl.col("endtime") > 0))
    types = types.sort(pl.max_horizontal(sizes), "machineId").unique("vmTypeId", keep="first")
    frame = frame.join(types.select("vmTypeId", *sizes), on="vmTypeId", maintain_order="left")
    return frame.select(id="vmId", arrival=start * DAY, lifetime=lifetime, **SIZES)


def read_types(path: Path) -> Floats:
    """Read core and memory of the rows of table vmType, by type and kind of machine, float64 [rows, 2]."""
    sizes = _table(path, "vmType").sort("vmTypeId", "machineId").select("core", "memory").fill_null(0.0)
    return sizes.to_numpy()


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    # `immutable`: never leave a journal beside a file that may lie in a read-only folder.
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as base:
        try:
            yield base
        except sqlite3.Error as error:
            remedy = "Unpack the downloaded zip, or download it again."
            raise WorkloadError(f"not a readable SQLite file: {error}", file=path, remedy=remedy) from error


def table_names(path: Path) -> list[str]:
    """List the tables of a SQLite file."""
    with _opened(path) as base:
        return [name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def _table(path: Path, table: str) -> pl.DataFrame:
    """Read ids as Int64, all else as Float64; `vm` in order of starttime, since a database has no order of its own."""
    if missing := sorted(set(COLUMNS) - set(table_names(path))):
        remedy = "It needs the tables vm and vmType."
        raise WorkloadError(f"missing table {' and '.join(missing)}", file=path, remedy=remedy)
    schema = {name: pl.Int64 if name.endswith("Id") else pl.Float64 for name in COLUMNS[table]}
    with _opened(path) as base:
        require([row[1] for row in base.execute(f"PRAGMA table_info({table})")], frozenset(schema), path)
        order = " ORDER BY starttime, vmId" if table == "vm" else ""
        cursor = base.execute(f"SELECT {', '.join(schema)} FROM {table}{order}")
        chunks = [pl.DataFrame(schema=schema)]
        try:
            while rows := cursor.fetchmany(CHUNK):
                chunks.append(pl.DataFrame(rows, schema=schema, orient="row"))
        except pl.exceptions.ComputeError as error:  # SQLite stores texts among numbers
            remedy = "Correct it, or remove the row."
            raise WorkloadError(f"not a number: {error}", file=path, key=table, remedy=remedy) from None
    return pl.concat(chunks)
