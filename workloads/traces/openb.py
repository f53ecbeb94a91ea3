"""Alibaba cluster-trace-gpu-v2023 ("openb"): pods of a production cluster that shares GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from binwright.simcore.extras import pl
from binwright.workloads.traces.base import ServerFile, Trace
from binwright.workloads.traces.check import MODELS, check
from binwright.workloads.traces.text import number, read_text

HEADER = frozenset({"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"})
GB_PER_MIB = 1.048576e-3


@dataclass(frozen=True)
class OpenB(Trace):
    """Every pod counts, also the 897 that were never scheduled: they asked too.

    The lifetime is deletion - creation for all, so it includes the wait for a place (a mean of 61 s, where there
    was one). A pod without a deletion keeps running. The models of GPUs (gpu_spec) that some pods ask for are read, and
    QoS and phase are not.

    The publication's other lists of pods are read, too: some are in no order of time, and others have no times, so that
    all pods come at once, and none ends.
    """

    summary: ClassVar[str] = "8,152 pods of a production GPU cluster: cores, GB and GPU cards, also shared ones."
    reference: ClassVar[str] = "Weng et al., Beware of Fragmentation, USENIX ATC 2023"
    source: ClassVar[str] = "github.com/alibaba/clusterdata, cluster-trace-gpu-v2023/csv/openb_pod_list_default.csv"
    licence: ClassVar[str] = "none stated; published for research, cite the paper"
    files: ClassVar[tuple[str, ...]] = ("alibaba-openb-pods.csv", "openb_pod_list_default.csv")
    units: ClassVar[dict[str, str]] = {"cpu": "cores", "mem": "GB", "gpu": "cards"}
    headers: ClassVar[tuple[frozenset[str], ...]] = (HEADER,)
    version: ClassVar[int] = 3
    servers: ClassVar[ServerFile] = ServerFile(
        ("alibaba-openb-nodes.csv", "openb_node_list_all_node.csv"),
        "github.com/alibaba/clusterdata, cluster-trace-gpu-v2023/csv/openb_node_list_all_node.csv",
        {"cpu": ("cpu_milli", 1e-3), "mem": ("memory_mib", GB_PER_MIB)},
        devices="gpu",
        model="model",
    )

    def read(self, path: Path) -> pl.DataFrame:
        text = read_text(path, HEADER)
        none = pl.Series([0.0]).new_from_index(0, len(text))
        arrival = number(text, "creation_time", path) if "creation_time" in text.columns else none
        ends = number(text, "deletion_time", path) if "deletion_time" in text.columns else none + float("inf")
        frame = text.select(
            "line",
            id=text["name"],
            arrival=arrival,
            lifetime=ends.fill_null(float("inf")) - arrival,
            cpu=number(text, "cpu_milli", path) / 1000,
            mem=number(text, "memory_mib", path) * GB_PER_MIB,
            gpu=number(text, "num_gpu", path) * number(text, "gpu_milli", path) / 1000,
        )
        if "gpu_spec" in text.columns and (models := text["gpu_spec"].fill_null("")).ne("").any():
            frame = frame.with_columns(models.alias(MODELS))
        frame = frame.sort("arrival", maintain_order=True)
        keys = {"id": "name", "arrival": "creation_time", "lifetime": "deletion_time"}
        return check(frame, path, {**keys, "cpu": "cpu_milli", "mem": "memory_mib", "gpu": "gpu_milli"})
