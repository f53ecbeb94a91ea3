"""Results for other tools: one table of all runs with what they measured, and experiments in MLflow."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path
from typing import Any

from binwright.analysis.results.folder import ResultsFolder, check_target
from binwright.simcore.errors import UserError
from binwright.simcore.extras import pl
from binwright.simcore.files import write_text

TAG = "binwright.run"
"""The tag of an MLflow run that has the name of ours: what is there already is not exported again."""


def measured(results: ResultsFolder) -> pl.DataFrame:
    """Take of every finished run what names it, the swept keys, and the metrics."""
    keys = ["run", "agent", "seed", *results.columns.swept, "version"]
    metrics = [metric.name for metric in results.columns.metrics if metric.name in results.done.columns]
    return results.done.select(*dict.fromkeys(keys), *metrics)


def write_csv(results: ResultsFolder, file: str | Path) -> int:
    """Write a CSV with a row per run; returns how many."""
    check_target(file)
    frame = measured(results)
    write_text(file, frame.write_csv())
    return len(frame)


def write_json(results: ResultsFolder, file: str | Path) -> int:
    """Write JSON, `{"metrics": {name: {...}}, "runs": [...]}`: what each metric is, and the runs; returns how many."""
    check_target(file)
    frame = measured(results)
    described = {
        metric.name: {"unit": metric.unit, "better": metric.better, "meaning": metric.meaning}
        for metric in results.columns.metrics
    }
    runs = [{key: _plain(value) for key, value in row.items()} for row in frame.to_dicts()]
    write_text(file, json.dumps({"metrics": described, "runs": runs}, ensure_ascii=False, indent=1) + "\n")
    return len(frame)


def _plain(value: Any) -> Any:
    """Write null for a number that JSON has not."""
    return None if isinstance(value, float) and not isfinite(value) else value


def to_mlflow(results: ResultsFolder, uri: str | None = None) -> int:
    """Write every run that is not there yet into the MLflow experiment of the scenario's name; returns how many.

    `uri` is that of the tracking server or folder (default: MLflow's own, $MLFLOW_TRACKING_URI). Agent, seed and swept
    keys are parameters, metrics are metrics.
    """
    try:
        from mlflow.entities import Metric, Param, RunTag
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient
    except ImportError as error:
        remedy = "pip install mlflow-skinny, or mlflow."
        raise UserError(f"MLflow cannot be imported: {error}", key="to", value="mlflow", remedy=remedy) from None
    try:
        client = MlflowClient(uri)
        experiment = client.get_experiment_by_name(results.name)
        number = experiment.experiment_id if experiment else client.create_experiment(results.name)
        there = _there(client, number)
        names = {metric.name for metric in results.columns.metrics}
        count = 0
        for row in measured(results).to_dicts():
            if row["run"] in there:
                continue
            run = client.create_run(number, run_name=f"{row['agent']}, seed {row['seed']}")
            values = [
                Metric(key, float(value), run.info.start_time, 0)
                for key, value in row.items()
                if key in names and isinstance(value, int | float) and isfinite(value)
            ]
            params = [Param(key, str(value)) for key, value in row.items() if key not in names and key != "run"]
            client.log_batch(run.info.run_id, metrics=values, params=params)
            client.set_terminated(run.info.run_id)
            # Last: a run that was cut short has no name, and is written again.
            client.log_batch(run.info.run_id, tags=[RunTag(TAG, row["run"])])
            count += 1
    except MlflowException as error:
        remedy = "Name a server or a folder with --out, as in --out http://127.0.0.1:5000."
        raise UserError(f"MLflow refuses: {str(error).splitlines()[0]}", key="out", value=uri, remedy=remedy) from None
    return count


def _there(client: Any, experiment: str) -> set[str]:
    """Find the names of the runs that an experiment has."""
    found: set[str] = set()
    token = None
    while True:
        page = client.search_runs([experiment], max_results=1000, page_token=token)
        found |= {run.data.tags[TAG] for run in page if TAG in run.data.tags}
        token = page.token
        if not token:
            return found
