"""The order of a fabric's equal paths, as it is said: planes in turn, or as networkx lists them."""

from collections.abc import Sequence
from itertools import count

from binwright.fabric.topology import Topology


def way(found: Topology, path: Sequence[int]) -> tuple[int, int]:
    """Plane and spine within the plane of a fabric's shortest path, by the name of its middle."""
    name = found.names[path[len(path) // 2]].split("-")
    return (int(name[2]), 0) if name[0] == "fabric" else (int(name[1]), int(name[2]))


def turn(found: Topology, path: Sequence[int], order: str = "even") -> int:
    """Where a path, as vertices, comes among those with as few hops: 0 for all but the shortest of a fabric."""
    low, high = sorted((path[0], path[-1]))
    across = found.pod_of[low] != found.pod_of[high]
    if not found.planes or len(path) != (5 if across else 3):
        return 0
    plane, spine = way(found, path)
    if order == "networkx":
        return (plane + spine) * found.links + spine
    planes, spines = found.planes, found.uplinks if across else 1
    turns = (((low + high + k) % planes, (low + high // planes + k // planes) % spines) for k in count())
    return next(k for k, taken in enumerate(turns) if taken == (plane, spine))
