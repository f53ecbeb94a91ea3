"""Results on disk, read back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from simcore.errors import ResultsError

if TYPE_CHECKING:
    import polars as pl

    from analysis.table import Table


class Results:
    """One results folder: `runs` has a row per run; details are read when asked for."""

    def __init__(self, folder: str | Path) -> None:
        import polars as pl

        self.folder = Path(folder)
        path = self.folder / "runs.parquet"
        if not path.is_file():
            raise ResultsError("there are no results here", file=self.folder, remedy="Run a scenario with --out first.")
        try:
            self.runs = pl.read_parquet(path, glob=False)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise ResultsError(
                f"this is no readable Parquet file: {error}",
                file=path,
                remedy="Run the scenario again: finished runs are taken from journal.jsonl.",
            ) from error

    @property
    def scenario_file(self) -> Path:
        """The scenario as resolved, with every default written out."""
        return self.folder / "scenario.yaml"

    @property
    def done(self) -> pl.DataFrame:
        """The runs that finished."""
        import polars as pl

        return self.runs.filter(pl.col("status") == "done")

    @property
    def failed(self) -> pl.DataFrame:
        """The runs that did not, each with its error."""
        import polars as pl

        return self.runs.filter(pl.col("status") != "done")

    @property
    def resources(self) -> list[str]:
        """The cluster's resources."""
        return [name.removeprefix("fragmentation_") for name in self.runs.columns if name.startswith("fragmentation_")]

    @property
    def tiers(self) -> list[str]:
        """The tiers of the network's links, if there is one."""
        names = (name.removeprefix("blocked_") for name in self.runs.columns if name.startswith("blocked_"))
        return [name for name in names if f"allocation_{name}" in self.runs.columns]

    @property
    def swept(self) -> list[str]:
        """The keys that the sweep varies."""
        names = self.runs.columns
        return names[names.index("seed") + 1 : names.index("version")]

    def requests(self, run: str) -> pl.DataFrame:
        """A row per request of a run, when the scenario recorded them."""
        return self._detail(run, "requests")

    def samples(self, run: str) -> pl.DataFrame:
        """The cluster over time, when the scenario recorded it."""
        return self._detail(run, "samples")

    def _detail(self, run: str, kind: str) -> pl.DataFrame:
        import polars as pl

        path = self.folder / "details" / f"{run}.{kind}.parquet"
        if not path.is_file():
            raise ResultsError(
                f"the {kind} of run {run} were not recorded",
                file=path,
                remedy=f"Write `record: [{kind}]` into the scenario and run it again.",
            )
        return pl.read_parquet(path, glob=False)

    def table(self) -> Table:
        """Agents as rows, metrics as columns, means with intervals over the seeds."""
        from analysis.table import Table

        return Table(self)

    def __repr__(self) -> str:
        return f"Results({str(self.folder)!r}: {len(self.runs)} runs, {len(self.failed)} failed)"
