"""How much of what is free nobody can use."""

from __future__ import annotations

import numpy as np

from analysis.measure.definition import metric
from analysis.measure.finished_run import FinishedRun


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
