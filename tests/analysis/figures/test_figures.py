"""Every kind of figure from real runs: what is drawn is what the runs say, in the colours of its agents."""

import json
from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from itertools import combinations
from math import nan
from pathlib import Path
from typing import Any

import matplotlib.colors as colors
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure

import binwright as bw
from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.figures import FIGURES
from binwright.analysis.figures.figure_data import Verdicts
from binwright.analysis.figures.kind import draw, kind_named
from binwright.analysis.figures.kinds.servers import rows
from binwright.analysis.figures.kinds.topology import paint
from binwright.analysis.figures.style import rendered
from binwright.analysis.results_api import Results
from binwright.cli import MISTAKE, main
from binwright.fabric.topology import Topology
from binwright.simcore.errors import ResultsError, UserError
from tests.support.figures import GENERATED, NETWORK, SERVERS, log
from tests.support.results import made, row

SWEPT = {
    "name": "swept", "cluster": {"servers": 2, "nodes": 2, "node": {"cpu": 20, "mem": "45 GB"}},
    "workload": GENERATED, "warm_start": {"until": "30 %", "with": "best-fit"}, "overflow": "stop",
    "agents": ["worst-fit"],
    "sweep": {"product": {"warm_start.until": ["20 %", 0.4], "cluster.servers": [2, 3]}},
}  # fmt: skip
LOADED = SWEPT | {
    "name": "loaded",
    "agents": ["worst-fit", "best-fit", "first-fit"],
    "replications": 2,
    "warm_start": None,
    "overflow": "drop",
    "sweep": {"product": {"workload.arrivals.poisson.every": ["40 s", "20 s", "10 s"]}},
}
DRAWN_FROM = {
    "differences": "servers",
    "pareto": "loaded",
    "gains": "loaded",
    "refusals": "network",
    "timeline": "servers",
    "sweep": "loaded",
    "spread": "network",
    "servers": "network",
    "gantt": "network",
    "topology": "network",
}


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    """Small results by the scenario's name."""
    folder = tmp_path_factory.mktemp("results")
    scenarios: list[dict[str, Any]] = [SERVERS, SWEPT, LOADED, NETWORK]
    results = {spec["name"]: bw.run(bw.scenario(spec), out=folder / spec["name"], jobs=1) for spec in scenarios}
    assert not sum(len(each.failed) for each in results.values())
    return results


def bars(figure: Figure) -> list[list[tuple[float, str]]]:
    """Of every panel the bars' widths and the colours of their edges."""
    return [
        [
            (bar.get_width(), colors.to_hex(bar.get_edgecolor()).upper())
            for group in ax.containers
            if isinstance(group, BarContainer)
            for bar in group
        ]
        for ax in figure.axes
    ]


