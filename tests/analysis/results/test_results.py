"""What columns are, damaged and unusual results, and wrong requests: what is shown, refused, and restored."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import binwright as bw
from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.figures.kind import draw
from binwright.analysis.measure.metric import Metric
from binwright.analysis.results.columns import Columns, merged, write_runs
from binwright.analysis.results.folder import as_written, refused_shares
from binwright.analysis.results_api import Results
from binwright.cli import main
from binwright.scenarios.batch.batch import Batch
from binwright.simcore.errors import ResultsError
from tests.support.batches import scenario
from tests.support.properties import first
from tests.support.results import made, row, write_results


def test_results_say_what_they_hold(tmp_path: Path) -> None:
    results = Batch(scenario(replications=1, sweep={"product": {"cluster.servers": [2, 3]}}), tmp_path).run()
    assert (results.resources, results.swept) == (["cpu", "mem"], ["cluster.servers"])
    described = {metric.name: metric for metric in results.metrics}
    assert set(described) <= set(results.runs.columns)
    others = {"run", "agent", "seed", "cluster.servers", "version", "status", "error", "seconds", "random", "compiled"}
    assert set(results.runs.columns) - set(described) == others | {"reasons"}
    assert described["fragmentation_mem"] == Metric(
        "fragmentation_mem", "mem fragmentation %", "%", "lower", "free mem that no flavour can use", "never"
    )
    assert described["decision_us"].timed
    of_others = json.loads(pl.read_parquet_metadata(tmp_path / "runs.parquet")["binwright"])
    assert (of_others["version"], of_others["swept"]) == (bw.__version__, ["cluster.servers"])
    assert {metric["name"]: metric["unit"] for metric in of_others["metrics"]}["acceptance"] == "%"


def test_a_swept_key_without_a_column_is_refused(tmp_path: Path) -> None:
    """Its points would be pooled without a word."""
    write_runs(tmp_path, pl.DataFrame([row("a", 0)]), Columns(("cpu",), ("k",), ()))
    with pytest.raises(ResultsError, match=r"another version or program wrote this: it does not have k"):
        Results(tmp_path)


GOOD: dict[str, Any] = {"resources": ["cpu"], "tiers": [], "swept": [], "metrics": []}
X = {"name": "x", "heading": "x", "unit": "", "better": "lower", "meaning": "", "table": "never", "timed": False}


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "[" * 100_000, json.dumps(GOOD | {"resources": "cpu"}),
        json.dumps(GOOD | {"metrics": [X | {"better": "more"}]}),
        json.dumps(GOOD | {"metrics": [X | {"colour": "red"}]}),
    ],
)  # fmt: skip
def test_runs_that_do_not_say_what_their_columns_are_are_answered_with_the_remedy(tmp_path: Path, text: str) -> None:
    pl.DataFrame([row("a", 0)]).write_parquet(tmp_path / "runs.parquet", metadata={"binwright": text})
    with pytest.raises(ResultsError, match="it does not have what its columns are") as caught:
        Results(tmp_path)
    assert caught.value.remedy.startswith("Run the scenario again")


def test_running_again_restores_what_columns_are_without_runs(tmp_path: Path) -> None:
    first, file = Batch(scenario(), tmp_path).run(), tmp_path / "runs.parquet"
    whole = file.read_bytes()
    first.runs.write_parquet(file)
    with pytest.raises(ResultsError, match="it does not have what its columns are") as caught:
        Results(tmp_path)
    assert "it takes finished runs from journal.jsonl" in caught.value.remedy
    assert f"binwright run {tmp_path}/scenario.yaml --out {tmp_path}" in caught.value.remedy
    batch = Batch(scenario(), tmp_path)
    assert len(batch.done()) == len(batch.runs)
    assert batch.run().runs.equals(first.runs)
    assert file.read_bytes() == whole


def test_an_interrupted_batch_says_in_compare_and_report_how_many_runs_are_missing(tmp_path: Path) -> None:
    batch = Batch(scenario(), tmp_path)

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        batch.run(finished=interrupt)
    results, count = Results(tmp_path), len(batch.runs)
    text = f"Unfinished: {count - 1} of {count} runs are missing; the same command goes on."
    assert results.compare().legend.startswith(text)
    assert text in results.report().read_text()
    assert "Unfinished" not in batch.run().compare().legend


def test_several_results_are_merged(tmp_path: Path) -> None:
    columns = Columns(("cpu", "mem"), ("a",), (Metric("x", "first"), Metric("y", "y")))
    other = Columns(("cpu", "gpu"), ("b", "a"), (Metric("x", "second"), Metric("z", "z")))
    assert merged([columns, other]) == Columns(
        ("cpu", "mem", "gpu"), ("a", "b"), (Metric("x", "first"), Metric("y", "y"), Metric("z", "z"))
    )
    left = Batch(scenario(name="left", replications=1), tmp_path / "left").run()
    swept = scenario(name="right", replications=1, sweep={"product": {"cluster.servers": [2, 3]}})
    right = Batch(swept, tmp_path / "right").run()
    comparison = Comparison([left, right], metrics=["fragmentation_mem"])
    assert comparison.keys == ["scenario", "cluster.servers"]
    assert comparison.metrics[0].heading == "mem fragmentation %"
    assert Comparison(left, metrics=[]).metrics == Comparison(left).metrics


def drawn(agents: list[str], seeds: int = 6, **more: Any) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    return [row(agent, seed, acceptance=rng.random(), **more) for agent in agents for seed in range(seeds)]


@pytest.mark.parametrize("value", first(1, [float("nan"), float("inf")]))
def test_a_metric_without_any_number_is_none_in_figures_and_report(value: float, tmp_path: Path) -> None:
    rows = drawn(["a", "b", "c"])
    for agents in ("b", "abc"):
        results = made(tmp_path, [each | ({"acceptance": value} if each["agent"] in agents else {}) for each in rows])
        assert results.done["acceptance"].null_count() == 6 * len(agents)
        figure = draw(results, "differences", metrics=["acceptance", "hours"])
        assert len(figure.axes[0].lines) + len(figure.axes[0].patches) > 0 or agents == "abc"
        assert results.table().sheet.texts[1][2] == "-" or agents == "abc"

    assert main(["report", str(tmp_path)]) == 0


@pytest.mark.parametrize(
    "content", first(1, [b"\xff\xfe", b"figures: [1]\nheadings: 3\nname: [1]\n", b"name: {a: 1}\ndescription: 3\n"])
)
def test_a_scenario_that_is_no_scenario_any_more_takes_no_figure_away(content: bytes, tmp_path: Path) -> None:
    made(tmp_path, drawn(["a", "b"]))
    (tmp_path / "scenario.yaml").write_bytes(content)
    assert main(["figures", str(tmp_path), "--kind", "differences", "--out", str(tmp_path / "f")]) == 0
    assert main(["report", str(tmp_path)]) == 0


def test_accepted_and_refused_shares_add_up_to_all(tmp_path: Path) -> None:
    """Requests that a failure sent back, and that were refused then, count among those asked, too."""
    reasons = json.dumps({"cpu": 3, "mem": 1})  # of 10 offered 9 got a place, and 3 of these lost it
    write_results(tmp_path, [row("a", 0, offered=10, scheduled=9, lost=3, acceptance=9 / 13, reasons=reasons)])
    for most, names in ((1, ["cpu", "others"]), (2, ["cpu", "mem"])):
        named, shares, _ = refused_shares(Results(tmp_path).done, ["agent"], most)
        assert named == names
        assert sum(shares["a",][0]) == pytest.approx(100 * (1 - 9 / 13))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1 h", "1 h"),
        (json.dumps({"make_room": {"moves": 1}}), "make_room: {moves: 1}"),
        (json.dumps({"every": "1 h", "moves": 20}), "every: 1 h, moves: 20"),
        (json.dumps([{"demand": "+20 %"}, 2]), "[{demand: +20 %}, 2]"),
        (json.dumps(None), "null"),
        ("{a", "{a"),
    ],
)
def test_json_is_written_as_in_a_scenario(value: object, text: str) -> None:
    assert as_written(value) == text
