"""How far a batch is, seen from another process: from the journal in its folder, without disturbing it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from statistics import mean

from binwright.analysis.results_api import Results
from binwright.scenarios.batch.attempt import shown
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.batch.journal import UNDER_WAY, Row, is_taken
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.errors import ResultsError


@dataclass(frozen=True)
class BatchProgress:
    """Holds what there is of a batch: its last row of every planned run, by name, and whether somebody goes on.

    `under_way` are the rows of runs that are not over, which say how far they were when they were kept; `others` are
    runs in the journal that the scenario does not ask for, or that another version did.
    """

    name: str
    total: int
    rows: dict[str, Row]
    under_way: dict[str, Row]
    others: int
    running: bool
    seconds: float | None
    """Seconds that one process would take for what is left, going by the agents' runs; None if nothing is known."""

    @property
    def done(self) -> int:
        """How many runs finished."""
        return sum(row["status"] == "done" for row in self.rows.values())

    @property
    def failed(self) -> int:
        """How many runs failed the last time they were tried."""
        return len(self.rows) - self.done


class WatchedFolder:
    """A folder that a batch writes its results to, looked at again and again."""

    def __init__(self, folder: str | Path) -> None:
        folder = Path(folder)
        self._journal = folder / "journal.jsonl"
        if not self._journal.is_file():
            remedy = "Name the folder that `binwright run` writes to; it is there as soon as the first run begins."
            raise ResultsError("nothing was run here", file=folder, remedy=remedy)
        self._folder = folder
        self._batch, self._said = self._planned()

    def _planned(self) -> tuple[Batch, float]:
        """Plan what the folder's scenario asks for; a later command may ask for something else."""
        file = self._folder / "scenario.yaml"
        return Batch(load_scenario(file), self._folder), file.stat().st_mtime

    def look(self) -> BatchProgress:
        """Say how far it is now."""
        running = is_taken(self._journal)  # before its rows are read: what is over has written all of them
        if (self._folder / "scenario.yaml").stat().st_mtime != self._said:
            self._batch, self._said = self._planned()
        planned = {run.name: run.agent.label for run in self._batch.runs}
        there = {row["run"]: row for row in self._batch.rows()}
        mine = {name: row for name, row in there.items() if name in planned}
        under_way = {name: row for name, row in mine.items() if row["status"] == UNDER_WAY}
        rows = {name: row for name, row in mine.items() if name not in under_way}
        took: dict[str, list[float]] = {}
        for row in rows.values():
            took.setdefault(row["agent"], []).append(row["seconds"])
        every = [one for some in took.values() for one in some]
        left = [agent for name, agent in planned.items() if name not in rows]
        seconds = sum(mean(took.get(agent, every)) for agent in left) if every else None
        others = len(there) - len(mine)
        return BatchProgress(self._batch.scenario.name, len(planned), rows, under_way, others, running, seconds)

    def results(self, found: BatchProgress, into: Path) -> Results:
        """Return what runs gave until that look, as results in a folder `into` which they are written for this."""
        planned = {run.name: {"agent": run.agent.label, **shown(run)} for run in self._batch.runs}
        rows = [row | planned[name] for name, row in found.rows.items() if name in planned]
        self._batch.write_runs([*rows, *self._batch.others()[0]], into)
        copyfile(self._folder / "scenario.yaml", into / "scenario.yaml")
        return Results(into)