def curves(figure: Figure) -> Iterator[tuple[str, np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Colour, x and y of the lines with error bars in every panel."""
    for ax in figure.axes:
        for group in ax.containers:
            line = group[0]
            yield colors.to_hex(line.get_color()).upper(), *np.asarray(line.get_data(), np.float64)


# -- all kinds -----------------------------------------------------------------------------------------------------


def test_every_kind_is_drawn_here() -> None:
    assert {*DRAWN_FROM, "learning", "size"} == set(FIGURES)  # the last two have no results here


AVERAGES = {"differences", "pareto", "refusals", "timeline", "sweep", "spread"}


@pytest.mark.parametrize("kind", DRAWN_FROM)
def test_every_kind_has_its_text_as_text_and_says_over_how_many_seeds(
    kind: str, studies: dict[str, Results], tmp_path: Path
) -> None:
    results = studies[DRAWN_FROM[kind]]
    figure = draw(results, kind)
    text = rendered(figure, "svg").decode()
    assert "<text" in text
    assert "<metadata>" not in text
    assert f">{results.name}" in text
    if kind in AVERAGES:
        assert f"95 % interval over {results.runs['seed'].n_unique()} seeds" in title(figure)


def title(figure: Figure) -> str:
    """What stands on top, as one line."""
    return str(figure.get_label())


# -- what is drawn -------------------------------------------------------------------------------------------------


def test_a_sweep_has_a_point_for_every_value(studies: dict[str, Results]) -> None:
    results = studies["loaded"]
    lines = list(curves(draw(results, "sweep", metrics=["allocation_cpu"])))
    assert len(lines) == 3
    for (_, x, y), agent in zip(lines, ("worst-fit", "best-fit", "first-fit"), strict=True):
        mine = results.done.filter(pl.col("agent") == agent)
        means = mine.group_by("workload.arrivals.poisson.every", maintain_order=True).agg(
            pl.col("allocation_cpu").mean()
        )
        assert x.tolist() == [10, 20, 40]
        assert y == pytest.approx(100 * means["allocation_cpu"].to_numpy()[::-1])


def test_timeline_ends_with_the_samples(studies: dict[str, Results]) -> None:
    results = studies["servers"]
    figure = draw(results, "timeline", agents=["worst-fit"])
    assert [ax.get_ylabel() for ax in figure.axes] == ["cpu %", "mem %", "servers"]
    runs = results.done.filter(pl.col("agent") == "worst-fit")["run"]
    samples = [results.samples(run) for run in runs]
    end = min(sample["time"][-1] for sample in samples)
    last = [sample.filter(pl.col("time") <= end).tail(1).to_dicts()[0] for sample in samples]
    for ax, name in zip(figure.axes, ("cpu", "mem"), strict=False):
        expected = np.mean([100 * row[f"used_{name}"] / row[f"capacity_{name}"] for row in last])
        assert ax.lines[0].get_ydata()[-1] == pytest.approx(expected)  # type: ignore[index]
    assert figure.axes[2].lines[0].get_ydata()[-1] == np.mean([row["servers"] for row in last])  # type: ignore[index]
    assert "dashed: failures" in title(figure)
    assert "dotted: servers are added" in title(figure)
    dashed = [line for line in figure.axes[0].lines if line.get_linestyle() == "--"]
    assert len(dashed) == 1


def test_racks_without_servers_and_switches_above_nothing_have_a_place() -> None:
    ends = [[4, 0], [0, 2], [1, 2]]  # vertices: two racks, two switches above them, one server
    network = Topology("odd", "abcde", [0], [-1, -1], ends, [1, 1, 1], [1, 1, 2, 2, 0])
    axes = Figure().subplots()
    paint(axes, network, np.zeros(3), 3.0, is_named=True)
    assert all(np.isfinite(collection.get_offsets()).all() for collection in axes.collections)


def test_a_topology_shows_the_busiest_moment(studies: dict[str, Results]) -> None:
    results = studies["network"]
    states = results.states(results.runs.filter(agent="tetris")["run"][0])
    figure = draw(results, "topology", agents=["tetris"])
    assert "seed 0" in title(figure)
    busiest = figure.axes[0].collections[0].get_array()
    assert busiest is not None
    assert busiest.sum() == pytest.approx(max(sum(links) for links in states["links"].to_list()))


TOLD = ("better", "worse", "more", "less")


def dots(figure: Figure) -> list[list[tuple[float, float, float, bool]]]:
    """Of every panel the marks from the top down: place, both ends of the interval (NaN without one), filled."""
    studies = []
    for ax in figure.axes:
        marks = []
        for line, _, bars_ in (group for group in ax.containers if isinstance(group, ErrorbarContainer)):
            [(low, _), (high, _)] = bars_[0].get_segments()[0] if bars_ else [(nan, 0), (nan, 0)]
            is_filled = line.get_markerfacecolor() == line.get_color()
            marks.append((float(line.get_xdata()[0]), low, high, is_filled))
        studies.append(marks)
    return studies


def test_first_panel_has_paired_differences_to_the_best_and_seeds_as_dots(studies: dict[str, Results]) -> None:
    results = studies["network"]
    figure = draw(results, "differences")
    ax = figure.axes[0]
    assert ax.get_xlabel() == "accepted, percentage points\ndifference to tetris"
    comparison = results.compare()
    caption = f"hollow: not significantly different from tetris (p > .05, {comparison.family})"
    assert title(figure).endswith(f"; differences: intervals at Holm's levels; {caption}")
    frame = results.compare("tetris", metrics=["acceptance"]).frame
    rows = frame.filter(pairs=5).sort("mean", descending=True).to_dicts()
    assert len(rows) == 2
    for mark, item in zip(dots(figure)[0], rows, strict=True):
        assert mark[0] == pytest.approx(100 * item["diff"])
    assert [0, 0] in [np.asarray(line.get_xdata()).tolist() for line in ax.lines]
    seeds = [np.asarray(line.get_xdata()) for line in figure.axes[1].lines if line.get_markersize() == 1.8]
    shown = sorted(np.concatenate(seeds).tolist())
    assert shown == pytest.approx(sorted((100 * results.done["acceptance"]).to_list()))
    # Hollow is one thing in the whole figure: no significant difference to the baseline, by the metric of the panel.
    order = frame.sort("mean", descending=True)["agent"].to_list()
    by_heading = {metric.heading: metric.name for metric in comparison.metrics}
    for marks, panel in zip(dots(figure)[1:], figure.axes[1:], strict=True):
        name = by_heading[panel.get_xlabel().splitlines()[0]]
        reported = Comparison(results, "tetris", name, all_pairs=True).frame
        verdicts = dict(reported.select("agent", "verdict").iter_rows())
        assert [mark[3] for mark in marks] == [verdicts[agent] in (*TOLD, "baseline") for agent in order]
    assert len({each.get_xlabel() for each in figure.axes}) == len(figure.axes) == 6


def test_runs_without_chance_are_equal_or_not_and_not_tested() -> None:
    exact = Verdicts("best-fit", {}, frozenset(), "", True)
    assert exact.caption("hollow", "best-fit") == "hollow: equal to best-fit; exact, as nothing is random"


# -- what cannot be drawn ------------------------------------------------------------------------------------------

REFUSED: list[tuple[str, str, dict[str, Any], str]] = [
    ("swept", "servers", {}, "one point can be drawn, not 4"),
    ("swept", "timeline", {"where": [("cluster.servers", "2"), ("warm_start.until", "0.4")]}, r"record: \[samples\]"),
    ("swept", "sweep", {"x": "cluster.server"}, "Did you mean 'cluster.servers'"),
    ("swept", "differences", {"where": [("cluster.servers", "9")]}, "no run has this value"),
    ("servers", "spread", {}, "the cluster has no network"),
    ("loaded", "servers", {"where": [("workload.arrivals.poisson.every", "40 s")]}, "the states of run"),
    ("network", "bars", {}, "this figure is gone"),
    ("network", "size", {}, r"has no answer of binwright size(?!:)"),
    ("network", "servers", {"metrics": ["gpu"]}, "is not a resource"),
]


@pytest.mark.parametrize(("name", "kind", "options", "says"), REFUSED)
def test_a_figure_names_the_records_it_lacks(
    name: str, kind: str, options: dict[str, Any], says: str, studies: dict[str, Results]
) -> None:
    with pytest.raises(UserError, match=says):
        draw(studies[name], kind, **options)


def test_where_nothing_can_be_drawn_no_single_kind_is_blamed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path, [row("a", 0, rejected=0)])
    assert main(["figures", str(tmp_path), "--kind", "all", "--metric", "nonsense"]) == MISTAKE
    output = capsys.readouterr().err
    assert (
        f"{tmp_path}: no figure can be drawn of these results\n  `--kind NAME` says why for one of size, sweep"
        in output
    )
    assert main(["figures", str(tmp_path)]) == 0
    assert "Not drawn" not in capsys.readouterr().out, "nobody asked for others"
    assert main(["figures", str(tmp_path), "--x", "servres"]) == 0
    assert "Not drawn: sweep: was not swept." in capsys.readouterr().out
    assert main(["figures", str(tmp_path), "--where", "seed=7"]) == MISTAKE
    assert "--where seed: no run has this value" in capsys.readouterr().err


# -- learning ------------------------------------------------------------------------------------------------------


def test_learning_curves_are_means_over_folders_and_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [log(tmp_path / f"small-{seed}", seed) for seed in range(3)]
    figure = kind_named("learning").draw(folders)
    assert [ax.get_ylabel() for ax in figure.axes] == ["acceptance", "loss"]
    logs = [pl.read_parquet(folder / "log.parquet") for folder in folders]
    for line, split in zip(figure.axes[0].lines, ("train", "validation"), strict=True):
        values = np.stack([each.filter(pl.col("split") == split)["acceptance"].to_numpy() for each in logs])
        assert line.get_ydata() == pytest.approx(values.mean(axis=0))
    assert "over 3 seeds" in title(figure)
    assert title(figure).startswith("Learning: small. mean")
    assert not figure.legends
    assert "one seed" in title(kind_named("learning").draw(folders[0]))
    item = kind_named("learning").draw([*folders, log(tmp_path / "large", 7, ("loss",))], metrics=["loss"])
    assert [text.get_text() for text in item.legends[0].get_texts()] == ["small", "large"]
    assert main(["figures", str(folders[0])]) == 0
    assert "Not drawn" not in capsys.readouterr().out
    log(tmp_path / "results" / "training", 1)
    for folder, remedy in (
        (tmp_path, "Name the folder of a tr"),
        (tmp_path / "results", f"Name {tmp_path}/results/tr"),
    ):
        assert main(["figures", str(folder), "--kind", "learning"]) == MISTAKE
        output = capsys.readouterr().err
        assert f"{folder}/log.parquet: there is no training log here\n  {remedy}aining" in output


# -- what was missing ----------------------------------------------------------------------------------------------


def test_heat_map_shows_every_server_at_every_moment(studies: dict[str, Results]) -> None:
    results = studies["network"]
    figure = draw(results, "servers", agents=["tetris"])
    states = results.states(results.done.filter(agent="tetris", seed=0)["run"][0])
    [mesh] = figure.axes[0].collections
    shares = np.array(states["used_cpu"].to_list(), float)
    assert np.asarray(mesh.get_array()) == pytest.approx(100 * shares.T)
    assert title(figure).endswith("seed 0"), "nothing is grey"


def test_titles_of_many_servers_panels_stand_apart_and_servers_are_ordered_as_in_gantt(
    studies: dict[str, Results],
) -> None:
    results = copy(studies["network"])
    names = {agent: f"{agent} with options that are written in full" for agent in results.runs["agent"].unique()}
    results.columns = replace(results.columns, headings=names)
    figure = draw(results, "servers", style="lncs", width="page")
    figure.draw_without_rendering()
    titles = [ax.title.get_window_extent() for ax in figure.axes if ax.get_title()]
    assert len(titles) == 3
    assert not any(each.overlaps(other) for each, other in combinations(titles, 2))
    assert draw(results, "gantt").axes[0].yaxis_inverted() == figure.axes[0].yaxis_inverted()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), max_size=20))
def test_rows_hold_one_request_at_a_time_and_are_as_few_as_can_be(drawn: list[tuple[int, int]]) -> None:
    drawn = sorted(drawn)
    begin, end = [float(at) for at, _ in drawn], [float(at + lasts) for at, lasts in drawn]
    studies = rows(begin, end)
    for each, other in combinations(range(len(begin)), 2):
        overlap = begin[each] < end[other] and begin[other] < end[each]
        assert not (overlap and studies[each] == studies[other])
    at_once = (sum(b <= at < e for b, e in zip(begin, end, strict=True)) for at in begin)
    assert len(set(studies)) == max(at_once, default=0)


def test_gantt_has_a_bar_for_every_placed_request(studies: dict[str, Results]) -> None:
    results = studies["servers"]
    figure = draw(results, "gantt", agents=["best-fit"])
    requests = results.requests(results.done.filter(agent="best-fit", seed=0)["run"][0])
    outcome = requests["outcome"].cast(pl.String)
    panel = bars(figure)[0]
    assert len(panel) == outcome.is_in(["placed", "interrupted"]).sum()
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    cut = sum(len(np.atleast_1d(np.asarray(line.get_xdata()))) for line in crosses)
    assert cut == (outcome == "interrupted").sum()


def test_gains_are_the_paired_differences_hatched_where_not_significant(studies: dict[str, Results]) -> None:
    results = studies["loaded"]
    figure = draw(results, "gains", metrics=["acceptance"])
    best = results.done.group_by("agent").agg(pl.mean("acceptance")).sort("acceptance")["agent"][-1]
    frame = results.compare(best, metrics=["acceptance"]).frame.filter(pl.col("pairs") > 0)
    texts = sorted(text.get_text() for text in figure.axes[0].texts)
    assert texts == sorted(f"{100 * row['diff']:+.{2 if abs(row['diff']) < 0.1 else 1}f}" for row in frame.to_dicts())
    hatched = sum(bool(patch.get_hatch()) for patch in figure.axes[0].patches)
    assert hatched == frame["verdict"].is_in(["not significant", "equal", "not tested"]).sum() * (
        frame["test"].is_not_null().any()
    )
    with pytest.raises(ResultsError, match="two points or more"):
        draw(studies["servers"], "gains")


def test_refusals_are_the_shares_of_each_reason(studies: dict[str, Results]) -> None:
    results = studies["network"]
    figure = draw(results, "refusals")
    (panel,) = bars(figure)
    counts: Counter[str] = Counter()
    for text in results.done["reasons"]:
        counts.update(json.loads(text))
    reason, count = counts.most_common(1)[0]
    assert title(figure).startswith(f"{100 * count / counts.total():.0f} % of all refusals: {reason}")
    rejected = (results.done["rejected"] / results.done["offered"]).to_list()
    agents = results.done["agent"].n_unique()
    assert sum(width for width, _ in panel) == pytest.approx(100 * np.mean(rejected) * agents)
