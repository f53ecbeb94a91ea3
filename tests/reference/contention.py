"""What requests use and lack, by walking through the time of every node of every server from moment to moment."""

from dataclasses import dataclass, field
from itertools import pairwise
from math import floor

from binwright.analysis.measure.finished_run import FinishedRun
from binwright.simcore.record import SPREAD
from binwright.simcore.types import part


@dataclass
class Slow:
    """Adds up quanta x seconds by row and resource, and seconds by server."""

    wanted: dict[tuple[int, int], float] = field(default_factory=dict)
    missing: dict[tuple[int, int], float] = field(default_factory=dict)
    contended: dict[int, float] = field(default_factory=dict)
    granted: dict[tuple[int, int], float] = field(default_factory=dict)
    """Quanta x seconds by server and resource."""
    holding: dict[int, float] = field(default_factory=dict)
    """Seconds in which a server holds something."""
    most_granted: float = 0.0
    """The largest share of what a node has that was granted at any time."""


def contention(run: FinishedRun) -> Slow:
    """Walk through a run of which is said what its requests use; nothing is moved in it."""
    found, use = Slow(), run.requests.use
    assert use is not None
    held: list[tuple[int, int, int, tuple[int, ...], float, float]] = []
    nodes = run.capacity.shape[1]
    for row, start, end in zip(run.held.tolist(), run.start.tolist(), run.end.tolist(), strict=True):
        server, node, demand = int(run.server[row]), int(run.node[row]), tuple(run.demand[row].tolist())
        parts = [(n, part(demand, n, nodes)) for n in range(nodes)] if node == SPREAD else [(node, demand)]
        held += [(row, server, n, amounts, start, end) for n, amounts in parts]
    for server in range(len(run.capacity)):
        here = [one for one in held if one[1] == server]
        moments = {run.begin, run.finish, *(time for one in here for time in one[4:])}
        step = floor(run.begin / use.step)
        while (time := step * use.step) < run.finish:
            moments.add(time)
            step += 1
        for begin, end in pairwise(sorted(time for time in moments if run.begin <= time <= run.finish)):
            lacks = False
            holds = any(any(one[3]) for one in here if one[4] <= begin and one[5] >= end)
            found.holding[server] = found.holding.get(server, 0.0) + holds * (end - begin)
            for node in range(nodes):
                some = [one for one in here if one[2] == node and one[4] <= begin and one[5] >= end]
                for r in range(len(run.resources)):
                    capacity = float(run.capacity[server, node, r])
                    wants = [use.during(one[0], k := floor(begin / use.step), k + 1)[0, r] * one[3][r] for one in some]
                    grants = [want * min(1.0, capacity / sum(wants)) if want else 0.0 for want in wants]
                    lacks |= sum(wants) > capacity * (1 + 1e-9)
                    at = server, r
                    found.granted[at] = found.granted.get(at, 0.0) + sum(grants) * (end - begin)
                    found.most_granted = max(found.most_granted, sum(grants) / capacity if capacity else 0.0)
                    for (row, *_), want, grant in zip(some, wants, grants, strict=True):
                        key = row, r
                        found.wanted[key] = found.wanted.get(key, 0.0) + want * (end - begin)
                        found.missing[key] = found.missing.get(key, 0.0) + (want - grant) * (end - begin)
            found.contended[server] = found.contended.get(server, 0.0) + lacks * (end - begin)
    return found
