"""Many runs: what is done already is believed, what fails is recorded and stops no other."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any, TextIO

from analysis.results import Results
from scenarios.build import build_cluster, build_workload, content_of
from scenarios.execute import cache_of, execute
from scenarios.load import resolved
from scenarios.plan import Run, plan
from scenarios.schema import Scenario
from simcore.errors import ResultsError, RunError, UserError
from workloads.traces.library import write

Row = dict[str, Any]


class Batch:
    """The runs of a scenario, and the folder that their results go to.

    `runs` is the plan. Nothing is written before `run`; what the user must mend is found out before that.
    """

    def __init__(self, scenario: Scenario, folder: str | Path) -> None:
        self.scenario = scenario
        self.folder = Path(folder)
        self.version = version("binwright")
        self.runs = plan(scenario, {"binwright": self.version}, cache(content_of))
        self._journal = self.folder / "journal.jsonl"

    def known(self) -> dict[str, Row]:
        """The journal's rows of finished runs, by name. A line that a crash cut short counts as none."""
        rows: dict[str, Row] = {}
        if self._journal.is_file():
            for line in self._journal.read_text("utf-8", "replace").splitlines():
                try:
                    row = json.loads(line)
                except json.JSONDecodeError:
                    continue
                if isinstance(row, dict) and row.get("status") == "done" and "run" in row:
                    rows[row["run"]] = row
        return rows

    def done(self) -> dict[str, Row]:
        """The rows of the plan's runs that need not run again: known, and the details that are wanted still there."""
        known, details, kinds = self.known(), self.folder / "details", self.scenario.record
        return {
            run.name: known[run.name]
            for run in self.runs
            if run.name in known and all((details / f"{run.name}.{kind}.parquet").is_file() for kind in kinds)
        }

    def run(self, *, fresh: bool = False, finished: Callable[[Row], None] = lambda row: None) -> Results:
        """Run what is missing (`fresh`: everything), calling `finished` with each row, then write `runs.parquet`.

        Interrupted at any moment, what is finished stays, and the same call goes on from there.
        """
        self._check()
        done = {} if fresh else self.done()
        rows = list(done.values())
        for row in rows:
            finished(row)
        with self._open() as journal:
            try:
                for run in self.runs:
                    if run.name not in done:
                        row = self._one(run)
                        journal.write(json.dumps(row) + "\n")
                        journal.flush()
                        rows.append(row)
                        finished(row)
            finally:
                if rows:
                    self._write_runs(rows)
        return Results(self.folder)

    def _check(self) -> None:
        """Find out what the user must mend before anything is written."""
        first = self.runs[0]
        build_cluster(first.scenario)
        build_workload(first.scenario, first.seed, cache_of(self.folder))

    def _open(self) -> TextIO:
        taken = self.folder / "scenario.yaml"
        if taken.exists() and not self._journal.exists():
            raise ResultsError(
                "there is a scenario here, and no results: it would be overwritten",
                file=taken,
                remedy="Name another folder with --out.",
            )
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            journal = self._journal.open("a+", encoding="utf-8")
            _lock(journal, self.folder)
            unfinished = self.folder / "scenario.unfinished"
            unfinished.write_text(resolved(self.scenario), "utf-8")
            unfinished.replace(taken)
            if journal.tell() and not self._journal.read_bytes().endswith(b"\n"):
                journal.write("\n")  # a crash cut the last line short: it must not spoil the next one
            return journal
        except OSError as error:
            raise ResultsError(
                f"cannot write results: {error.strerror}",
                file=self.folder,
                remedy="Name another folder with --out.",
            ) from None

    def _one(self, run: Run) -> Row:
        point = {
            key: value if isinstance(value, int | float | str) else json.dumps(value)
            for key, value in run.point.items()
        }
        row: Row = {"run": run.name, "agent": run.agent.label, "seed": run.seed, **point, "version": self.version}
        began = perf_counter()
        try:
            metrics, status, error = execute(run, self.folder), "done", ""
        except (RunError, UserError) as failure:
            metrics, status, error = {}, "failed", str(failure)
        except Exception:
            metrics, status, error = {}, "failed", traceback.format_exc()
        return row | {"status": status, "error": error, "seconds": perf_counter() - began} | metrics

    def _write_runs(self, rows: list[Row]) -> None:
        import polars as pl

        order = {run.name: number for number, run in enumerate(self.runs)}
        rows = sorted(rows, key=lambda row: order[row["run"]])
        # The keys of a failed run come first, and those of a finished one complete them.
        names = dict.fromkeys(key for row in rows for key in row)
        frame = pl.DataFrame({name: pl.Series(name, [row.get(name) for row in rows], strict=False) for name in names})
        write(frame, self.folder / "runs.parquet")


def _lock(journal: TextIO, folder: Path) -> None:
    """Two commands that write into one folder would spoil each other's results; the lock ends with the process."""
    try:
        import fcntl
    except ImportError:  # not on this system
        return
    try:
        fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        journal.close()
        raise ResultsError(
            "another run is writing here", file=folder, remedy="Wait for it, or name another folder with --out."
        ) from None
