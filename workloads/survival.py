"""How long requests stay, estimated where some were seen only in part."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simcore.types import Floats


def kaplan_meier(seen: Floats, ended: npt.NDArray[np.bool_], entered: Floats | None = None) -> tuple[Floats, Floats]:
    """Return the lifetimes at which requests ended, ascending, and the share that has ended by each of them.

    `seen` float64 [n] is the age until which each was seen, `ended` bool [n] whether it ended then, and `entered`
    float64 [n] the age from which it was seen: one that would have ended before is not among them. Kaplan and Meier,
    Nonparametric Estimation from Incomplete Observations, 1958. The last share is less than 1 where the oldest did not
    end.
    """
    times, ends = np.unique(seen[ended], return_counts=True)
    at_risk = len(seen) - np.searchsorted(np.sort(seen), times)
    if entered is not None:
        at_risk = at_risk - (len(seen) - np.searchsorted(np.sort(entered), times))
    return times, np.asarray(1 - np.cumprod(1 - ends / at_risk), np.float64)
