"""What `binwright size` answered, read for the figures of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from analysis.figures.figure_data import FigureData
from simcore.errors import ResultsError


def answer(folder: Path, name: str, columns: Sequence[str]) -> pl.DataFrame:
    """Read the answer, a row per agent, in the file of this name beside the runs."""
    file = folder / name
    remedy = "Run `binwright size`, and name the folder that it writes, alone."
    if not file.is_file():
        raise ResultsError("there is no answer of binwright size here", file=file, remedy=remedy)
    try:
        found = pl.read_csv(file)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise ResultsError(f"cannot be read: {error}", file=file, remedy=remedy) from None
    if missing := [name for name in columns if name not in found.columns]:
        raise ResultsError(f"has no column {', '.join(missing)}", file=file, remedy=remedy)
    return found


def does(chosen: FigureData, agents: Sequence[str], verb: str) -> str:
    """Begin a sentence about agents: `a needs`, `a and b need`."""
    names = [chosen.heading(agent) for agent in agents]
    return f"{names[0]} {verb}s" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} {verb}"
