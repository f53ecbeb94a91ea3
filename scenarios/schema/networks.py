"""Topologies by name, built once: every point of a sweep and every run asks for its own."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING

from fabric.presets import topology as build

if TYPE_CHECKING:
    from fabric.routing import Routing
    from fabric.topology import Topology


def topology(name: str, /, **options: object) -> Topology:
    """Build the topology of that name and options; the last ones are kept."""
    return _topology(name, json.dumps(options, sort_keys=True))


@lru_cache(maxsize=4)
def _topology(name: str, options: str) -> Topology:
    return build(name, **json.loads(options))


@lru_cache(maxsize=4)
def routing(network: Topology, paths: int, order: str) -> Routing:
    """Prepare the paths of a topology; what was searched for once stays for the runs that follow."""
    from fabric.routing import Routing

    return Routing(network, paths, order)
