"""How figures look: venues, styles of matplotlib, sizes, fonts, titles, and headings in place of names."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import matplotlib.colors as colors
import numpy as np
import polars as pl
import pytest
import yaml

from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.figures.chosen_style import style, style_of
from binwright.analysis.figures.draw import draw, image
from binwright.analysis.figures.lightness import INK, PAGE, on_dark
from binwright.analysis.figures.style import COLOURS, FORMATS, looks, save, shades
from binwright.analysis.figures.venues import VENUES, inches
from binwright.analysis.report.page import Drawn
from binwright.analysis.results_api import Results
from binwright.cli import main
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.errors import ResultsError, ScenarioError, UserError
from tests.support.batches import TEXT, data, scenario
from tests.support.properties import first
from tests.support.results import row, write_results

AGENTS = ("first-fit", "best-fit", "worst-fit")
HEADINGS = {"first-fit": "First Fit", "cluster.servers": "Servers", "acceptance": "Accepted (%)"}


def made(folder: Path, said: str = "name: made\n", servers: tuple[int, ...] = (2, 4)) -> Results:
    """Make up results of three agents that differ by less than a hundredth, at two sizes."""
    rows = [
        row(agent, seed, point={"cluster.servers": size}, acceptance=0.9 + place / 200 + seed % 3 / 1000 + size / 1000)
        | {"run": f"{agent}{seed}{size}"}
        for size in servers
        for seed in range(6)
        for place, agent in enumerate(AGENTS)
    ]
    write_results(folder, rows)
    (folder / "scenario.yaml").write_text(said)
    return Results(folder)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return made(tmp_path_factory.mktemp("made"))


# -- styles --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", first(1, [name for name in VENUES if name != "house"]))
def test_a_venue_says_width_and_size_of_text(name: str, results: Results, tmp_path: Path) -> None:
    figure = draw(results, "sweep", style=name)
    assert figure.get_figwidth() == VENUES[name].column
    assert draw(results, "sweep", style=name, width="page").get_figwidth() == VENUES[name].page
    assert figure.axes[0].xaxis.label.get_fontsize() == VENUES[name].points
    again = draw(results, "sweep", style=name)
    assert save(figure, tmp_path / "one.svg").read_bytes() == save(again, tmp_path / "two.svg").read_bytes()


def lightness(colour: str) -> float:
    """CIE L* of a colour: what is left of it in print without colour."""
    srgb = np.array(colors.to_rgb(colour))
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    return float(116 * np.cbrt(max(float(linear @ np.array([0.2126, 0.7152, 0.0722])), (6 / 29) ** 3)) - 16)


@pytest.mark.parametrize("count", [2, 4, 6])
def test_what_goes_to_print_is_told_apart_without_colour(count: int) -> None:
    agents = ["first-fit", "best-fit", "worst-fit", "dot-product", "internal", "mine"][:count]
    with style(style_of("ieee")):
        found = looks(agents)
        spans = [lightness(colour) for colour in shades()]
    light = sorted(lightness(colour) for colour, _ in found.values())
    assert min(after - before for before, after in pairwise(light)) > 9
    assert min(100 - one for one in light) > 9
    assert len({marker for _, marker in found.values()}) == count
    assert min(after - before for before, after in pairwise(spans)) > 15
    # In the house's style two of them are as dark as one another.
    house = sorted(lightness(colour) for colour, _ in looks(agents).values())
    assert count < 4 or min(after - before for before, after in pairwise(house)) < 9


MACHADO = {
    "as it is": np.eye(3),
    "without red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "without green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "without blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
"""What readers see of linear RGB who lack a kind of cones: Machado, Oliveira and Fernandes 2009, severity 1."""


def seen(colour: str, eyes: Any) -> Any:
    """CIE L*a*b* of what these eyes see of a colour."""
    srgb = np.array(colors.to_rgb(colour))
    linear = np.asarray(eyes) @ np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
    )
    xyz = to_xyz @ linear.clip(0, 1) / [0.95047, 1, 1.08883]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", MACHADO)
@pytest.mark.parametrize("page", ["light", "dark"])
def test_agents_are_told_apart_by_every_eye_on_every_page(page: str, eyes: str) -> None:
    """Two colours differ by 12 or more, where 2.3 are just noticed: of Okabe and Ito's own the nearest two by 16."""
    shown = [on_dark(colour.lower()) if page == "dark" else colour for colour in COLOURS]
    assert len(set(shown)) == len(COLOURS)
    apart = [np.linalg.norm(seen(a, MACHADO[eyes]) - seen(b, MACHADO[eyes])) for a, b in combinations(shown, 2)]
    assert min(apart) > 12


