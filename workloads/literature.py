"""Named classes of bin packing instances of the literature, drawn anew from their published rules.

The published files were drawn by their authors' generators, whose streams of random numbers nobody has: what is drawn
here is of the same kind, and not the same instance. `binwright.workloads.offline_files` reads the published files.

- `u120` to `u1000` and the triplets `t60` to `t501`: Falkenauer, "A hybrid grouping genetic algorithm for bin packing",
  Journal of Heuristics 2, 1996. Triplets fill a bin of 1,000 exactly; every bin has three, so the optimum is known.
- `n1c1w1` to `n4c3w4` (set 1), `n1w1b1` to `n4w4b3` (set 2) and `hard` (set 3): Scholl, Klein and Juergens, "BISON: a
  fast hybrid procedure for exactly solving the one-dimensional bin packing problem", Computers and Operations Research
  24, 1997.
- `schwerin1` and `schwerin2`: Schwerin and Waescher, "The bin-packing problem: a problem generator and some numerical
  experiments with FFD packing and MTP", International Transactions in Operational Research 4, 1997.
"""

from __future__ import annotations

import numpy as np

from binwright.simcore.types import Ints

UNIFORM = {f"u{count}": count for count in (120, 250, 500, 1000)}
TRIPLETS = {f"t{count}": count for count in (60, 120, 249, 501)}
COUNTS = (50, 100, 200, 500)
CAPACITIES = (100, 120, 150)
LEAST = {"1": 1, "2": 20, "4": 30}
"""Of Scholl's set 1, `w1`, `w2` and `w4`: the smallest ball; the largest is 100."""
PER_BIN = (3, 5, 7, 9)
"""Of Scholl's set 2, `w1` to `w4`: how many balls of the mean size fill a bin."""
WIDTHS = (20, 50, 90)
"""Of Scholl's set 2, `b1` to `b3`: by how many percent a ball may differ from the mean size."""
SCHWERIN = {"schwerin1": 100, "schwerin2": 120}
HARD = "hard"
FIRST = tuple(f"n{n}c{c}w{w}" for n in range(1, 5) for c in range(1, 4) for w in LEAST)
SECOND = tuple(f"n{n}w{w}b{b}" for n in range(1, 5) for w in range(1, 5) for b in range(1, 4))
NAMES = (*UNIFORM, *TRIPLETS, *SCHWERIN, HARD, *FIRST, *SECOND)


def sizes(name: str, rng: np.random.Generator) -> tuple[Ints, int]:
    """Draw the balls of a class by its name, int64 [balls], and say what a bin holds."""
    if name in UNIFORM:
        return rng.integers(20, 100, UNIFORM[name], endpoint=True), 150
    if name in TRIPLETS:
        return _triplets(rng, TRIPLETS[name] // 3), 1000
    if name in SCHWERIN:
        return rng.integers(150, 200, SCHWERIN[name], endpoint=True), 1000
    if name == HARD:
        return rng.integers(20_000, 35_000, 200, endpoint=True), 100_000
    n, kind, middle, last = name[1], name[2], name[3], name[5]
    count = COUNTS[int(n) - 1]
    if kind == "c":
        return rng.integers(LEAST[last], 100, count, endpoint=True), CAPACITIES[int(middle) - 1]
    mean, width = 1000 / PER_BIN[int(middle) - 1], WIDTHS[int(last) - 1]
    low, high = (mean * (100 - width) / 100, mean * (100 + width) / 100)
    return rng.integers(int(np.ceil(low)), int(high), count, endpoint=True), 1000


def _triplets(rng: np.random.Generator, bins: int) -> Ints:
    """Cut bins of 1,000 into three: one of 380 to 490, one from 250 to half of what is left, and the rest."""
    first = rng.integers(380, 490, bins, endpoint=True)
    second = rng.integers(250, (1000 - first) // 2, endpoint=True)
    return rng.permutation(np.concatenate([first, second, 1000 - first - second]))
