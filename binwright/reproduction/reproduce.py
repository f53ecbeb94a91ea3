"""Reproduce publications: run, compare, and keep what came of it."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from binwright.reproduction import PUBLICATIONS
from binwright.reproduction.experiment import Size, publication
from binwright.reproduction.figures import Picture, pictures
from binwright.reproduction.result import Made, Reproduction
from binwright.reproduction.rows import Row
from binwright.reproduction.running import Prepared, compared, material, prepare, run

FOLDER = Path("results") / "reproduce"


def names_of(*names: str) -> tuple[str, ...]:
    """Take publications by their names, each once, or `all`; a name that is neither is a `UserError`."""
    found = [PUBLICATIONS if name == "all" else (publication(name).name,) for name in names]
    return tuple(dict.fromkeys(name for those in found for name in those))


def reproduce(
    name: str,
    *others: str,
    quick: bool = False,
    out: str | Path | None = None,
    jobs: int | None = None,
    finished: Callable[[dict[str, Any]], None] = lambda row: None,
    weights: str | Path | None = None,
) -> Reproduction:
    """Run what publications ran (`nara`, `cvd-rl`, `wrasse`, `spane`, `fgd` or `all`), and compare every value.

    What `out` (default `results/reproduce`) has already is not run again. `quick` takes fewer seeds and less time.
    `weights` is a folder of the weights that Nara's authors published, which then have rows of their own. `jobs` runs
    at a time (default: one per CPU); `finished` is called with every finished run's row.
    """
    names, size = names_of(name, *others), size_of(quick)
    return completed(names, prepare(names, size, out or FOLDER, weights), size, jobs, finished)


def size_of(quick: bool) -> Size:
    """Choose how much is run."""
    return "quick" if quick else "full"


def completed(
    names: Sequence[str],
    prepared: Sequence[Prepared],
    size: Size,
    jobs: int | None,
    finished: Callable[[dict[str, Any]], None],
) -> Reproduction:
    """Run what was prepared, and compare."""
    for one in prepared:
        run(one, jobs, finished)
    planned = {one.publication.name: one.publication for one in prepared}
    whole = tuple(planned.get(name) or publication(name) for name in names)
    rows: list[Row] = []
    drawn: list[Picture] = []
    for asked in whole:
        own = [each for each in prepared if each.publication.name == asked.name]
        rows += compared(asked, own)
        drawn += pictures(asked.name, asked.figures, material(own))
    called = "all" if set(names) == set(PUBLICATIONS) else " ".join(names)
    called += "".join(" --weights FOLDER" for one in whole if one is not publication(one.name))
    made = Made(
        command=f"binwright reproduce {called}{' --quick' if size == 'quick' else ''}",
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        minutes={name: sum(one.seconds for one in prepared if one.publication.name == name) / 60 for name in names},
    )
    return Reproduction(whole, tuple(rows), made, tuple(drawn))
