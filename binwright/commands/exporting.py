"""`export`: results for other tools."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from binwright.commands.console import many_of, where


def export(asked: Namespace) -> int:
    """`binwright export RESULTS --to mlflow`."""
    from binwright.analysis.results.export import to_mlflow, write_csv, write_json
    from binwright.analysis.results_api import Results

    results = Results(asked.results)
    if asked.to == "mlflow":
        count = to_mlflow(results, asked.out)
        place = f"experiment {results.name} of {asked.out or 'MLflow'}"
    else:
        file = Path(asked.out or results.folder / f"runs.{asked.to}")
        count = (write_csv if asked.to == "csv" else write_json)(results, file)
        place = str(file)
    where(f"{many_of(count, 'run')} into {place}")
    return 0
