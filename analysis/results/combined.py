"""Several results as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from analysis.results.columns import merged
from analysis.results.concatenated import joined
from analysis.results.folder import ResultsFolder
from simcore.lazy_imports import pl


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
        """The names of the parts."""
        return str(self.folder)

    def said(self, key: str) -> Any:
        """Return what the first scenario says below one of its keys."""
        return self._first.said(key)

    def part(self, run: str) -> ResultsFolder:
        """Return the results that a run belongs to."""
        return self._part[run]
