"""`export`: results for other tools."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from binwright.commands.console import many_of, out


def export(asked: Namespace) -> int:
    """`binwright export RESULTS --to mlflow`."""
    from analysis.front import Results
    from analysis.results.export import to_mlflow, write_csv, write_json

    results = Results(asked.results)
    if asked.to == "mlflow":
        count = to_mlflow(results, asked.out)
        where = f"experiment {results.name} of {asked.out or 'MLflow'}"
    else:
        file = Path(asked.out or results.folder / f"runs.{asked.to}")
        count = (write_csv if asked.to == "csv" else write_json)(results, file)
        where = str(file)
    out.print(f"{many_of(count, 'run')} into {where}", markup=False, highlight=False, soft_wrap=True)
    return 0
