"""Two logs of a machine of 256 processors, drawn from the model of Lublin and Feitelson."""

from __future__ import annotations

from typing import ClassVar

from binwright.workloads.traces.swf import StandardWorkload


class Lublin1(StandardWorkload):
    """The first log."""

    summary: ClassVar[str] = "jobs drawn from the model of Lublin and Feitelson for 256 processors, first log."
    reference: ClassVar[str] = "Lublin and Feitelson 2003, The workload on parallel supercomputers, JPDC"
    source: ClassVar[str] = "github.com/DIR-LAB/deep-batch-scheduler"
    licence: ClassVar[str] = "of that repository"
    files: ClassVar[tuple[str, ...]] = ("lublin-256.swf",)


class Lublin2(Lublin1):
    """The second log."""

    summary: ClassVar[str] = "jobs drawn from the model of Lublin and Feitelson for 256 processors, second log."
    files: ClassVar[tuple[str, ...]] = ("lublin-256-2.swf",)
