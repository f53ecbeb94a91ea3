"""The replay's data: the recorded states of some runs, small enough for a page."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from binwright.analysis.figures.lightness import on_dark
from binwright.analysis.figures.style import looks
from binwright.analysis.measure.samples import KEPT
from binwright.analysis.measure.states import moments
from binwright.analysis.results.folder import ResultsFolder, as_written
from binwright.analysis.results.network import network_of
from binwright.fabric.topology import topology as build
from binwright.simcore.errors import ResultsError, UserError

if TYPE_CHECKING:
    import polars as pl

ROOM = 3_000_000
"""Characters of the page for all runs together."""
STEPS, DOWN, ABSENT = 200, 254, 255
"""A full server or link in a byte; one out of service; one that is not there yet."""
Bytes = npt.NDArray[np.uint8]


def replay(results: ResultsFolder, played: Mapping[str, pl.DataFrame] = MappingProxyType({})) -> dict[str, Any] | None:
    """Pack what the page's script shows: the first seed of every agent, point by point, while there is room.

    A run that would take more than half of it has the moments of half as many, or a quarter, and so on. None when no
    states were recorded, and none are of runs that were `played` again.
    """
    import polars as pl

    files = (results.folder / "details").glob("*.states.parquet")
    recorded = set(played) or {path.name.partition(".")[0] for path in files}
    runs = results.done.filter(pl.col("run").is_in(list(recorded)))
    if not len(runs):
        return None
    shown: list[dict[str, Any]] = []
    networks: dict[tuple[Any, ...], dict[str, Any]] = {}
    layouts: dict[str, dict[str, Any]] = {}
    room = ROOM
    for row in runs.unique([*results.swept, "agent"], keep="first", maintain_order=True).iter_rows(named=True):
        point = tuple(row[key] for key in results.swept)
        if point not in networks:
            networks[point] = _network(results, row) if results.tiers else {}
        key = json.dumps(networks[point])
        states, most = played[row["run"]] if played else results.states(row["run"]), KEPT
        run = _packed(row, results, key, states)
        while len(embedded(run)) > ROOM / 2 and most > 1:
            most //= 2
            kept = moments(states["time"][0], states["time"][-1], most)
            states = states.filter(pl.col("time").is_in(kept.tolist()))
            run = _packed(row, results, key, states)
        room -= len(embedded(run))
        if room < 0 and shown:
            break
        if key not in layouts:
            layouts[key] = layout(networks[point])
        shown.append(run)
    return {
        "resources": results.resources,
        "layouts": layouts,
        "runs": shown,
        "recorded": len(runs),
        "steps": STEPS,
        "down": DOWN,
        "absent": ABSENT,
    }


def _network(results: ResultsFolder, row: dict[str, Any]) -> dict[str, Any]:
    """Return the run's topology; empty when scenario.yaml does not say it any more."""
    try:
        return network_of(results, row)
    except ResultsError:
        return {}


def _packed(row: dict[str, Any], results: ResultsFolder, key: str, states: pl.DataFrame) -> dict[str, Any]:
    """Pack a run's states: bytes by moment, resource and server, then link; each moment less the one before."""
    parts = [states[f"used_{name}"] for name in results.resources]
    if "links" in states.columns:
        parts.append(states["links"])
    rows = np.concatenate([levels(part) for part in parts], axis=1)
    rows[1:] -= rows[:-1].copy()  # modulo 256; most of it is then 0, and packs well
    agent, colour = results.heading(row["agent"]), looks(results.runs["agent"])[row["agent"]][0]
    point = ", ".join(f"{results.short(name)} {as_written(row[name])}" for name in results.swept)
    return {
        "name": f"{agent}, seed {row['seed']}" + (point and f", {point}"),
        "agent": agent,
        "colour": [colour, on_dark(colour)],
        "point": point,
        "layout": key,
        "servers": states[f"used_{results.resources[0]}"].list.len().to_list(),
        "links": int(parts[-1].list.len()[0]) if "links" in states.columns else 0,
        **{name: states[name].to_list() for name in ("time", "offered", "accepted", "waiting")},
        "allocation": {name: states[f"allocation_{name}"].cast(float).round(4).to_list() for name in results.resources},
        "data": base64.b64encode(zlib.compress(rows.tobytes(), 9)).decode(),
    }


def levels(shares: pl.Series) -> Bytes:
    """Turn lists of shares into uint8 [moments, longest]: 0 to `STEPS`, 0 only for what is empty; `DOWN`, `ABSENT`."""
    lengths = shares.list.len().to_numpy()
    flat = shares.explode().to_numpy()
    scaled = np.maximum(np.round(flat * STEPS), flat > 0)
    found = np.full((len(lengths), int(lengths.max())), ABSENT, np.uint8)
    found[np.arange(found.shape[1]) < lengths[:, None]] = np.where(np.isnan(flat), DOWN, scaled).astype(np.uint8)
    return found


def embedded(data: object) -> str:
    """Write JSON that may stand in a `<script>` element: nothing in it can end the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


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
