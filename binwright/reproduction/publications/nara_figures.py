"""The figures of Nara's publication."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from binwright.reproduction.figures import Drawing, Material

if TYPE_CHECKING:
    from analysis.figures.draw import Figure

TOPOLOGIES = {
    "alpha": "40 servers in 4 racks",
    "beta": "40 servers in 8 racks",
    "gamma": "640 servers in 16 racks",
    "delta": "2,560 servers in 64 racks",
}


def network(name: str, given: Material) -> Figure:
    """Draw a topology."""
    from analysis.figures.network_map import draw
    from fabric.presets import topology

    return draw(topology(name))


FIGURES = tuple(
    Drawing("9", f"topology-{name}", f"{name}, {what}", partial(network, name)) for name, what in TOPOLOGIES.items()
)
