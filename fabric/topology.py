"""Networks as arrays: who hangs on whom, through which link, of what capacity and tier; and those that have names."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.simcore.options import check_options
from binwright.simcore.registry import Registry
from binwright.simcore.types import Ints, fixed

Indices: TypeAlias = npt.NDArray[np.int32]
Small: TypeAlias = npt.NDArray[np.int8]

LEVELS = ("server", "rack", "fabric", "spine")
"""What stands how many hops above the servers; deeper trees go on with level-4."""
LARGEST = 50_000_000
"""Links and vertices that we try to build; far beyond any machine's memory for a run, and below an int32."""


class Topology:
    """Servers, switches and the links between them. All arrays are read-only.

    Vertices are the switches, by tier (the racks, which servers hang on, are the first), then the servers: server `s`
    is vertex `switches + s`, rack `r` is vertex `r`. Every server has one link: server `s` has link `s`.

    | field | dtype [shape] | what |
    | --- | --- | --- |
    | names | str [vertices] | switches, then servers |
    | rack_of | int32 [servers] | the rack of a server |
    | pod_of | int32 [racks] | racks of one pod are neighbours; -1 where there are no pods |
    | link_ends | int32 [links, 2] | vertices, the lower level first |
    | link_capacity | int64 [links] | quanta |
    | link_tier | int8 [links] | index into `tiers` |
    | level | int8 [vertices] | index into `levels`; 0 is a server |

    `planes` and `uplinks` are not 0 for a three-tier fabric: the link of rack r to plane f is `servers + r planes + f`,
    and those of pod p's switch of plane f to its spines are the `uplinks` links from
    `servers + racks planes + (p planes + f) uplinks`.
    """

    def __init__(
        self,
        name: str,
        names: Sequence[str],
        rack_of: npt.ArrayLike,
        pod_of: npt.ArrayLike,
        link_ends: npt.ArrayLike,
        link_capacity: npt.ArrayLike,
        level: npt.ArrayLike,
        planes: int = 0,
        uplinks: int = 0,
    ) -> None:
        self.name, self.names, self.planes, self.uplinks = name, tuple(names), planes, uplinks
        self.rack_of: Indices = fixed(rack_of, np.int32)
        self.pod_of: Indices = fixed(pod_of, np.int32)
        self.link_capacity: Ints = fixed(link_capacity, np.int64)
        self.level: Small = fixed(level, np.int8)
        ends = np.asarray(link_ends)
        low_first = np.argsort(self.level[ends], axis=1, kind="stable")
        self.link_ends: Indices = fixed(np.take_along_axis(ends, low_first, axis=1), np.int32)
        self.servers, self.racks, self.links = len(self.rack_of), len(self.pod_of), len(self.link_ends)
        self.switches = len(self.level) - self.servers
        kinds, tier = np.unique(self.level[self.link_ends], axis=0, return_inverse=True)
        self.link_tier: Small = fixed(tier.reshape(-1), np.int8)
        self.tiers = tuple(f"{level_name(low)}-{level_name(high)}" for low, high in kinds.tolist())
        self.levels = tuple(level_name(number) for number in range(int(self.level.max()) + 1))

    @property
    def is_tree(self) -> bool:
        """Tell whether every vertex but one has exactly one link to a higher level."""
        low, high = self.link_ends.T
        is_up = (self.level[low] < self.level[high]).all()
        return bool(is_up and len(np.unique(low)) == self.links == len(self.level) - 1)


def adjacency(ends: Indices, servers: int, vertices: int) -> tuple[Indices, Indices, Indices]:
    """Find the neighbours of so many vertices and the links to them: the last `servers` first, each ascending.

    Those of vertex v are from place `first[v]` to `first[v + 1]` of both, int32 [vertices + 1] and [2 links].
    """
    ends_from, ends_to = np.concatenate([ends, ends[:, ::-1]]).T
    order = np.lexsort(((ends_to + servers) % vertices, ends_from))
    first = np.concatenate([[0], np.cumsum(np.bincount(ends_from, minlength=vertices))])
    return fixed(first, np.int32), fixed(ends_to[order], np.int32), fixed(order % len(ends), np.int32)


def level_name(number: int) -> str:
    """Name what stands `number` levels above the servers."""
    return LEVELS[number] if number < len(LEVELS) else f"level-{number}"


TOPOLOGIES = Registry(
    "topology",
    "binwright.topologies",
    {
        "fabric": "binwright.fabric.shapes:fabric",
        "fat-tree": "binwright.fabric.shapes:fat_tree",
        "tree": "binwright.fabric.shapes:tree",
        "alpha": "binwright.fabric.shapes:alpha",
        "beta": "binwright.fabric.shapes:beta",
        "gamma": "binwright.fabric.shapes:gamma",
        "delta": "binwright.fabric.shapes:delta",
    },
)


def topology(name: str, /, **options: object) -> Topology:
    """Build the network of this name. Options are the constructor's arguments; presets need none."""
    build = TOPOLOGIES.load(name)
    built: Topology = build(**check_options(build, options))
    return built
