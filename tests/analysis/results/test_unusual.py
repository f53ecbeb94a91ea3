"""Unusual results and wrong requests: what is shown of them, what is refused, and that nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.figures import FIGURES, style
from binwright.analysis.figures.draw import draw
from binwright.analysis.results.escaping import cut
from binwright.analysis.results_api import Results
from binwright.cli import main
from tests.support.properties import first
from tests.support.results import row, write_results


def made(folder: Path, rows: list[dict[str, Any]], said: str = "name: made\n") -> Results:
    write_results(folder, rows)
    (folder / "scenario.yaml").write_text(said)
    return Results(folder)


def drawn(agents: list[str], seeds: int = 6, **more: Any) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    return [row(agent, seed, acceptance=rng.random(), **more) for agent in agents for seed in range(seeds)]


@pytest.mark.parametrize(
    "name", ["runs.parquet", "columns.json", "journal.jsonl", "scenario.yaml", "details/a.parquet"]
)
@pytest.mark.parametrize("journal", [True, False])
def test_an_export_never_overwrites_results(
    name: str, journal: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path / "r", drawn(["a", "b"]))
    if journal:
        (tmp_path / "r" / "journal.jsonl").write_text("{}\n")
    before = {path: path.read_bytes() for path in (tmp_path / "r").iterdir()}
    for form in ("csv", "json"):
        assert main(["export", str(tmp_path / "r"), "--to", form, "--out", str(tmp_path / "r" / name)]) == 2
        assert "is a part of results, and would be overwritten" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in (tmp_path / "r").iterdir()} == before
    assert main(["export", str(tmp_path / "r"), "--to", "csv"]) == 0


@pytest.mark.parametrize("value", first(1, [float("nan"), float("inf"), 1e300]))
def test_a_metric_without_any_number_is_none_in_figures_and_report(value: float, tmp_path: Path) -> None:
    rows = drawn(["a", "b", "c"])
    for agents in ("b", "abc"):
        results = made(tmp_path, [one | ({"acceptance": value} if one["agent"] in agents else {}) for one in rows])
        assert results.done["acceptance"].null_count() == 6 * len(agents)
        figure = draw(results, "bars", metrics=["acceptance", "hours"])
        assert len(figure.axes[0].lines) + len(figure.axes[0].patches) > 0 or agents == "abc"
        assert results.table().texts()[1][2] == "-" or agents == "abc"

    assert main(["report", str(tmp_path)]) == 0


def test_names_of_any_length_are_told_apart(tmp_path: Path) -> None:
    """They begin alike and end in their options: what is left out is in their middle."""
    agents = ["an-agent(" + "x" * 300 + end for end in ("=1)", "=2)", "=3)")]
    results = made(tmp_path, [one | {"allocation_cpu": one["acceptance"] ** 2} for one in drawn(agents)])
    for kind in ("bars", "summary", "differences", "critical-difference", "pareto"):
        draw(results, kind, **({"metrics": ["acceptance"]} if kind == "bars" else {}))
    names = [tick.get_text() for tick in draw(results, "bars", metrics=["acceptance"]).axes[0].get_yticklabels()]
    assert [name[-3:] for name in names] == ["=1)", "=2)", "=3)"]
    assert all(len(name) == 32 and name.startswith("an-agent(") for name in names)
    for found in (results.table(), Comparison(results, metrics=["acceptance"])):
        console = Console(width=80, color_system=None)
        with console.capture() as capture:
            console.print(found.rich(80))
        lines = [line for line in capture.get().splitlines() if line.strip().startswith("an-ag")]
        assert ["=1)" in line for line in lines[:3]] == [True, False, False]
        assert len({line.split()[0] for line in lines[:3]}) == 3
        assert all(len(line) <= 80 for line in lines)


@pytest.mark.parametrize(("most", "wanted"), [(9, "abcdefghi"), (8, "abcd…ghi"), (3, "a…i"), (2, "a…"), (1, "…")])
def test_texts_are_cut_in_their_middle(most: int, wanted: str) -> None:
    assert cut("abcdefghi", most) == wanted


def test_a_figure_without_room_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And is named: pareto has no room for the legend of so many agents."""
    monkeypatch.setattr(FIGURES, "_all", {kind: FIGURES._targets()[kind] for kind in ("pareto", "bars")})
    rows = drawn([f"agent-with-a-long-name-{n}" for n in range(48)])
    made(tmp_path / "r", [one | {"allocation_cpu": one["acceptance"] ** 2} for one in rows])
    assert main(["figures", str(tmp_path / "r"), "--kind", "all", "--out", str(tmp_path / "f")]) == 0
    said = capsys.readouterr().out
    assert "pareto: 3.5 x 2.9 inches have no room for this figure" in said
    assert [path.name for path in (tmp_path / "f").iterdir()] == ["bars.png"]
    assert main(["figures", str(tmp_path / "r"), "--kind", "pareto", "--out", str(tmp_path / "g")]) == 2
    assert not (tmp_path / "g").exists()


@pytest.mark.parametrize(
    "said", first(2, [b"\xff\xfe", b"figures: [1]\nheadings: 3\nname: [1]\n", b"name: {a: 1}\ndescription: 3\n"])
)
def test_a_scenario_that_is_no_scenario_any_more_takes_no_figure_away(said: bytes, tmp_path: Path) -> None:
    made(tmp_path, drawn(["a", "b"]))
    (tmp_path / "scenario.yaml").write_bytes(said)
    assert main(["figures", str(tmp_path), "--kind", "bars", "--out", str(tmp_path / "f")]) == 0
    assert main(["report", str(tmp_path)]) == 0


@pytest.mark.parametrize("said", ["style: 3", "text: [a]", "titles: maybe", "size: {a: 1}", "width: 2"])
def test_a_look_that_is_none_is_named(said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(tmp_path, drawn(["a", "b"]), f"figures: {{{said}}}\n")
    assert main(["figures", str(tmp_path), "--kind", "bars"]) == 2
    assert f"figures.{said.partition(':')[0]}: says no such thing" in capsys.readouterr().err


def test_signs_that_the_font_does_not_have_are_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(style, "_TOLD", set())
    made(tmp_path, drawn(["最佳", "最差", "c"]))
    assert main(["figures", str(tmp_path), "--kind", "bars", "--kind", "differences", "--font", "DejaVu Sans"]) == 0
    assert [record.message for record in caplog.records] == [
        "The font of the figures does not have 佳 差 最. Name another one with --font."
    ]
    caplog.clear()
    assert main(["figures", str(tmp_path), "--kind", "bars", "--format", "svg"]) == 0  # a reader has other fonts
    assert not caplog.records


def test_where_takes_several_values_of_a_key_and_numbers_however_they_are_written(tmp_path: Path) -> None:
    rows = [row("a", seed, point={"k": k}) | {"run": f"{k}{seed}"} for k in (1, 2, 3) for seed in range(3)]
    results = made(tmp_path, rows)
    bars = draw(results, "bars", where=[("k", "1.0"), ("k", "3")]).axes[0].get_yticks()
    assert len(bars) == 2
    assert main(["figures", str(tmp_path), "--kind", "bars", "--where", "seed=0", "--where", "seed=2"]) == 0
    assert main(["figures", str(tmp_path), "--kind", "bars", "--where", "k=1", "--where", "k=4"]) == 2


def test_an_empty_heading_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(tmp_path, drawn(["a", "b"]))
    for command in (["compare", str(tmp_path)], ["figures", str(tmp_path), "--kind", "bars"]):
        assert main([*command, "--heading", "a= "]) == 2
        assert "--heading a= : has no text" in capsys.readouterr().err
