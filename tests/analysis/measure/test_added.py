"""Metrics from outside: in a file, in a package, in the documentation; what is refused, and what fails a run."""

import re
from pathlib import Path

import pytest
from rich.console import Console

import binwright as bw
from binwright.analysis.results_api import Results
from binwright.cli import main
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.errors import ScenarioError, UserError
from tests.support import ROOT
from tests.support.batches import scenario
from tests.support.figures import NETWORK

HEAD = "from binwright import metric\n\n\n"
LONGEST = """
@metric(heading="longest queue", better="lower", meaning="Most requests that waited at once.")
def longest_queue(run):
    return run.samples["waiting"].max()
"""


def written(folder: Path, text: str) -> str:
    """Write a metric into a file, and return its name in a scenario."""
    file = folder / "mine.py"
    file.write_text(HEAD + text)
    function = re.findall(r"def (\w+)", text)[-1]
    return f"{file}:{function}"


def asking(*names: str, **changes: object) -> Scenario:
    return scenario(metrics=list(names), overflow="wait", **changes)


def test_a_metric_in_a_file_is_measured_and_shown_like_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "out"
    results = Batch(asking(written(tmp_path, LONGEST)), folder).run()
    assert results.failed.is_empty()
    assert (results.done["longest_queue"] > 0).any()
    (tmp_path / "mine.py").unlink()  # from here on only runs.parquet knows what it is
    results = Results(folder)
    assert "longest queue" in results.table().sheet.headings
    assert main(["compare", str(folder), "--metric", "longest_queue"]) == 0
    assert "longest queue, lower is better" in capsys.readouterr().out
    figure = results.figure("differences", metrics=["longest_queue"])
    assert [ax.get_xlabel().splitlines()[0] for ax in figure.axes] == ["longest queue"] * 2
    assert "longest queue" in results.report().read_text()


PLACES = """
@metric(heading="places", meaning="How many places requests had.")
def places(run):
    return len(run.places.server)
"""
NEEDS = """
@metric(heading="bill", meaning="Hours of servers.", needs=lambda run: run.bill)
def hours_of_servers(run, bill):
    return bill.on
"""


@pytest.mark.parametrize(("costs", "is_known"), [(None, False), ({}, True)])
def test_a_metric_is_empty_where_the_run_has_no_data_for_it(costs: object, is_known: bool, tmp_path: Path) -> None:
    metrics = [written(tmp_path, PLACES + NEEDS.replace("@metric", "\n@metric")), f"{tmp_path}/mine.py:places"]
    results = bw.run(
        bw.scenario(
            NETWORK | {"metrics": metrics, "costs": costs, "agents": ["random"], "replications": 1, "record": []}
        ),
        out=tmp_path / "out",
        jobs=1,
    )
    assert results.failed.is_empty()
    assert results.done["places"][0] > 0
    name = "hours_of_servers"
    assert (name in results.done.columns and results.done[name][0] is not None) == is_known


def test_an_edit_makes_the_runs_be_done_again(tmp_path: Path) -> None:
    def batch() -> Batch:
        return Batch(asking(written(tmp_path, text), replications=1), tmp_path / "out")

    text = LONGEST
    first = batch().run()
    assert len(batch().done()) == 2
    text = LONGEST.replace(".max()", ".max() + 100")
    assert batch().done() == {}
    assert (batch().run().runs["longest_queue"] - first.runs["longest_queue"]).to_list() == [100, 100]
    assert "longest_queue" not in Batch(asking(replications=1), tmp_path / "out").run().runs.columns


def test_a_metric_has_a_column_per_resource(tmp_path: Path) -> None:
    name = written(
        tmp_path,
        """
@metric(name="none_{}", per="resource", heading="none {}")
def none(run):
    return []
@metric(name="peak_{}", per="resource", heading="peak {}", unit="%", better="neither", meaning="largest share of {}")
def peak(run):
    return (run.samples["used"] / run.samples["capacity"]).max(axis=0)
""",
    )
    results = Batch(asking(name, name.replace(":peak", ":none"), replications=1), tmp_path / "out").run()
    assert 0 < results.runs["peak_mem"][0] <= 1
    shown = [(metric.name, metric.heading) for metric in results.metrics]
    place = [name for name, _ in shown].index("acceptance_mem") + 1  # in front, where no terminal is too narrow for it
    assert shown[place : place + 2] == [("peak_cpu", "peak cpu %"), ("peak_mem", "peak mem %")]
    console = Console(width=80, color_system=None)
    with console.capture() as capture:
        console.print(results.table().rich(80))
    assert "peak cpu" in " ".join(capture.get().split())  # the same for all agents: in the note


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("return run.samples['queue'].max()", r"metric longest_queue raised KeyError\('queue'\) at .*mine.py:7"),
        ("run.arrival[0] = 1", r"metric longest_queue raised ValueError\('assignment destination is read-only'\)"),
        ("return 'many'", "metric longest_queue returned 'many' for the column longest_queue, which is not a number"),
    ],
)
def test_a_metric_that_fails_fails_its_run(tmp_path: Path, line: str, says: str) -> None:
    text = LONGEST.replace('return run.samples["waiting"].max()', line)
    results = Batch(asking(written(tmp_path, text), replications=1), tmp_path / "out").run()
    assert len(results.failed) == 2
    assert re.match(says, results.failed["error"][0])


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("beter='lower'", r"unexpected keyword argument 'beter'"),
        ("better='low'", "better is higher or lower or neither"),
    ],
)
def test_an_option_that_a_metric_does_not_have_is_one_message(tmp_path: Path, option: str, says: str) -> None:
    with pytest.raises(UserError, match=rf"^.*cannot import this metric: .*{says}.*mine.py:5"):
        asking(written(tmp_path, LONGEST.replace('better="lower"', option)))


def test_metric_example_of_the_documentation_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "docs" / "results" / "results.md").read_text("utf-8")
    text = text[text.index("## A metric of your own") :]
    monkeypatch.chdir(tmp_path)
    for kind in ("python", "yaml"):
        [(name, block), *_] = re.findall(rf"```{kind}\n# (\S+)\n(.+?)```", text, re.DOTALL)
        Path(name).write_text(block)
    few = ["--set", "workload.requests=150", "--seeds", "1", "--agents", "first-fit,best-fit", "--jobs", "1"]
    assert main(["run", "queues.yaml", *few]) == 0
    assert main(["compare", "results/queues", "--metric", "longest_queue"]) == 0
    assert "longest queue, lower is better" in capsys.readouterr().out


def test_headline_metrics_are_ones_that_runs_have() -> None:
    with pytest.raises(ScenarioError, match=r"headline_metrics\.1: there is no such metric.*\n.*energy"):
        scenario(headline_metrics=["acceptance", "energie"])
