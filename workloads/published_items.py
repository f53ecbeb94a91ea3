"""The items of FunSearch's experiments in online bin packing, in the order in which they come.

Romera-Paredes and others, "Mathematical discoveries from program search with large language models", Nature 625, 2024.

- `binpack1` to `binpack4` (OR1 to OR4 there): the 20 published instances each of the OR-Library's files of these names,
  Beasley, "OR-Library: distributing test problems by electronic mail", Journal of the Operational Research Society 41,
  1990. The items of each file are the first ones of the next.
- `weibull-5k`: five instances, published in github.com/google-deepmind/funsearch (CC BY 4.0).
- `weibull-10k`, `weibull-100k`: drawn, since the instances are not published. The text has items of a Weibull
  distribution of scale 45 and shape 3, cut off at 100 and rounded. Those that are published are rounded down.
"""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from binwright.simcore.types import Ints

BINPACK = {"binpack1": 120, "binpack2": 250, "binpack3": 500, "binpack4": 1000}
DRAWN = {"weibull-10k": 10_000, "weibull-100k": 100_000}
NAMES = (*BINPACK, "weibull-5k", *DRAWN)


def sizes(name: str, seed: int) -> tuple[Ints, int]:
    """Return the items of an instance, int64 [items], and what a bin holds; a seed beyond the last begins again."""
    if name in DRAWN:
        drawn = 45 * np.random.default_rng(seed).weibull(3, DRAWN[name])
        return np.clip(np.floor(drawn), 1, 100).astype(np.int64), 100
    with files("binwright.workloads").joinpath("published_items.npz").open("rb") as file, np.load(file) as items:
        if name not in BINPACK:
            published = items["weibull"]
            return published[seed % len(published)].astype(np.int64), 100
        number, count = seed % 20, BINPACK[name]
        return items["binpack"][number * count : (number + 1) * count].astype(np.int64), 150
