"""`Comparison` and `binwright compare`: pairs, corrections and verdicts, several folders, what is written."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from rich.console import Console
from scipy import stats as reference

from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.compare.statistics import corrected_ends
from binwright.analysis.results_api import Results, load_many
from binwright.cli import main
from binwright.simcore.errors import UserError
from tests.reference.stats import holm_slowly
from tests.support.properties import scaled
from tests.support.results import failed, row, write_results

RNG = np.random.default_rng(11)


def results(folder: Path, rows: list[dict[str, Any]], name: str | None = None) -> Results:
    folder.mkdir(parents=True, exist_ok=True)
    if name is not None:
        (folder / "scenario.yaml").write_text(f"name: {name}\ncluster: {{}}\n")
    write_results(folder, rows)
    return Results(folder)


def runs(numbers: dict[str, list[float]], metric: str = "acceptance") -> list[dict[str, Any]]:
    """A run for every agent and seed from 0 on."""
    return [row(agent, seed) | {metric: x} for agent, actual in numbers.items() for seed, x in enumerate(actual)]


def only(comparison: Comparison, agent: str, metric: str = "acceptance", **where: Any) -> dict[str, Any]:
    """The one row of an agent."""
    result = comparison.frame.filter(pl.col("agent") == agent, pl.col("metric") == metric)
    for key, value in where.items():
        result = result.filter(pl.col(key) == value)
    assert len(result) == 1
    each: dict[str, Any] = result.row(0, named=True)
    return each


# -- the numbers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [5, 6, 10])
def test_every_number_is_what_scipy_says(tmp_path: Path, n: int) -> None:
    base = RNG.normal(0.5, 0.1, n)
    numbers = {"base": base, "up": base + RNG.normal(0.1, 0.05, n), "noise": RNG.normal(0.5, 0.1, n)}
    result = Comparison(results(tmp_path, runs({agent: list(some) for agent, some in numbers.items()})))
    assert (result.baseline, result.agents, result.keys) == ("base", list(numbers), [])
    for agent in ("up", "noise"):
        folder, values = only(result, agent), numbers[agent]
        low, high = reference.t.interval(0.95, n - 1, values.mean(), reference.sem(values))
        assert (folder["n"], folder["pairs"], folder["interval"]) == (n, n, "t")
        assert (folder["mean"], folder["low"], folder["high"]) == pytest.approx((values.mean(), low, high))
        assert folder["diff"] == pytest.approx((values - base).mean(), rel=1e-6)
        assert folder["relative"] == pytest.approx(100 * (values - base).mean() / base.mean())
    tests = {"t": reference.ttest_rel, "wilcoxon": reference.wilcoxon}
    test = "wilcoxon" if n == 10 else "t"  # three comparisons: 3 x 2^-5 is above .05, 3 x 2^-9 is not
    every = (("up", "base"), ("noise", "base"), ("up", "noise"))
    p = [float(tests[test](numbers[agent], numbers[other]).pvalue) for agent, other in every]
    rows = [only(result, agent) for agent in ("up", "noise")]
    assert {folder["test"] for folder in rows} == {test}
    assert [folder["p_alone"] for folder in rows] == pytest.approx(p[:2], rel=1e-6)
    corrected = holm_slowly(p)[:2]
    assert [folder["p"] for folder in rows] == pytest.approx(corrected, rel=1e-6)
    for folder, alone, adjusted in zip(rows, p, corrected, strict=False):
        values = numbers[folder["agent"]] - base
        level = 0.05 * alone / adjusted if adjusted < 1 else 0.05 / 3
        wanted = corrected_ends(values, level, ranks=test == "wilcoxon")
        assert (folder["diff_low"], folder["diff_high"]) == pytest.approx(wanted, rel=1e-6)


whole = st.lists(st.lists(st.integers(0, 5), min_size=9, max_size=9), min_size=2, max_size=4)


@given(whole)
def test_zero_lies_within_the_interval_only_of_what_does_not_differ(values: list[list[int]]) -> None:
    groups = {f"a{number}": [float(each) for each in group] for number, group in enumerate(values)}
    with TemporaryDirectory() as folder:
        frame = Comparison(results(Path(folder), runs(groups)), metrics=["acceptance"]).frame
    for each in frame.filter(pl.col("p").is_not_null()).iter_rows(named=True):
        assert each["diff_low"] <= each["diff"] <= each["diff_high"]
        if each["verdict"] == "not significant":
            assert each["diff_low"] <= 0 <= each["diff_high"]
        else:
            assert each["diff_low"] * each["diff_high"] >= 0
            assert each["test"] == "wilcoxon" or 0 not in (each["diff_low"], each["diff_high"])


drawn = st.lists(
    st.tuples(st.sampled_from([1, 2]), st.sampled_from("abc"), st.integers(1, 9), st.none() | st.integers(0, 6)),
    max_size=30,
    unique_by=lambda one: one[:3],
)


@given(drawn, st.randoms(use_true_random=False))
@scaled(0.4)
def test_rows_in_any_order_and_either_agent_as_the_baseline(proposal: list[tuple[Any, ...]], luck: Any) -> None:
    proposal = [*((1, agent, 0, 3) for agent in "abc"), *proposal]
    rows = [row(agent, seed, point={"key": key}, acceptance=x) for key, agent, seed, x in proposal]
    with TemporaryDirectory() as folder:
        comparison = Comparison(results(Path(folder), rows), "a", ["acceptance"], all_pairs=True)
        luck.shuffle(rows)
        shuffled = results(Path(folder), rows)
    turned = [Comparison(shuffled, agent, ["acceptance"], all_pairs=True) for agent in "bc"]
    other = Comparison(shuffled, "a", ["acceptance"], all_pairs=True)
    assert_frame_equal(comparison.frame, other.frame, check_row_order=False)
    for back in turned:
        both = comparison.frame.filter(agent=back.baseline).join(back.frame.filter(agent="a"), on="key", suffix="_back")
        assert both["pairs"].to_list() == both["pairs_back"].to_list()
        for name in ("p", "p_alone"):
            assert both[name].to_list() == pytest.approx(both[f"{name}_back"].to_list())
        assert both["diff"].to_list() == pytest.approx((-both["diff_back"]).to_list())


# -- what is missing ---------------------------------------------------------------------------------------------------


def test_one_seed_has_a_difference_and_nothing_is_told(tmp_path: Path) -> None:
    comparison = Comparison(results(tmp_path, runs({"a": [0.5], "b": [0.75]})))
    machines = only(comparison, "b")
    assert (machines["n"], machines["pairs"], machines["mean"], machines["diff"], machines["relative"]) == (
        1,
        1,
        0.75,
        0.25,
        50,
    )
    nulls = ("half", "low", "high", "interval", "diff_low", "p", "p_alone", "test")
    assert [machines[name] for name in nulls] == [None] * len(nulls)
    assert machines["verdict"] == "not tested"
    assert comparison.legend.startswith("One seed")


def test_pairs_are_the_seeds_that_both_finished(tmp_path: Path) -> None:
    rows = runs({"a": [0.1, 0.2, 0.3, 0.4]}) + [row("b", seed, acceptance=0.5) for seed in (2, 3, 8)]
    rows += [failed("b", 0), failed("b", 1)]
    comparison = Comparison(results(tmp_path, rows))
    each = only(comparison, "b")
    assert (each["n"], each["failed"], each["pairs"]) == (3, 2, 2)
    assert each["diff"] == pytest.approx(0.15)
    assert "2 failed runs left out" in comparison.legend
    assert "3/5 (2 pairs)" in comparison.markdown()


def test_when_every_run_failed_there_is_nothing_to_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = Comparison(results(tmp_path, [failed("a", 0), failed("b", 0)]))
    assert result.markdown() == "No run finished: there is nothing to compare.\n"
    assert len(result.frame) == 0
    rendered(result, 80)
    assert r"\bottomrule" in result.latex()
    assert main(["compare", str(tmp_path)]) == 2
    assert "every run failed" in capsys.readouterr().err


MISTAKES: list[tuple[list[dict[str, Any]], dict[str, Any], str]] = [
    (runs({"a": [0.5], "best-fit": [0.5]}), {"baseline": "bestfit"}, r"was not run \(got 'bestfit'\)\n.*'best-fit'"),
    ([row(agent, 0, point={"key": 1}) for agent in "ab"], {"baseline": "1/a"},
     r"Known: a, b. To compare points, run one agent alone: binwright run FILE --agents a --out DIR"),
    (runs({"a": [0.5]}), {"metrics": ["aceptance"]}, r"no such metric \(got 'aceptance'\)\n.*'acceptance'"),
    (runs({"a": [0.5]}), {"metrics": ["status"]}, "no such metric"),
    ([*runs({"a": [0.5]}), row("b", 7)], {}, "unpaired seeds.*'a' finished no point and seed"),
    ([failed("a", 0), row("b", 0)], {}, "unpaired seeds.*'a' finished no point and seed"),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "arguments", "message"), MISTAKES)
def test_mistakes_are_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    rows: list[dict[str, Any]],
    arguments: dict[str, Any],
    message: str,
) -> None:
    result = results(tmp_path, rows)
    with pytest.raises(UserError, match=f"(?s){message}"):
        Comparison(result, **arguments)
    options = ["--baseline", arguments["baseline"]] if "baseline" in arguments else []
    options += [word for name in arguments.get("metrics", []) for word in ("--metric", name)]
    assert main(["compare", str(tmp_path), *options]) == 2
    assert re.search(message, capsys.readouterr().err, re.DOTALL)


# -- several folders ---------------------------------------------------------------------------------------------------


def named(rows: list[dict[str, Any]], mark: str) -> list[dict[str, Any]]:
    """The same rows as other runs: what another setting gives."""
    return [each | {"run": f"{each['run']}{mark}"} for each in rows]


def test_folders_of_one_scenario_are_compared_on_its_seeds(tmp_path: Path) -> None:
    results(tmp_path / "one", runs({"a": [0.1, 0.2], "b": [0.3, 0.5]}), "s")
    results(tmp_path / "two", runs({"c": [0.2, 0.4]}), "s")
    comparison = Comparison(load_many([tmp_path / "one", tmp_path / "two"]))
    assert (comparison.agents, comparison.keys) == (["a", "b", "c"], [])
    assert (only(comparison, "c")["pairs"], only(comparison, "c")["diff"]) == (2, pytest.approx(0.15))


def test_agents_are_told_apart_by_folder_where_they_must_be(tmp_path: Path) -> None:
    results(tmp_path / "old", runs({"a": [0.1, 0.2], "b": [0.3, 0.5]}), "s")
    results(tmp_path / "new", named(runs({"a": [0.2, 0.3], "c": [0.3, 0.3]}), "new"), "s")
    several = load_many([tmp_path / "old", tmp_path / "new"])
    comparison = Comparison(several, "a")
    assert comparison.agents == ["old/a", "old/b", "new/a", "new/c"], (
        "of another cluster, c would seem to be of this one"
    )
    assert only(comparison, "old/a")["verdict"] == "baseline"
    assert only(comparison, "new/a")["diff"] == pytest.approx(0.1)
    assert only(Comparison(several, "b"), "old/b")["verdict"] == "baseline"
    assert Comparison(several, "new/a").frame.filter(verdict="baseline")["agent"].unique().to_list() == ["new/a"]


# -- what is written ---------------------------------------------------------------------------------------------------


def rendered(comparison: Comparison, width: int, *, whole: bool = True) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(comparison.rich(width, whole=whole))
    return capture.get()


def test_times_of_a_column_are_in_one_unit(tmp_path: Path) -> None:
    numbers = {"a": [100.0, 110], "b": [400.0, 405], "c": [160.0, 180]}
    [sheet] = Comparison(results(tmp_path, runs(numbers, "wait_mean")), metrics="wait_mean").sheets()
    for column in (1, 2):
        units = {row[column].text.split()[-1] for row in sheet.rows} - {"baseline"}
        assert units == {"s"}


def test_a_terminal_shows_headlines_and_harm_unless_all_are_wanted(tmp_path: Path) -> None:
    rows = [
        row(agent, seed, acceptance=0.9 + bonus, acceptance_cpu=0.8 + bonus, lost=bonus, allocation_cpu=0.5 + bonus)
        for seed in range(5)
        for agent, bonus in (("a", seed / 100), ("b", 0.02 + seed / 90))
    ]
    comparison = results(tmp_path, rows).compare()
    titles = [sheet.title.partition(",")[0] for sheet in comparison.sheets(whole=False)]
    assert titles == ["accepted %", "lost", "accepted cpu %"]
    assert "--all has cpu %, µs/decision." in " ".join(rendered(comparison, 80, whole=False).split())
    assert "--all" not in rendered(comparison, 80)
    assert "cpu %, higher is better" in comparison.markdown()
    (tmp_path / "scenario.yaml").write_text("name: made\nheadline_metrics: [allocation_cpu]\n")
    titles = [sheet.title.partition(",")[0] for sheet in Results(tmp_path).compare().sheets(whole=False)]
    assert titles == ["cpu %", "lost", "accepted %", "accepted cpu %"], "headlines of one's own do not hide these"
    comparison = Comparison(results(tmp_path, rows), metrics=["allocation_cpu"])
    assert [sheet.title.partition(",")[0] for sheet in comparison.sheets(whole=False)] == ["cpu %"]


# -- the command -------------------------------------------------------------------------------------------------------


def test_compare_prints_and_writes_as_the_file_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = results(tmp_path / "r", runs({"a": [0.5, 0.6], "b": [0.7, 0.75]}))
    command = ["compare", str(tmp_path / "r"), "--baseline", "b", "--metric", "acceptance"]
    wanted = result.compare("b", ["acceptance"])
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "accepted %" in printed
    assert "baseline" in printed
    for ending, text in (("md", wanted.markdown()), ("csv", wanted.csv()), ("tex", wanted.latex())):
        file = tmp_path / "new" / f"table.{ending}"
        assert main([*command, "--out", str(file)]) == 0
        assert file.read_text("utf-8") == text
    capsys.readouterr()
    (tmp_path / "folder.csv").mkdir()
    assert main([*command, "--out", str(tmp_path / "folder.csv")]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert main([*command, "--out", str(tmp_path / "table.xyz")]) == 2
    assert "End it with .md, .csv or .tex" in capsys.readouterr().err


# -- results that something happened to --------------------------------------------------------------------------------


JOURNAL = '{"run": "a0", "status": "done"}\n{"run": "a1", "status": "failed"}\n{"run": "a0", "status": "done"}\n{"ru'


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "there are no results here\n  Name the folder that `binwright run` wrote"),
        ({"journal.jsonl": JOURNAL},
         "this batch is unfinished: it has no runs.parquet yet\n  Run the scenario again .*takes finished runs"),
        ({"runs.parquet": ""}, "not a readable Parquet.*with this version"),
        ({"runs.parquet": "PAR1", "journal.jsonl": JOURNAL},
         "not a readable.*: it takes finished runs from journal.jsonl."),
        ({"journal.jsonl": JOURNAL, "scenario.yaml": "name: x"},
         "takes finished runs from journal.jsonl: binwright run (/.*)/scenario.yaml --out \\1.\n"),
    ],
)  # fmt: skip
def test_spoilt_folders_say_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str], message: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert main(["compare", str(tmp_path)]) == 2
    assert re.search(message, capsys.readouterr().err, re.DOTALL)


@pytest.mark.parametrize(
    ("metric", "verdicts"),
    [
        ("acceptance", ("better", "worse")),
        ("decision_us", ("worse", "better")),
        ("hours", ("more", "less")),  # neither way is better
    ],
)
def test_verdicts_know_which_way_is_better(tmp_path: Path, metric: str, verdicts: tuple[str, str]) -> None:
    base = list(RNG.normal(1, 0.1, 8))
    numbers = {
        "base": base,
        "up": [x + 0.1 + RNG.normal(0, 0.01) for x in base],
        "down": [x - 0.1 + RNG.normal(0, 0.01) for x in base],
        "same": base,
    }
    comparison = Comparison(results(tmp_path, runs(numbers, metric)), metrics=[metric])
    reported = tuple(only(comparison, agent, metric)["verdict"] for agent in ("up", "down", "same"))
    assert reported == (*verdicts, "not significant")


def test_values_that_are_none_are_not_counted(tmp_path: Path) -> None:
    numbers = {"a": [0.1, 0.2, float("nan"), 0.4], "b": [0.2, None, 0.1, float("inf")]}
    answer = only(Comparison(results(tmp_path, runs(numbers))), "b")  # type: ignore[arg-type]
    assert (answer["n"], answer["pairs"], answer["diff"]) == (2, 1, pytest.approx(0.1))
