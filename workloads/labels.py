"""Which requests have a label's value, and what a label says of each."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from binwright.simcore.errors import WorkloadError
from binwright.simcore.types import Flags
from binwright.simcore.workload import Workload


def matching(base: Workload, of: Mapping[str, tuple[str, ...]], key: str) -> Flags:
    """Tell which requests have one of the values of every label, bool [n]; mistakes are reported under `key`."""
    result = np.ones(len(base), np.bool_)
    for label, values in of.items():
        result &= np.isin(words_of(base, label, key), values)
    return result


def words_of(base: Workload, label: str, key: str) -> npt.NDArray[np.str_]:
    """Return what a label of each request says, or its `group` or `models`, str [n]; mistakes are of this `key`."""
    if label == "group" and base.roles is not None:
        groups = np.array([role.group for role in base.roles.all])
        words: npt.NDArray[np.str_] = groups[base.roles.of]
        return words
    if label == "models" and base.models is not None:
        return base.models
    if label in base.labels:
        return base.labels[label]
    known = ", ".join([*base.labels, *(["group"] if base.roles is not None else [])])
    remedy = f"Known: {known or 'none'}. A table's `labels:` say which columns are some."
    raise WorkloadError("the requests have no such label", key=key, value=label, remedy=remedy)
