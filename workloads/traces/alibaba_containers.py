"""The container table of Alibaba's cluster-trace-v2018: what long-running containers ask for.

No `Trace`: the table says when a container was seen, not how long it lives, so there is no workload to replay.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from simcore.errors import WorkloadError
from simcore.vocabulary import Floats
from workloads.traces.check import require
from workloads.traces.text import contents, number

COLUMNS = ("container_id", "machine_id", "time_stamp", "app_du", "status", "cpu_request", "cpu_limit", "mem_size")
SOURCE = (
    "github.com/alibaba/clusterdata, cluster-trace-v2018 (schema.md, trace_2018.md; container_meta.csv in "
    "container_meta.tar.gz, unpack it)"
)


def read_containers(path: Path) -> Floats:
    """`cpu_request` (100 is a core) and `mem_size` (0 to 100) of each container, float64 [containers, 2].

    In the order of the file, which has no header (one is understood, too); a container is read from its first row.
    Containers without one of the two, or with a negative one (the trace writes -1 for invalid), are left out.
    """
    import polars as pl

    data = contents(path)
    cells = [cell.strip() for cell in data.partition(b"\n")[0].decode().split(",")]
    header = "container_id" in cells or "cpu_request" in cells
    if header:
        require(cells, frozenset(COLUMNS), path, line=1)
    elif len(cells) != len(COLUMNS):
        raise WorkloadError(
            f"rows of {len(cells)} cells are not a container table",
            file=path,
            line=1,
            key="workload.demand.alibaba.path",
            remedy=f"It has the columns {', '.join(COLUMNS)} and no header. Get it from {SOURCE}.",
        )
    try:
        text = pl.read_csv(
            io.BytesIO(data),
            has_header=False,
            new_columns=cells if header else list(COLUMNS),
            skip_rows=int(header),
            infer_schema=False,
        )
    except pl.exceptions.PolarsError as error:
        raise WorkloadError(
            f"not a CSV file: {str(error).splitlines()[0]}", file=path, remedy=f"Get it again from {SOURCE}."
        ) from error
    first = text.with_row_index("line", offset=1 + header).unique("container_id", keep="first", maintain_order=True)
    sizes = np.column_stack([number(first, name, path).to_numpy() for name in ("cpu_request", "mem_size")])
    return sizes[(sizes >= 0).all(axis=1)]  # missing ones are nan by now, and not >= 0
