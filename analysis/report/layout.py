"""Where servers and links stand in a network, for the replay to draw them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fabric.presets import topology as build
from simcore.errors import UserError

NONE: dict[str, Any] = {"servers": [], "tiers": []}
"""Without a network: all servers are one group."""


def layout(network: Mapping[str, Any]) -> dict[str, Any]:
    """Group what the replay shows: servers by rack, racks by pod, links by tier; numbers are those of the states."""
    if not network:
        return NONE
    ((name, options),) = network.items()
    try:
        topology = build(name, **options)
    except UserError:  # its file is not on this machine any more
        return NONE
    order = np.argsort(topology.rack_of, kind="stable")
    racks = np.split(order, np.flatnonzero(np.diff(topology.rack_of[order])) + 1)
    return {
        "servers": [
            {"name": topology.names[rack], "pod": int(topology.pod_of[rack]), "cells": cells.tolist()}
            for cells in racks
            for rack in [int(topology.rack_of[cells[0]])]
        ],
        "tiers": [
            {"name": name, "cells": np.flatnonzero(topology.link_tier == number).tolist()}
            for number, name in enumerate(topology.tiers)
        ],
    }
