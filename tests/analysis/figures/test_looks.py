"""How figures look: venues, titles, and headings in place of names."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.figures import VENUES, Venue
from binwright.analysis.figures.kind import draw
from binwright.analysis.figures.style import heading, new, rendered, save, style
from binwright.analysis.results_api import Results
from binwright.cli import main
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.errors import ScenarioError
from tests.support.batches import TEXT, scenario
from tests.support.properties import first
from tests.support.results import row, write_results

AGENTS = ("first-fit", "best-fit", "worst-fit")
HEADINGS = {"first-fit": "First Fit", "cluster.servers": "Servers", "acceptance": "Accepted (%)"}


def made(folder: Path, message: str = "name: made\n", servers: tuple[int, ...] = (2, 4)) -> Results:
    """Make up results of three agents that differ by less than a hundredth, at two sizes."""
    rows = [
        row(agent, seed, point={"cluster.servers": size}, acceptance=0.9 + place / 200 + seed % 3 / 1000 + size / 1000)
        | {"run": f"{agent}{seed}{size}"}
        for size in servers
        for seed in range(6)
        for place, agent in enumerate(AGENTS)
    ]
    write_results(folder, rows)
    (folder / "scenario.yaml").write_text(message)
    return Results(folder)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return made(tmp_path_factory.mktemp("made"))


# -- styles --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", first(1, [name for name in VENUES if name != "house"]))
def test_a_venue_says_width_and_size_of_text(name: Venue, results: Results, tmp_path: Path) -> None:
    figure = draw(results, "sweep", style=name)
    assert figure.get_figwidth() == VENUES[name]["column"]
    assert draw(results, "sweep", style=name, width="page").get_figwidth() == VENUES[name]["page"]
    assert figure.axes[0].xaxis.label.get_fontsize() == {"report": 9, "slides": 16}.get(name, 8)
    again = draw(results, "sweep", style=name)
    assert save(figure, tmp_path / "one.svg").read_bytes() == save(again, tmp_path / "two.svg").read_bytes()


@pytest.mark.parametrize("name", VENUES)
def test_a_title_of_several_lines_ends_above_its_caption(name: Venue) -> None:
    with style(name):
        figure = new("column", 2)
        heading(figure, "first-fit accepts most, and so it goes on for lines", "small: mean and 95 % interval")
        figure.draw_without_rendering()
        title, caption = figure.texts
        top = title.get_window_extent().y1
        title.set_text(title.get_text().rstrip())
        assert caption.get_window_extent().y1 < top - title.get_window_extent().height


def test_figure_settings_of_the_scenario_yield_to_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "name: made\nfigures: {style: slides, titles: false, format: svg}\nseed: 1\n"
    results = made(tmp_path, text)
    figure = draw(results, "sweep")
    assert figure.axes[0].xaxis.label.get_fontsize() == 16
    assert figure.get_suptitle() == ""
    again = draw(results, "sweep", style="house")  # takes the place of all that the scenario says
    assert (again.axes[0].xaxis.label.get_fontsize(), bool(again.get_suptitle())) == (8, True)
    assert main(["figures", str(tmp_path), "--kind", "sweep"]) == 0
    assert (tmp_path / "figures" / "sweep.svg").is_file()
    assert "made: mean and 95 % interval over 6 seeds." in capsys.readouterr().out
    assert main(["figures", str(tmp_path), "--metric", "accepted"]) == 2, "the kinds that need none are not drawn"
    assert "--metric: there is no such metric (got 'accepted')" in capsys.readouterr().err
    file = tmp_path / "ieee.svg"
    assert main(["figures", str(tmp_path), "--kind", "sweep", "--style", "ieee", "--out", str(file)]) == 0
    assert file.read_bytes() == rendered(draw(results, "sweep", style="ieee"), "svg")
    assert draw([results, made(tmp_path / "other")], "sweep").get_suptitle() == ""


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("figures: {style: ieeee}", "Did you mean 'ieee'?"),
        ("figures: {size: 3x2}", "figures.size: this key is gone"),
        ("figures: {titles: maybe}", "figures.titles"),
        ("figures: {format: jpg}", "figures.format"),
    ],
)
def test_mistakes_in_the_scenario_are_named_with_their_line(message: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(f"{TEXT}{message}\n")
    with pytest.raises(ScenarioError) as error:
        load_scenario(tmp_path / "s.yaml")
    assert says in str(error.value)
    assert f"s.yaml:{len(TEXT.splitlines()) + 1}" in str(error.value)


# -- headings ------------------------------------------------------------------------------------------------------


def test_headings_stand_in_tables_comparisons_and_figures_and_names_in_csv(tmp_path: Path) -> None:
    sweep = {"product": {"cluster.servers": [2, 3]}}
    batch = Batch(scenario(sweep=sweep, headings=HEADINGS | {"of another day": "kept"}), tmp_path)
    results = batch.run()
    first, *rest = results.table().sheet.texts
    assert {*results.table().sheet.headings} >= {"Servers", "agent", "runs", "Accepted (%)"}
    assert first[1] == "First Fit"
    assert rest[0][1] == "worst-fit"
    for text in (results.compare().markdown(), results.compare().latex()):
        assert all(part in text for part in ("First Fit", "Servers", "Accepted"))
        assert "first-fit" not in text
    assert "\n2,first-fit,acceptance," in results.compare().csv()
    figure = draw(results, "sweep", metrics=["acceptance"])
    assert figure.axes[0].get_xlabel() == "Servers"
    shown = {
        "Waits (s)": ("Waits, s", [60, 120]),
        "Waits": ("Waits, min", [1, 2]),
        "Waits (all)": ("Waits (all), min", [1, 2]),
    }
    for name, (label, places) in shown.items():
        write_results(tmp_path / "times", [row("a", 0, point={"limit": limit}) for limit in ("60 s", "120 s")])
        times = Results(tmp_path / "times")
        times.columns = replace(times.columns, headings={"limit": name})
        axes = draw(times, "sweep", metrics=["acceptance"]).axes[0]
        assert (axes.get_xlabel(), list(np.asarray(axes.lines[0].get_xdata()))) == (label, places)
    assert figure.axes[0].get_ylabel() == "Accepted (%)"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["First Fit", "worst-fit"]
    bars = draw(results, "differences", metrics=["acceptance"])
    assert [tick.get_text() for tick in bars.axes[0].get_yticklabels()] == ["First Fit", "worst-fit"] * 2
    assert "Servers 2" in [text.get_text() for text in bars.axes[0].texts]
    together = Comparison([results, made(tmp_path / "other")], metrics=["acceptance"]).markdown()
    assert "First Fit" in together
    # Nothing is run again for the sake of words.
    assert len(Batch(scenario(sweep=sweep, headings={"first-fit": "Other"}), tmp_path).done()) == len(batch.runs)
