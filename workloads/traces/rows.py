"""What makes the rows of a table from those of a published file, where one row is not one request.

Each takes the columns of text of `read_text`, and the file to name in messages. It returns them with the columns that
the file of `presets/` names.
"""

from __future__ import annotations

from pathlib import Path

from binwright.simcore.extras import pl
from binwright.workloads.traces.cells import number, report


def huawei_events(text: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Pair each creation (type 0) with the time of its deletion (type 1), empty for a VM that is never deleted."""
    kind = number(text, "type", path)
    if (wrong := ~kind.is_in([0.0, 1.0]).fill_null(False)).any():
        remedy = "In this form, type 0 creates a VM and type 1 deletes one created before."
        report(text, wrong, path, "type", "neither 0 nor 1", remedy, text["type"].filter(wrong)[0])
    deleted = text.filter(kind == 1).select("vmid", deleted="time")
    return text.filter(kind == 0).join(deleted, "vmid", "left", maintain_order="left")


def azure_censored(text: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Let those run on that were only watched for so long."""
    return text.with_columns(lt=pl.when(number(text, "censored", path) == 1).then(pl.lit("inf")).otherwise("lt"))


def azure_buckets(text: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Give sizes above the largest bucket (`>24`) a number; take out ends at the last moment of the trace."""
    ends = number(text, "vmdeleted", path)
    sizes = {
        name: pl.when(pl.col(name).str.starts_with(">")).then(pl.lit(size)).otherwise(name)
        for name, size in (("vmcorecountbucket", "32"), ("vmmemorybucket", "128"))
    }
    return text.with_columns(**sizes, vmdeleted=pl.when(ends < (ends.max() or 0)).then("vmdeleted"))


def alibaba_containers(text: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Keep the first row of each container that says what it needs, and add when it first `stopped`."""
    rows = text.with_columns(number(text, name, path) for name in ("time_stamp", "cpu_request", "mem_size"))
    rows = rows.sort("time_stamp", maintain_order=True)
    ends = rows.filter(pl.col("status") == "stopped").group_by("container_id").agg(stopped=pl.col("time_stamp").min())
    first = rows.unique("container_id", keep="first", maintain_order=True)
    first = first.filter((pl.col("cpu_request") > 0) & (pl.col("mem_size") > 0))
    return first.join(ends, "container_id", "left", maintain_order="left")


def openb_pods(text: pl.DataFrame, path: Path) -> pl.DataFrame:
    """Multiply cards by their share, and add what some lists of pods lack: times, and models of cards."""
    gpu = number(text, "num_gpu", path) * number(text, "gpu_milli", path) / 1000
    absent = {"creation_time": "0", "deletion_time": None}
    columns = {name: pl.lit(value, pl.String) for name, value in absent.items() if name not in text.columns}
    if "gpu_spec" in text.columns and text["gpu_spec"].count():
        columns["models"] = pl.col("gpu_spec")
    return text.with_columns(gpu.alias("gpu"), **columns)
