"""Several results as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from binwright.analysis.results.columns import Columns, merged
from binwright.analysis.results.folder import ResultsFolder, as_written, telling_keys
from binwright.simcore.errors import ResultsError
from binwright.simcore.extras import pl

if TYPE_CHECKING:
    from binwright.analysis.results.folder import ResultsFolder


BEFORE, NOW = "before", "now"


class Pool(NamedTuple):
    """Holds the runs of several results in one frame, the `keys` that tell their points apart, and what columns are."""

    runs: pl.DataFrame
    keys: list[str]
    columns: Columns


def pooled(several: Sequence[ResultsFolder]) -> Pool:
    """Put all runs together; the keys are `scenario`, where there are several, and what is swept.

    `agent` is the agent's label, with its folder before it where two folders ran it on the same point and seed with
    different settings; `_agent` is always the label alone. The same run in two folders counts once.
    """
    if not several:
        raise ResultsError("there are no results to compare", remedy="Name a results folder.")
    short = Counter(one.folder.resolve().name for one in several)
    parts = []
    for one in several:
        own = one.folder.resolve().name
        parts.append(
            one.runs.with_columns(
                pl.lit(one.name).alias("scenario"),
                pl.lit(own if short[own] == 1 else str(one.folder)).alias("_folder"),
                pl.col("agent").alias("_agent"),
            )
        )
    columns = merged(one.columns for one in several)
    swept = list(columns.swept)
    runs = joined(several, parts)
    if len(parts) > 1:
        one_run = ["scenario", *swept, "_agent", "seed"]
        runs = runs.unique([*one_run, "run"], keep="first", maintain_order=True)
        twice = runs.filter(pl.struct(one_run).is_duplicated()).select("scenario", "_agent").unique()
        runs = runs.join(
            twice.with_columns(pl.lit(True).alias("_twice")),
            on=["scenario", "_agent"],
            how="left",
            maintain_order="left",
        ).with_columns(
            pl.when("_twice").then(pl.format("{}/{}", "_folder", "_agent")).otherwise("_agent").alias("agent")
        )
    keys = ["scenario", *swept] if runs["scenario"].n_unique() > 1 else swept
    return Pool(runs, keys, columns)


def set_beside(now: Sequence[ResultsFolder], before: ResultsFolder) -> Pool:
    """Put runs beside earlier ones, so that each agent is compared with itself.

    The agent's label becomes the key `of`, and `agent` is `before` or `now`, in this order. Where each side is of one
    scenario, the two may have different names.
    """
    parts = [pooled([before]), pooled(now)]
    sides = [
        part.runs.with_columns(pl.col("agent").alias("of"), pl.lit(side).alias("agent"), pl.lit(side).alias("_agent"))
        for part, side in zip(parts, (BEFORE, NOW), strict=True)
    ]
    columns = merged([parts[1].columns, parts[0].columns])
    runs = joined([before, *now], sides)
    scenario = ["scenario"] if any(part.runs["scenario"].n_unique() > 1 for part in parts) else []
    return Pool(runs, [*scenario, *columns.swept, "of"], columns)


def joined(several: Sequence[ResultsFolder], parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Put frames of the results one below the other; null where one has not the other's columns."""
    if len(parts) == 1:
        return parts[0]
    try:
        return pl.concat(parts, how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        raise ResultsError(
            f"these results do not go together: {str(error).splitlines()[0]}",
            file=several[-1].folder,
            remedy="Name folders that the same version of Binwright wrote.",
        ) from error


def points_as_agents(results: ResultsFolder) -> ResultsFolder:
    """Let the points of a sweep take the place of agents where there is one agent: then they are what is compared."""
    keys = telling_keys(results.runs, results.swept)
    if not keys or results.runs["agent"].n_unique() > 1 or results.runs.select(keys).n_unique() < 2:
        return results
    found, short = copy(results), [results.short(key) for key in keys]
    names = []
    for point in results.runs.select(keys).iter_rows():
        words = list(map(as_written, point))
        names.append(words[0] if len(keys) == 1 else ", ".join(map(" ".join, zip(short, words, strict=True))))
    found.runs = results.runs.with_columns(pl.Series("agent", names))
    found.columns = replace(results.columns, swept=())
    found.row_heading = short[0] if len(keys) == 1 else "point"
    return found


class Together(ResultsFolder):
    """Puts several results together: a column `scenario` tells them apart, as if it had been swept.

    It has their `names`, or those of the scenarios, or else of the folders where these are the same.
    """

    def __init__(self, parts: Sequence[ResultsFolder], names: Sequence[str] = ()) -> None:
        names = names or [part.name for part in parts]
        if len(set(names)) < len(parts):
            names = [str(part.folder) for part in parts]
        frames = [
            part.runs.with_columns(pl.lit(name).alias("scenario")) for part, name in zip(parts, names, strict=True)
        ]
        self.runs = joined(parts, frames)
        columns = merged(part.columns for part in parts)
        self.columns = replace(columns, swept=("scenario", *columns.swept))
        self.folder = Path(" + ".join(names))
        self._first = parts[0]
        self._part = {run: part for part in parts for run in part.runs["run"]}

    def _detail(self, run: str, kind: str) -> pl.DataFrame:
        return self._part[run]._detail(run, kind)

    @property
    def name(self) -> str:
        return str(self.folder)

    def said(self, key: str) -> Any:
        """Return what the first scenario says below one of its keys."""
        return self._first.said(key)

    def part(self, run: str) -> ResultsFolder:
        """Return the results that a run belongs to."""
        return self._part[run]
