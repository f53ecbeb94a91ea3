"""columns.json: what results say of themselves, and what is answered where it is missing, damaged or of other runs."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.measure.metric import Metric
from binwright.analysis.results.columns import Columns, digest_of, merged, read_columns, write_runs
from binwright.analysis.results_api import Results
from binwright.scenarios.batch.batch import Batch
from binwright.simcore.errors import ResultsError
from tests.support.batches import scenario
from tests.support.results import row, write_results


def test_results_say_what_they_hold(tmp_path: Path) -> None:
    results = Batch(scenario(replications=1, sweep={"product": {"cluster.servers": [2, 3]}}), tmp_path).run()
    assert (results.resources, results.tiers, results.swept) == (["cpu", "mem"], [], ["cluster.servers"])
    described = {metric.name: metric for metric in results.metrics}
    assert set(described) <= set(results.runs.columns)
    others = {"run", "agent", "seed", "cluster.servers", "version", "status", "error", "seconds", "random", "compiled"}
    assert set(results.runs.columns) - set(described) == others | {"reasons", "refused_sizes", "refused_times"}
    assert described["fragmentation_mem"] == Metric(
        "fragmentation_mem", "mem fragmentation %", "%", "lower", "free mem that no flavour can use", "never"
    )
    assert described["decision_us"].timed


def test_written_columns_are_read_back(tmp_path: Path) -> None:
    columns = Columns(("cpu",), ("core",), ("a.b",), (Metric("x", "µx", "kWh", "lower", "less", "differs", True),))
    write_runs(tmp_path, pl.DataFrame({"run": ["a"]}), columns)
    digest = digest_of((tmp_path / "runs.parquet").read_bytes())
    assert read_columns(tmp_path / "columns.json") == (columns, digest)


def test_a_description_of_other_runs_is_refused(tmp_path: Path) -> None:
    """As when a disk was full between the two files: swept points would be pooled without a word."""
    results = Batch(scenario(replications=1), tmp_path).run()
    results.runs.head(1).write_parquet(tmp_path / "runs.parquet")
    with pytest.raises(ResultsError, match="says what the columns of another runs"):
        Results(tmp_path)


GOOD: dict[str, Any] = {"runs": "0123", "resources": ["cpu"], "tiers": [], "swept": [], "metrics": []}
X = {"name": "x", "heading": "x", "unit": "", "better": "lower", "meaning": "", "table": "never", "timed": False}


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "[" * 100_000, "{", json.dumps(GOOD | {"resources": "cpu"}),
        json.dumps(GOOD | {"tiers": ["up", "up"]}),
        json.dumps({key: value for key, value in GOOD.items() if key != "swept"}),
        json.dumps(GOOD | {"metrics": [X | {"better": "more"}]}),
        json.dumps(GOOD | {"metrics": [X | {"better": []}]}), json.dumps(GOOD | {"metrics": [X | {"heading": 1}]}),
        json.dumps(GOOD | {"metrics": [X | {"colour": "red"}]}), json.dumps(GOOD | {"metrics": [X, X]}),
    ],
)  # fmt: skip
def test_a_damaged_file_is_answered_with_the_remedy(tmp_path: Path, text: str) -> None:
    write_results(tmp_path, [row("a", 0)])
    (tmp_path / "columns.json").write_text(text)
    with pytest.raises(ResultsError, match="this file is damaged") as caught:
        Results(tmp_path)
    assert caught.value.remedy.startswith("Run the scenario again")


def test_running_again_restores_a_missing_columns_file_without_runs(tmp_path: Path) -> None:
    first = Batch(scenario(), tmp_path).run()
    whole = (tmp_path / "columns.json").read_bytes()
    (tmp_path / "columns.json").unlink()
    with pytest.raises(ResultsError, match="this file is missing") as caught:
        Results(tmp_path)
    assert "it takes 6 finished runs from journal.jsonl" in caught.value.remedy
    assert f"binwright run {tmp_path}/scenario.yaml --out {tmp_path}" in caught.value.remedy
    batch = Batch(scenario(), tmp_path)
    assert len(batch.done()) == len(batch.runs)
    assert batch.run().runs.equals(first.runs)
    assert (tmp_path / "columns.json").read_bytes() == whole


def test_several_results_are_merged(tmp_path: Path) -> None:
    one = Columns(("cpu", "mem"), (), ("a",), (Metric("x", "first"), Metric("y", "y")))
    other = Columns(("cpu", "gpu"), ("up",), ("b", "a"), (Metric("x", "second"), Metric("z", "z")))
    assert merged([one, other]) == Columns(
        ("cpu", "mem", "gpu"), ("up",), ("a", "b"), (Metric("x", "first"), Metric("y", "y"), Metric("z", "z"))
    )
    left = Batch(scenario(name="left", replications=1), tmp_path / "left").run()
    swept = scenario(name="right", replications=1, sweep={"product": {"cluster.servers": [2, 3]}})
    right = Batch(swept, tmp_path / "right").run()
    found = Comparison([left, right], metrics=["fragmentation_mem"])
    assert found.keys == ["scenario", "cluster.servers"]
    assert found.metrics[0].heading == "mem fragmentation %"
