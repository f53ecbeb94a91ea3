"""Adds the requests that failures sent back to the workload that they come from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simcore.types import Ints, Request, Workload


def with_returned(
    workload: Workload, bandwidth: Ints, back: Sequence[Request], rests: Sequence[float], sources: Sequence[int]
) -> Workload:
    """Return a workload with more rows, one for each request that was sent `back`.

    `bandwidth` int64 [n] is that of the workload, `rests` says how long each still stays, and `sources` which row of
    the workload it continues.
    """
    ids = workload.id.tolist()
    rows = [*range(len(workload)), *sources]
    return Workload(
        workload.resources,
        np.concatenate([workload.arrival, [request.arrival for request in back]]),
        np.concatenate([workload.duration, rests]),
        np.concatenate([workload.demand, [request.demand for request in back]]),
        np.array([ids[row] for row in rows]),
        np.concatenate([bandwidth, [request.bandwidth for request in back]]),
        None if workload.networks is None else [*workload.networks, *(r.network for r in back if r.network)],
        None if workload.models is None else workload.models[rows],
        roles=None if workload.roles is None else workload.roles.take(rows),
        labels={name: words[rows] for name, words in workload.labels.items()},
        priority=None if workload.priority is None else workload.priority[rows],
        gangs=workload.gangs and workload.gangs.with_back([(request.index, request.gang) for request in back]),
        use=None if workload.use is None else workload.use.take(np.array(rows)),
    )
