"""How many servers there are and hold something, and how much of what is free nobody can use."""

from __future__ import annotations

import numpy as np

from binwright.analysis.measure.definition import metric
from binwright.analysis.measure.finished_run import FinishedRun


@metric(heading="servers", better="lower", table="differs", meaning="at the end, with all expansion")
def servers(run: FinishedRun) -> int:
    """Count the servers at the end."""
    return len(run.capacity)


@metric(
    name="servers_used",
    heading="servers used",
    better="lower",
    in_parts=True,
    meaning="holding something, mean over the run",
)
def used(run: FinishedRun) -> float:
    """Average over the samples how many servers hold something."""
    return float(run.samples["in_use"].mean())


@metric(name="servers_used_end", heading="servers used at the end", better="lower", meaning="holding something then")
def used_at_the_end(run: FinishedRun) -> int:
    """Count the servers that hold something after the last decision."""
    return int(run.samples["in_use"][-1])


@metric(
    name="fragmentation_{}",
    per="resource",
    heading="{} fragmentation %",
    unit="%",
    better="lower",
    table="first",
    in_parts=True,
    meaning="free {} that no flavour can use",
)
def fragmentation(run: FinishedRun) -> list[float]:
    """Average the stranded share of what is free over the samples."""
    free, stranded = run.samples["free"], run.samples["stranded"]
    return [float((stranded[:, r] / np.maximum(free[:, r], 1)).mean()) for r in range(len(run.resources))]