def test_an_image_of_the_report_follows_dark_pages(results: Results) -> None:
    """Agents keep their colours, so that nobody changes places with another; what is black or white does change."""
    kind, content, _ = image(draw(results, "sweep", style="report"))
    assert kind == "svg"
    rules = content.decode().partition("<style>@media screen and (prefers-color-scheme: dark)")[2]
    rules = rules.partition("</style>")[0]
    assert f'[style*="fill: #ffffff"] {{ fill: {PAGE} !important }}' in rules
    assert f"svg {{ fill: {INK} }}" in rules
    assert looks(["first-fit"])["first-fit"][0].lower() not in rules


def test_a_style_of_matplotlib_gives_its_colours_fonts_and_width(results: Results, tmp_path: Path) -> None:
    file = tmp_path / "mine.mplstyle"
    file.write_text("font.size: 12\nfigure.figsize: 5, 3\naxes.prop_cycle: cycler('color', ['ff0000', '00ff00'])\n")
    figure = draw(results, "sweep", style=str(file))
    assert figure.get_figwidth() == 5
    assert figure.axes[0].yaxis.label.get_fontsize() == 12
    shown = {colors.to_hex(group[0].get_color()) for group in figure.axes[0].containers}
    assert shown == {"#ff0000", "#00ff00"}
    assert draw(results, "sweep", style="ggplot").axes[0].get_facecolor() == colors.to_rgba("#E5E5E5")


def test_size_font_text_and_titles_are_as_asked(results: Results) -> None:
    figure = draw(results, "sweep", size="84x56 mm", font="DejaVu Serif", text=10, titles=False)
    assert figure.get_size_inches() == pytest.approx((84 / 25.4, 56 / 25.4))
    label = figure.axes[0].xaxis.label
    assert (label.get_fontname(), label.get_fontsize()) == ("DejaVu Serif", 10)
    assert figure.get_suptitle() == ""
    assert "95 % interval over 6 seeds" in str(figure.get_label())
    thin, thick = (draw(results, "sweep", text=points).axes[0].lines[0].get_linewidth() for points in (8, 16))
    assert thick == 2 * thin


@pytest.mark.parametrize("text", ["3.3x2.2", " 3.3 x 2.2in", "83.82x55.88 mm", "8.382x5.588cm"])
def test_sizes_are_read_in_any_unit(text: str) -> None:
    assert inches(text) == pytest.approx((3.3, 2.2))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"style": "ieeee"}, "Did you mean 'ieee'?"),
        ({"style": "none.mplstyle"}, "cannot be read"),
        ({"size": "3.3"}, "is not the size of a figure"),
        ({"size": "0.1x2"}, "is not the size of a figure"),
        ({"size": "3..3x2"}, "is not the size of a figure"),
        ({"font": "DejaVu Serf"}, "Did you mean 'DejaVu Serif'?"),
        ({"text": 0.0}, "is no size of text"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], says: str, results: Results) -> None:
    with pytest.raises(UserError) as error:
        draw(results, "sweep", **options)
    assert says in str(error.value)


def test_a_file_that_is_no_style_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.mplstyle").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="is not a style of matplotlib"):
        style_of(str(tmp_path / "mine.mplstyle"))


