"""Every published value has a row; verdicts; experiments at their smallest, and interrupted."""

from __future__ import annotations

import base64
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import binwright as bw
from analysis.figures.lines import Line, Panel, lines
from binwright import cli
from binwright.reproduction import PUBLICATIONS
from binwright.reproduction.experiment import Count, publication
from binwright.reproduction.figures import Drawing, Material, of_kind, pictures
from binwright.reproduction.outcome import Made
from binwright.reproduction.published import everything, published
from binwright.reproduction.reproduce import completed, names_of
from binwright.reproduction.result import Reproduction
from binwright.reproduction.rows import row
from binwright.reproduction.running import Prepared, compared, prepare
from binwright.reproduction.verdict import Better, Value, Verdict, judge
from scenarios.schema.load import load_to_run
from simcore.errors import UserError, WorkloadError
from tests.support import ROOT
from workloads.traces.library import FOLDER, find

TRACES = ROOT.parent / "shared" / "traces"
NUMBERS = st.floats(-1e6, 1e6)
MADE = Made("binwright reproduce all", "2026-01-01", "a machine", 1.0)


def without_runs(name: str) -> Reproduction:
    whole = publication(name)
    return Reproduction((whole,), tuple(compared(whole, [])), MADE)


# -- what is published -------------------------------------------------------------------------------------------------


def test_all_published_values_are_read() -> None:
    found = Counter(one.publication for one in everything())
    assert found == {"nara": 188, "cvd-rl": 236, "wrasse": 52, "fgd": 144, "spane": 4}
    values = Counter((one.publication, one.table, one.condition, one.agent, one.metric) for one in everything())
    assert len(values) == 624 - 48
    assert {(key[0], key[4]) for key, rows in values.items() if rows > 1} == {("fgd", "gpu_allocated_percent")}
    assert [one.printed for one in everything() if one.value is None] == ["Adam", "6-layer MLP with ReLU"]
    assert everything()[0].conditions == {"demand": "uniform", "topology": "alpha"}


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_every_published_value_has_a_row_and_a_reason_also_where_nothing_ran(name: str) -> None:
    rows = without_runs(name).rows
    keys = [
        (one.table, one.condition, one.agent, one.metric) for one in published(name)
    ]  # as printed, whatever the order
    assert sorted(keys) == sorted(rows.select("table", "condition", "agent", "metric").rows())
    assert set(rows["verdict"]) == {"cannot be compared"}
    if name != "spane":
        assert all(why.endswith(".") for why in rows["why"])


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_what_is_declared_is_what_is_published(name: str) -> None:
    whole = publication(name)
    values = published(name)
    for experiment in whole.experiments:
        assert set(experiment.tables) <= {one.table for one in values}
        answered = [one for one in values if experiment.answers(one)]
        if isinstance(experiment, Count):
            assert {(one.condition, one.agent, one.metric) for one in answered} == experiment.keys
        else:
            assert {one.condition for one in answered} == set(experiment.conditions)
            for condition, asked in experiment.conditions.items():
                assert {one.agent for one in answered if one.condition == condition} == set(asked.agents)
    left = [one for one in values if not any(experiment.answers(one) for experiment in whole.experiments)]
    assert "No experiment answers this value." not in {whole.unanswered(one) for one in left}


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_scenarios_that_are_named_load(name: str) -> None:
    for experiment in publication(name).experiments:
        if not isinstance(experiment, Count):
            condition = list(experiment.conditions.values())[-1]
            agents = f"agents=[{', '.join(dict.fromkeys(condition.agents.values()))}]"
            assert load_to_run(experiment.scenario, [*condition.overrides, agents])


# -- verdicts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "more", "verdict", "why"),
    [
        (Value(0.71, None, None, 1), {}, "within", "same number"),
        (Value(0.73, None, None, 1), {"spread": 0.02}, "within", "published spread is 0.02"),
        (Value(0.73, None, None, 1), {"tolerance": 0.05}, "within", "differ by 2.8 %, and .* to 5 %"),
        (Value(0.80, 0.70, 0.90, 9), {}, "within", "interval, which is wide, meets the published value"),
        (Value(0.76, 0.70, 0.82, 9), {}, "within", "interval meets the published value"),
        (Value(0.80, 0.74, 0.86, 9), {"spread": 0.05}, "within", "interval meets the published spread"),
        (Value(0.80, 0.79, 0.81, 9), {"spread": 0.01, "tolerance": 0.05}, "better", "higher by 12.7 %, and higher"),
        (Value(0.80, 0.79, 0.81, 9), {"better": "lower"}, "worse", "higher by 12.7 %, and lower is better"),
        (Value(0.60, None, None, 1), {}, "worse", "lower by 15.5 %"),
    ],
)
def test_verdicts(ours: Value, more: dict[str, object], verdict: str, why: str) -> None:
    asked = {"spread": None, "better": "higher"} | more
    found, said = judge(0.71, ours=ours, **asked)  # type: ignore[arg-type]
    assert found == verdict
    assert re.search(why, said)


