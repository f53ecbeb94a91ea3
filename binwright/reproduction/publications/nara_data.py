"""Says which demands of Nara's publication need a file, and what is taken where it is not on this machine."""

from __future__ import annotations

from simcore.errors import WorkloadError
from workloads.demands import DEMANDS

STAND_INS = {"azure": "azure-like", "alibaba": "alibaba-like"}


def file_here(demand: str) -> bool:
    """Tell whether the file of a demand is on this machine."""
    try:
        DEMANDS.load(demand)().file()
    except WorkloadError:
        return False
    return True
