"""Find a trace by name or path, recognise its format, read it, and keep a converted copy."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from binwright.simcore.errors import FileNeeded, WorkloadError, meant
from binwright.simcore.extras import pl
from binwright.simcore.files import user_cache
from binwright.workloads import TRACES
from binwright.workloads.csv_files import GZIP, header
from binwright.workloads.traces.azure_packing import table_names
from binwright.workloads.traces.filters import keep_rows
from binwright.workloads.traces.presets import Format, ServerFile
from binwright.workloads.traces.table import PARQUET, Table, is_parquet, read_parquet

FOLDER = "BINWRIGHT_TRACES"
SQLITE = b"SQLite format 3\0"


def find(name: str, path: str | Path | None = None) -> Path:
    """Find the file of the trace `name`: `path`, or the first of its default names in the folders of traces."""
    trace: Format = TRACES.load(name)
    files, remedy = (*trace.files, f"{name}.parquet"), whence_of(name, trace.summary, trace)
    return locate("this trace", files, path, key="workload.trace", value=name, remedy=remedy)


def find_servers(name: str, path: str | Path | None = None) -> tuple[Path, ServerFile]:
    """Find the file of servers that the trace `name` comes with, as `find` does, and what is in it."""
    known: ServerFile | None = TRACES.load(name).servers
    assert known is not None, "the schema refuses others"
    key, remedy = "cluster.trace", f"Get it from {known.source}."
    return locate("its servers", known.files, path, key=key, value=name, remedy=remedy, at=key), known


def locate(
    what: str, files: Sequence[str], path: str | Path | None, *, key: str, value: str, remedy: str, at: str = ""
) -> Path:
    """Find a file: `path`, which stands `at` a key, or the first of these names where traces without a path are."""
    folders = [Path(os.environ[FOLDER])] if os.environ.get(FOLDER) else []
    with suppress(RuntimeError):  # a user without a home
        folders.append(user_cache() / "traces")
    choices = [folder / file for folder in folders for file in files] if path is None else [Path(path)]
    for file in choices:
        if file.is_file():
            return file
    if path is not None:
        at, remedy = at or f"{key.partition('.')[0]}.path", f"{meant(path)} {remedy}".strip()
        raise FileNeeded("there is no such file", file=path, key=at, remedy=remedy)
    looked = " and ".join(map(str, folders)) or f"any folder: ${FOLDER} names none, and there is no home"
    problem = f"the file of {what} was not found: no {' or '.join(files)} in {looked}"
    remedy += f"\n  Then put it there, name its folder in ${FOLDER}, or give `path:`."
    raise FileNeeded(problem, key=key, value=value, remedy=remedy)


def whence_of(name: str, summary: str, trace: Format) -> str:
    """Say what is read of a trace, and where a user gets it."""
    return f"{name}: {summary} Get it from {trace.source}. Licence: {trace.licence}."


def recognised(path: Path) -> str | None:
    """Recognise a file's format by its columns; of several that match, the one that asks for the most."""
    try:
        start = _start(path)
        kinds, text = {name: TRACES.load(name) for name in TRACES}, start.decode(errors="replace")
        begins = ((name, kind.begins) for name, kind in kinds.items() if kind.begins)
        known = next((name for name, begin in begins if re.match(begin, text, re.MULTILINE)), None)
        columns = set(_header(path, start)) if known is None else set()
    except OSError as error:
        problem = f"cannot read it: {error.strerror or error}"
        raise WorkloadError(problem, file=path, remedy="Check the path.") from error
    matches = [(len(form), name) for name, kind in kinds.items() for form in kind.headers if form <= columns]
    return known or max(matches, default=(0, None))[1]


def _start(path: Path) -> bytes:
    """Return how a file begins, unpacked where it is gzipped."""
    with path.open("rb") as file:
        start = file.read(1 << 16)
    if start.startswith(GZIP):
        try:
            with gzip.open(path) as file:
                return file.read(1 << 16)
        except (EOFError, zlib.error) as error:
            raise OSError(f"corrupt gzip: {error}") from error
    return start


def _header(path: Path, start: bytes) -> list[str]:
    """Columns of a CSV or Parquet file that begins so, tables of a database."""
    if start.startswith(SQLITE):
        return table_names(path)
    if start.startswith(PARQUET):
        return read_parquet(path).columns
    return header(start)[0]


def read(
    name: str,
    path: str | Path | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    resources: tuple[str, ...] | None = None,
) -> pl.DataFrame:
    """Read the requests of a trace in the columns of `Format.read`. `path` may also be a converted Parquet of it.

    `options` are those of `Table`, of other formats only `keep`. Of a file that may have any columns, only those of
    `resources` are read if they are given.
    """
    file, known, settings = find(name, path), TRACES.load(name), dict(options or {})
    if name == "table":
        return Table(**settings).read(file, resources)
    frame = Table().read(file, resources) if is_parquet(file) and not known.parquet else known.read(file)
    return keep_rows(frame, settings.get("keep", {}), file)