def test_a_figure_without_room_is_refused_and_not_written(results: Results, tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="have no room for this figure"):
        save(draw(results, "bars", size="0.6x0.5"), tmp_path / "one.png")
    assert not list(tmp_path.iterdir())


def test_the_scenario_says_how_figures_look_and_the_command_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "name: made\nfigures: {style: ieee, titles: false, text: 9, format: svg}\nseed: 1\n"
    results = made(tmp_path, said)
    figure = draw(results, "sweep")
    assert figure.axes[0].xaxis.label.get_fontsize() == 9
    assert figure.get_suptitle() == ""
    assert draw(results, "sweep", text=6).axes[0].xaxis.label.get_fontsize() == 6
    again = draw(results, "sweep", style="house")  # takes the place of all that the scenario says
    assert (again.axes[0].xaxis.label.get_fontsize(), bool(again.get_suptitle())) == (8, True)
    assert main(["figures", str(tmp_path), "--kind", "sweep"]) == 0
    assert (tmp_path / "figures" / "sweep.svg").is_file()
    assert "made: mean and 95 % interval over 6 seeds." in capsys.readouterr().out
    assert draw([results, made(tmp_path / "other")], "sweep").get_suptitle() == ""


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("figures: {size: large}", "figures.size: is not the size of a figure"),
        ("figures: {titles: maybe}", "figures.titles"),
        ("figures: {format: jpg}", "figures.format"),
        ("headings: {frist-fit: First}", "headings.frist-fit: is no agent, swept key or metric"),
    ],
)
def test_mistakes_in_the_scenario_are_named_with_their_line(said: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(f"{TEXT}{said}\n")
    with pytest.raises(ScenarioError) as error:
        load_scenario(tmp_path / "s.yaml")
    assert says in str(error.value)
    assert f"s.yaml:{len(TEXT.splitlines()) + 1}" in str(error.value)


def test_the_formats_of_the_schema_are_those_that_are_written() -> None:
    for form in FORMATS:
        assert scenario(figures={"format": form}).figures.format == form


# -- headings ------------------------------------------------------------------------------------------------------


def test_headings_stand_in_tables_comparisons_and_figures_and_names_in_csv(tmp_path: Path) -> None:
    sweep = {"product": {"cluster.servers": [2, 3]}}
    batch = Batch(scenario(sweep=sweep, headings=HEADINGS | {"of another day": "kept"}), tmp_path)
    results = batch.run()
    first, *rest = results.table().texts()
    assert {*results.table().headings} >= {"Servers", "agent", "runs", "Accepted (%)"}
    assert first[1] == "First Fit"
    assert rest[0][1] == "worst-fit"
    for text in (results.compare().markdown(), results.compare().latex()):
        assert all(part in text for part in ("First Fit", "Servers", "Accepted"))
        assert "first-fit" not in text
    assert "\n2,first-fit,acceptance," in results.compare().csv()
    figure = draw(results, "sweep", metrics=["acceptance"])
    assert figure.axes[0].get_xlabel() == "Servers"
    assert figure.axes[0].get_ylabel() == "Accepted (%)"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["First Fit", "worst-fit"]
    bars = draw(results, "bars", metrics=["acceptance"])
    assert [tick.get_text() for tick in bars.axes[0].get_yticklabels()] == ["First Fit", "worst-fit"] * 2
    assert "Servers 2" in [text.get_text() for text in bars.axes[0].texts]
    together = Comparison([results, made(tmp_path / "other")], metrics=["acceptance"]).markdown()
    assert "First Fit" in together
    # Nothing is run again for the sake of words.
    assert len(Batch(scenario(sweep=sweep, headings={"first-fit": "Other"}), tmp_path).done()) == len(batch.runs)


MINE = """
from binwright import metric
from binwright.agents.heuristics.servers.first_fit import FirstFit

class Tight(FirstFit):
    def __init__(self, k: int = 1) -> None:
        super().__init__()

@metric(heading="queue", meaning="how long it was")
def queue(run):
    return 7.5
"""


def test_headings_are_keyed_by_the_files_of_agents_and_metrics_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the scenario names them: results have the last part of a path."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "tight.py").write_text(MINE)
    said = data(
        cluster={"servers": 2, "node": {"cpu": 8, "mem": "16 GB"}},
        agents=["first-fit", "deep/tight.py:Tight", {"deep/tight.py:Tight": {"k": 2}}],
        metrics=["deep/tight.py:queue"],
        headings={
            "deep/tight.py:Tight": "One",
            "tight.py:Tight(k=2)": "Two",
            "deep/tight.py:queue": "Queue",
            "first-fit": "First",
        },
    )
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(said))
    monkeypatch.chdir(tmp_path)
    assert main(["run", "mine.yaml", "--out", "all", "--jobs", "1"]) == 0
    results = Results("all")
    table = results.table()
    assert [row[0] for row in table.texts()] == ["First", "One", "Two"]
    assert "Queue" in table.headings
    assert main(["run", "all/scenario.yaml", "--out", "again", "--jobs", "1"]) == 0
    assert Results("again").columns.headings == results.columns.headings
    # One run of the others alone: what is kept from before has its heading still.
    assert main(["run", "mine.yaml", "--out", "all", "--agents", "first-fit"]) == 0
    assert [row[0] for row in Results("all").table().texts()] == ["First", "One", "Two"]
    capsys.readouterr()
    words = ["--heading", "deep/tight.py:Tight=A=B", "--heading", "tight.py:Tight(k=2)=(c=d)"]
    assert main(["compare", "all", "--metric", "acceptance", "--format", "markdown", *words]) == 0
    assert "| A=B |" in capsys.readouterr().out
    assert main(["compare", "all", "--since", "again", "--metric", "acceptance", *words]) == 0
    assert "(c=d)" in capsys.readouterr().out
    monkeypatch.setattr("binwright.analysis.report.page.figures", lambda results: Drawn({}, {}, {}))
    assert main(["report", "all", "--out", "report.html", *words]) == 0
    assert "(c=d)" in Path("report.html").read_text("utf-8")
    assert main(["compare", "all", "--heading", "tihgt.py:Tight=A"]) == 2
    assert "Did you mean 'tight.py:Tight'?" in capsys.readouterr().err