@given(NUMBERS, NUMBERS, st.none() | st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 0.5))
def test_a_verdict_depends_on_the_distance_and_the_direction_alone(
    value: float, mean: float, spread: float | None, half: float, tolerance: float
) -> None:
    ours = Value(mean, mean - half, mean + half, 5)
    ways: tuple[Better, ...] = ("higher", "lower")
    found = {better: judge(value, spread, ours, better, tolerance)[0] for better in ways}
    if Verdict.WITHIN in found.values():
        assert set(found.values()) == {Verdict.WITHIN}
    else:
        assert set(found.values()) == {Verdict.WORSE, Verdict.BETTER}
        assert found["higher"] == (Verdict.BETTER if mean > value else Verdict.WORSE)
        assert abs(mean - value) > max(half, spread or 0, tolerance * abs(value)) * (1 - 1e-9)
    closer = Value((mean + value) / 2, mean - half, mean + half, 5)
    if found["higher"] == Verdict.WITHIN:
        assert judge(value, spread, closer, "higher", tolerance)[0] == Verdict.WITHIN


def test_what_says_that_it_cannot_be_compared_has_no_other_verdict() -> None:
    one = published("nara")[0]
    experiment = publication("nara").experiments[0]
    assert row(one, Value(0.71, None, None, 1), experiment=experiment).verdict == "within"
    assert row(one, Value(0.71, None, None, 1), experiment=experiment, why="No.").verdict == "cannot be compared"
    assert row(one, None, experiment=experiment).ours is None


# -- pages -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """Everything that takes no time, with a miss."""
    folder = tmp_path_factory.mktemp("counted")
    prepared = [one for one in prepare(["wrasse"], "full", folder) if one.experiment.name == "lines"]
    return completed(["wrasse"], prepared, "full", 1, lambda row: None)


def test_misses_come_first_everywhere(counted: Reproduction, tmp_path: Path) -> None:
    assert counted.rows["verdict"][0] == "worse"
    order = [list(Verdict).index(Verdict(verdict)) for verdict in counted.rows["verdict"]]
    assert order == sorted(order)
    text = counted.text()
    assert text.index("Worse than published") < text.index("Table 2: lines of specifications")
    report, page = (file.read_text("utf-8") for file in counted.write(tmp_path))
    assert page.startswith("# Wrasse: published and ours\n")
    assert page.index("## Worse than published") < page.index("## Table 2")
    for shown in (page, report):
        assert shown.count("lines of specification") >= 4
        assert "No specification that joins virtual data centres and jobs is shipped." in shown
    assert not any(one.quick for one in counted.listed)


def test_the_report_is_whole(counted: Reproduction, tmp_path: Path) -> None:
    open_tags: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("meta", "circle", "line", "!doctype"):
                open_tags.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert tag in ("circle", "line") or open_tags.pop() == tag

    text = counted.write(tmp_path)[0].read_text("utf-8")
    Reader().feed(text)
    assert not open_tags
    assert "<figure>" in text
    assert "http" not in text


# -- figures -----------------------------------------------------------------------------------------------------------


def one_line(given: Material) -> Figure:
    points = [(1.0, 0.5, 0.4, 0.6), (2.0, 0.7, None, None)]
    return lines([Panel([Line("tetris", points), Line("nara", points, published=True)], "x", "y")], "title")


def missing(given: Material) -> Figure:
    return of_kind("bars", ("fabrics", "a condition"))(given)


def test_figures_are_in_the_report_and_beside_the_pages(tmp_path: Path) -> None:
    drawings = (
        Drawing("2", "lines", "Lines & dashes", one_line, "Published are two."),
        Drawing("3 to 5", "missing", "Bars", missing),
    )
    whole = publication("fgd")
    given = Material(missing={("fabrics", "a condition"): "The trace is not there."})
    found = Reproduction((whole,), tuple(compared(whole, [])), MADE, tuple(pictures("fgd", drawings, given)))
    report, page = (file.read_text("utf-8") for file in found.write(tmp_path, tmp_path / "pages"))
    file = tmp_path / "pages" / "figures" / "fgd-lines.svg"
    assert "](figures/fgd-lines.svg)" in page
    assert base64.b64encode(file.read_bytes()).decode() in report
    assert "dashes: published" in file.read_text("utf-8")
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    for shown in (page, report, found.text()):
        assert "Figures 3 to 5" in shown
        assert "The trace is not there." in shown
    assert "Published are two." in page
    assert "1 of 2 figures" in found.text()
    again = pictures("fgd", drawings, given)
    assert [one.content for one in again] == [one.content for one in found.pictures]


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_figures_have_names_of_their_own_and_reasons_where_nothing_ran(name: str) -> None:
    drawings = publication(name).figures
    assert len({one.name for one in drawings}) == len(drawings)
    for one in pictures(name, drawings, Material()):
        assert bool(one.content) is not bool(one.why)
        assert len(one.content) < 300_000


