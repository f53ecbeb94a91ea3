"""Which networks there are: `TOPOLOGIES`, open to third parties by its entry point group, and `topology`."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

from simcore.registry import Registry

if TYPE_CHECKING:
    from fabric.topology import Topology

TOPOLOGIES = Registry(
    "topology",
    "binwright.topologies",
    {
        "fabric": "fabric.shapes:fabric",
        "fat-tree": "fabric.shapes:fat_tree",
        "tree": "fabric.shapes:tree",
        "file": "fabric.graphs:read",
        "alpha": "fabric.shapes:alpha",
        "beta": "fabric.shapes:beta",
        "gamma": "fabric.shapes:gamma",
        "delta": "fabric.shapes:delta",
    },
)


def topology(name: str, /, folder: Path | None = None, **options: object) -> Topology:
    """Build the network of this name. Options are the constructor's arguments; presets need none.

    `folder` is where `file.py:function` is looked for.
    """
    from fabric.topology import TopologyError

    build = TOPOLOGIES.load(name, folder)
    try:
        signature(build).bind(**options)
    except TypeError as error:
        known = ", ".join(signature(build).parameters)
        raise TopologyError(f"{name}: {error}", remedy=f"Its options: {known}.") from None
    built: Topology = build(**options)
    return built
