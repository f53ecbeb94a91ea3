"""GWA-T-12 Bitbrains: a file of measurements for every virtual machine, in one zip."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from binwright.simcore.errors import WorkloadError
from binwright.simcore.extras import pl
from binwright.workloads.traces.base import Trace
from binwright.workloads.traces.check import check

COLUMNS = {"timestamp": 0, "cpu cores": 1, "memory capacity provisioned": 5}
USAGE = {
    "cpu": {"timestamp": 0, "cpu capacity provisioned": 2, "cpu usage": 3},
    "mem": {"timestamp": 0, "memory capacity provisioned": 5, "memory usage": 6},
}
GB_PER_KB = 1.024e-6
EPOCH_MS = 1e11
"""Numbers above it are milliseconds since 1970. The documentation says that they are, and files have seconds."""
LARGEST = 200_000_000
"""Bytes of a single machine's file."""


@dataclass(frozen=True)
class Bitbrains(Trace):
    """Reads every machine from its first measurement to its last, with the most cores and memory that it ever had.

    A machine that is measured until the last moment of its folder keeps running. `folder` takes the files of one folder
    of the zip: those of `rnd` have a month each, in which machines come again under the same number.
    """

    folder: str = ""

    @classmethod
    def recognises(cls, start: bytes) -> bool:
        return start.startswith(b"PK\x03\x04") and b".csv" in start

    def read(self, path: Path) -> pl.DataFrame:
        rows = [(name, *_machine(times, *most)) for name, times, *most in machines_in(path, self.folder, COLUMNS)]
        schema = {"id": pl.String, **dict.fromkeys(("arrival", "last", "step", "cpu", "mem"), pl.Float64)}
        found = pl.DataFrame(rows, schema=schema, orient="row").filter((pl.col("cpu") > 0) | (pl.col("mem") > 0))
        goes_on = pl.col("last") + pl.col("step") >= pl.col("last").max()
        lifetime = pl.when(goes_on).then(float("inf")).otherwise(pl.col("last") + pl.col("step") - pl.col("arrival"))
        frame = found.select("id", "arrival", lifetime.alias("lifetime"), "cpu", "mem")
        keys = {"arrival": "Timestamp", "cpu": "CPU cores", "mem": "Memory capacity provisioned"}
        return check(frame.sort("arrival", "id"), path, keys)


def machines_in(
    path: Path, folder: str, columns: Mapping[str, int]
) -> Iterator[tuple[str, pl.Series, pl.Series, pl.Series]]:
    """Yield the name of each machine, the seconds at which it was measured, and two more columns, Float64."""
    try:
        with zipfile.ZipFile(path) as archive:
            files = [one for one in archive.infolist() if _is_machine(one.filename)]
            folders = sorted({PurePosixPath(one.filename).parent.as_posix() for one in files})
            inside = [each for each in folders if folder in (each, PurePosixPath(each).name)]
            inside = inside or ([] if folder else folders)
            if len(inside) != 1:
                problem = "has no such folder" if folder else "has several folders"
                value = folder or None
                remedy = f"Give `folder:` as one of {', '.join(folders) or 'none'}."
                raise WorkloadError(problem, file=path, key="workload.folder", value=value, remedy=remedy)
            for one in files:
                name = PurePosixPath(one.filename)
                if name.parent.as_posix() == inside[0]:
                    if one.file_size > LARGEST:
                        problem = f"{name} is larger than {LARGEST // 10**6} MB"
                        raise WorkloadError(problem, file=path, remedy="Unpack it yourself if it is what you want.")
                    yield name.stem, *_measured(archive.read(one), path, str(name), columns)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        remedy = "Download it again, and leave it packed."
        raise WorkloadError(f"not a readable zip: {error}", file=path, remedy=remedy) from error


def _is_machine(name: str) -> bool:
    return name.endswith(".csv") and not any(part.startswith((".", "__")) for part in PurePosixPath(name).parts)


def _measured(data: bytes, path: Path, name: str, wanted: Mapping[str, int]) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Read the times of a machine's file in seconds, and the two other columns that are wanted."""
    try:
        # Without the header, whose blanks differ; what is behind the columns that are needed may be missing.
        rows = io.BytesIO(data.partition(b"\n")[2])
        frame = pl.read_csv(rows, separator=";", has_header=False, infer_schema=False, truncate_ragged_lines=True)
    except pl.exceptions.PolarsError as error:
        problem = f"{name}: not a CSV file: {str(error).splitlines()[0]}"
        raise WorkloadError(problem, file=path, remedy="Download it again.") from error
    columns = []
    for column, place in wanted.items():
        cells = frame[:, place].str.strip_chars() if place < frame.width else pl.Series([None], dtype=pl.String)
        values = cells.cast(pl.Float64, strict=False)
        if values.null_count():
            row = int(values.is_null().arg_max() or 0)
            remedy = "Rows have timestamp; cores; MHz; MHz; %; memory in KB; ... Download it again."
            raise WorkloadError(
                f"{name}: line {row + 2}: not a number", file=path, key=column, value=cells[row], remedy=remedy
            )
        columns.append(values)
    times, first, second = columns
    if float(times.max()) > EPOCH_MS:  # type: ignore[arg-type]  # numbers
        times = times / 1000
    return times, first, second


def _machine(times: pl.Series, cores: pl.Series, memory: pl.Series) -> tuple[float, float, float, float, float]:
    """Return the first and last second of a machine, the last step, and its size."""
    times = times.sort()
    step = float(times[-1] - times[-2]) if len(times) > 1 else 300.0
    most = [float(values.max()) for values in (cores, memory)]  # type: ignore[arg-type]  # numbers
    return float(times[0]), float(times[-1]), step, most[0], most[1] * GB_PER_KB