# -- runs --------------------------------------------------------------------------------------------------------------


def small(name: str, experiment: str, part: str, out: Path) -> list[Prepared]:
    """Prepare the conditions of an experiment that have `part` in their name, at their smallest."""
    (found,) = (one for one in prepare([name], "smallest", out) if one.experiment.name == experiment)
    found.batches = {condition: batch for condition, batch in found.batches.items() if part in condition}
    return [found]


def test_an_experiment_at_its_smallest(tmp_path: Path) -> None:
    prepared = small("nara", "fabrics", "demand=uniform;topology=beta", tmp_path)
    found = completed(["nara"], prepared, "smallest", 1, lambda row: None)
    has = [one for one in found.listed if one.ours is not None]
    assert {one.table for one in has} == {"1", "3", "6"}
    assert len(has) == 5 + 10 + 6
    assert all(one.quick and one.seeds == 2 for one in has)
    assert "quick" in found.text()
    assert "No weights are shipped that were trained on beta" in found.text()


def test_what_is_interrupted_goes_on(tmp_path: Path) -> None:
    seen: list[object] = []

    def interrupt(row: object) -> None:
        seen.append(row)
        if len(seen) == 3:
            raise KeyboardInterrupt

    part = "demand=uniform;topology=beta"
    with pytest.raises(KeyboardInterrupt):
        completed(["nara"], small("nara", "fabrics", part, tmp_path), "smallest", 1, interrupt)
    again = small("nara", "fabrics", part, tmp_path)
    assert len(again[0].batches[part].done()) == 3
    seen.clear()
    completed(["nara"], again, "smallest", 1, seen.append)
    assert len(seen) == 2 * 6
    assert len(again[0].batches[part].done()) == 2 * 6


def test_what_was_counted_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [one for one in prepare(["wrasse"], "full", tmp_path) if one.experiment.name == "lines"]
    first = completed(["wrasse"], lines, "full", 1, lambda row: None)
    file = tmp_path / "wrasse" / "lines" / "values.json"
    kept = file.read_text()
    file.write_text(kept.replace("[9.0", "[8.0"))
    again = [one for one in prepare(["wrasse"], "full", tmp_path) if one.experiment.name == "lines"]
    second = completed(["wrasse"], again, "full", 1, lambda row: None)
    assert [one.ours for one in first.listed] != [one.ours for one in second.listed] or "[9.0" not in kept
    file.write_text("{")
    third = completed(["wrasse"], again, "full", 1, lambda row: None)
    assert [one.ours for one in first.listed] == [one.ours for one in third.listed]


def test_a_trace_that_is_not_here_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    found = bw.reproduce("spane", quick=True, out=tmp_path / "out", jobs=1)
    assert set(found.rows["verdict"]) == {"cannot be compared"}
    assert found.rows["why"][0] == "It cannot be run here: the file of this trace was not found (got 'huawei-east-1')."
    assert str(tmp_path) not in found.text()


def test_what_cannot_be_run_is_said_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    assert cli.main(["reproduce", "spane", "--dry-run", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert said.startswith("cannot be run here: spane waits: workload.trace: the file of this trace was not found")
    assert "Get it from" in said
    assert "0 runs" in said


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(FOLDER, str(tmp_path))
    assert cli.main(["reproduce", "fgd", "--quick", "--pages", "docs"]) == 0
    said = capsys.readouterr().out
    assert "FGD: 144 cannot be compared" in said
    assert sorted(file.name for file in Path("docs").iterdir()) == ["reproduction-fgd.md"]
    assert Path("results/reproduce/report.html").is_file()
    assert cli.main(["reproduce", "wrase"]) == cli.MISTAKE
    assert "wrasse" in capsys.readouterr().err
    assert cli.main(["reproduce", "fgd", "--out", ""]) == cli.MISTAKE


def test_all_are_all() -> None:
    assert names_of("all") == PUBLICATIONS
    with pytest.raises(UserError, match="no publication"):
        names_of("everything")


@pytest.mark.long
@pytest.mark.parametrize("name", PUBLICATIONS)
def test_every_experiment_at_its_smallest(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if TRACES.is_dir():
        monkeypatch.setenv(FOLDER, str(TRACES))
    if trace := {"spane": "huawei-east-1", "cvd-rl": "huawei-east-1", "fgd": "alibaba-openb"}.get(name):
        try:
            find(trace, None)
        except WorkloadError as error:
            pytest.skip(str(error))
    prepared = prepare([name], "smallest", tmp_path)
    found = completed([name], prepared, "smallest", 1, lambda row: None)
    assert not any(one.problems or one.failed for one in prepared)
    for one in prepared:
        assert one.values
    assert len(found.listed) >= len(published(name))
    assert found.write(tmp_path / "pages")
