"""Several results as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from binwright.analysis.results.columns import merged
from binwright.analysis.results.folder import ResultsFolder, as_written, telling_keys
from binwright.simcore.errors import ResultsError
from binwright.simcore.extras import pl


class CombinedResults(ResultsFolder):
    """Puts several results together: a column `scenario` tells different names apart, as if it had been swept.

    The names are those given, or the scenarios'. Of one scenario, the same run in two folders counts once; an agent
    that two folders ran with different settings has its folder before its label, which is in `_agent` alone.
    """

    def __init__(self, parts: Sequence[ResultsFolder], names: Sequence[str] = ()) -> None:
        if not parts:
            raise ResultsError("there are no results to compare", remedy="Name a results folder.")
        names = names or [part.name for part in parts]
        folders = Counter(part.folder.resolve().name for part in parts)
        frames = []
        for part, name in zip(parts, names, strict=True):
            folder = part.folder.resolve().name
            apart = {"scenario": name, "_folder": folder if folders[folder] == 1 else str(part.folder)}
            frames.append(
                part.runs.with_columns(_agent=pl.col("agent"), **{key: pl.lit(x) for key, x in apart.items()})
            )
        columns, runs = merged(part.columns for part in parts), _joined(parts, frames)
        if len(parts) > 1:
            one_run = ["scenario", *columns.swept, "_agent", "seed"]
            runs = runs.unique([*one_run, "run"], keep="first", maintain_order=True)
            twice = runs.filter(pl.struct(one_run).is_duplicated()).select("scenario", "_agent").unique()
            runs = runs.join(
                twice.with_columns(_twice=True), on=["scenario", "_agent"], how="left", maintain_order="left"
            ).with_columns(agent=pl.when("_twice").then(pl.format("{}/{}", "_folder", "_agent")).otherwise("_agent"))
        swept = ["scenario"] if runs["scenario"].n_unique() > 1 else []
        self.runs, self.columns = runs, replace(columns, swept=(*swept, *columns.swept))
        self.folder = Path(" + ".join(dict.fromkeys(names)))
        self._parts = list(parts)
        self._part = {run: part for part in parts for run in part.runs["run"]}

    def _detail(self, run: str, kind: str) -> pl.DataFrame:
        return self._part[run]._detail(run, kind)

    @property
    def name(self) -> str:
        return str(self.folder)

    @property
    def headlines(self) -> list[str]:
        return [name for part in self._parts for name in part.headlines]

    @property
    def unfinished(self) -> str:
        return " ".join(dict.fromkeys(filter(None, (part.unfinished for part in self._parts))))

    def said(self, key: str) -> Any:
        """Return what the first scenario says below one of its keys."""
        return self._parts[0].said(key)

    def part(self, run: str) -> ResultsFolder:
        return self._part[run]


def _joined(several: Sequence[ResultsFolder], parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
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
    result, short = copy(results), [results.short(key) for key in keys]
    names = []
    for point in results.runs.select(keys).iter_rows():
        words = list(map(as_written, point))
        names.append(words[0] if len(keys) == 1 else ", ".join(map(" ".join, zip(short, words, strict=True))))
    agents = pl.Series("agent", names)
    result.runs = results.runs.with_columns(agents, agents.alias("_agent"))
    result.columns = replace(results.columns, swept=())
    result.row_heading = short[0] if len(keys) == 1 else "point"
    return result