def test_a_command_gives_headings_too(results: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "one.svg"
    words = [word for name, text in HEADINGS.items() for word in ("--heading", f"{name}={text}")]
    assert main(["figures", str(results.folder), "--kind", "sweep", "--out", str(target), *words]) == 0
    assert all(f">{text}<" in target.read_text() for text in HEADINGS.values())
    for wrong, says in (("fist-fit=x", "Did you mean 'first-fit'?"), ("x", "Write --heading NAME=TEXT.")):
        assert main(["figures", str(results.folder), "--kind", "sweep", "--heading", wrong]) == 2
        assert says in capsys.readouterr().err


@pytest.mark.parametrize("kind", [[], ["--kind", "all"], ["--kind", "spread"]])
def test_a_metric_that_is_not_there_is_refused_as_compare_does(
    kind: list[str], results: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(results.folder), "--metric", "aceptance"]
    assert main(["compare", *words]) == 2
    refused = capsys.readouterr().err
    assert main(["figures", *words, *kind, "--out", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err == refused
    assert "Did you mean 'acceptance'?" in refused
    assert not (tmp_path / "none").exists()


def test_figures_of_which_none_can_be_drawn_are_a_mistake(results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["figures", str(results.folder), "--metric", "cpu"]) == 2
    said = capsys.readouterr()
    assert "no figure can be drawn of these results, as asked for" in said.err
    assert (
        "Not drawn: sweep, gains, summary, seeds, pareto, bars, differences, critical-difference: cpu is not a"
        in said.out
    )


# -- scales --------------------------------------------------------------------------------------------------------


def test_bars_that_would_hide_what_differs_are_dots_on_a_scale_of_their_own(results: Results, tmp_path: Path) -> None:
    [ax] = draw(results, "bars", metrics=["acceptance"]).axes
    assert not ax.patches
    assert ax.get_xlim()[0] > 85
    values = [float(np.ravel(line.get_xdata())[0]) for line in ax.lines if line.get_marker() in {*"osD"}]
    averages = results.runs.group_by("cluster.servers", "agent", maintain_order=True).agg(pl.mean("acceptance"))
    assert sorted(values) == pytest.approx(sorted(100 * averages["acceptance"]))
    assert values == [*sorted(values[:3], reverse=True), *sorted(values[3:], reverse=True)]
    apart = [row(agent, seed, acceptance=0.2 + 0.3 * place) for place, agent in enumerate(AGENTS) for seed in range(3)]
    write_results(tmp_path, apart)
    [ax] = draw(Results(tmp_path), "bars", metrics=["acceptance"]).axes
    assert len(ax.patches) == 3
    assert ax.get_xlim()[0] == 0


def test_ticks_beside_one_another_can_be_read_and_say_no_more_than_there_is(tmp_path: Path) -> None:
    near = [(0.9935, 1.0, 0.998), (0.9999, 1.0, 0.9996), (0.95, 1.0, 0.97), (0.9991, 0.9996, 0.9992)]
    for number, values in enumerate(near):
        folder = tmp_path / str(number)
        rows = [
            row(agent, seed, acceptance=value) for agent, value in zip(AGENTS, values, strict=True) for seed in (0, 1)
        ]
        write_results(folder, rows)
        figure = draw(Results(folder), "bars", metrics=["acceptance", "allocation_cpu"], width="column")
        figure.draw_without_rendering()
        labels = [label for label in figure.axes[0].get_xticklabels() if label.get_text()]
        boxes = [label.get_window_extent() for label in labels]
        assert len(boxes) >= 2
        assert all(right.x0 - left.x1 > 2 for left, right in pairwise(boxes)), [label.get_text() for label in labels]
        assert max(figure.axes[0].get_xticks()) <= 100 * max(values) + 1e-9


@pytest.mark.parametrize(
    ("values", "label", "ticks"),
    first(
        1,
        [
            (("10 min", "30 min", "1 h"), "minutes, min", ["10", "30", "60"]),
            (("1 h", "3 h"), "minutes, h", ["1", "3"]),
            (("20 s", "1 min"), "minutes, s", ["20", "60"]),
        ],
    ),
)
def test_swept_times_are_in_the_unit_that_people_say(
    values: tuple[str, ...], label: str, ticks: list[str], tmp_path: Path
) -> None:
    rows = [
        row("a", seed, point={"minutes": value}) | {"run": f"{seed}{value}"} for value in values for seed in range(2)
    ]
    write_results(tmp_path, rows)
    [ax] = draw(Results(tmp_path), "sweep").axes
    assert ax.get_xlabel() == label
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ticks


def test_differences_name_a_point_once_and_many_rows_leave_metrics_to_the_table(tmp_path: Path) -> None:
    rows = [
        row(agent, seed, point={"overflow": way}, acceptance=0.5 + place / 9, allocation_cpu=place / 9, hours=place)
        | {"servers_used": place, "fragmentation_cpu": place / 9, "run": f"{agent}{seed}{way}"}
        for way in ("drop", '{"make_room": {"moves": 1}}')
        for seed in range(3)
        for place, agent in enumerate(f"agent-{number}" for number in range(10))
    ]
    write_results(tmp_path, rows)
    many = draw(Results(tmp_path), "differences")
    assert len([ax for ax in many.axes if ax.axison]) == 3
    assert many.get_size_inches()[1] < 6
    names = [text.get_text() for text in many.axes[0].texts]
    assert names == ["overflow drop", "overflow make_room: {moves: 1}"]
    assert [tick.get_text() for tick in many.axes[0].get_yticklabels()] == [f"agent-{n}" for n in range(9, 0, -1)] * 2
    few = draw(Results(tmp_path), "differences", agents=[f"agent-{number}" for number in range(4)])
    assert len([ax for ax in few.axes if ax.axison]) > 3
