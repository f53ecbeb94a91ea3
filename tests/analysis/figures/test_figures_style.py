"""Colours, ranks, what figures need recorded, and the command."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from binwright.agents import AGENTS
from binwright.analysis.figures.figure_data import number
from binwright.analysis.figures.style import COLOURS, SHIPPED, looks
from binwright.analysis.results_api import Results
from binwright.cli import main
from tests.support.figures import NETWORK

# -- colours -------------------------------------------------------------------------------------------------------


def test_agents_that_are_compared_differ_in_colour() -> None:
    servers = ["random", "first-fit", "best-fit", "worst-fit", "balance-fit", "dot-product", "internal", "solver"]
    network = ["random", "tetris", "nulb", "nalb", "feasible", "best-home", "nara", "solver"]
    virtual = ["vm-first-fit", "secondnet", "oktopus", "solver"]
    line = ["in-line", "two-stage", "first-fit", "best-fit", "solver"]
    learned = ["best-fit", "internal", "value-es", "cvd-rl", "sched-rl", "padrl", "hindsight", "random-top"]
    for group in (virtual, line, learned):
        assert len({SHIPPED[name][0] for name in group}) == len(group)
    for group in (servers, network):
        assert len({SHIPPED[name][0] for name in group}) == len(group) == len(COLOURS)
    assert {*servers, *network, *virtual, *line, *learned} <= set(AGENTS)
    assert len(set(SHIPPED.values())) == len(SHIPPED) - 1, "one label of feasible is the other's"


@given(st.lists(st.text("abcdef-()=", min_size=1, max_size=8), unique=True, max_size=60))
def test_looks_differ_and_colours_as_long_as_there_are_some(agents: list[str]) -> None:
    actual = looks([*agents, "best-fit", "first-fit"])
    assert actual["best-fit"] == SHIPPED["best-fit"]
    colours = [colour for colour, _ in actual.values()]
    assert len(set(colours)) == min(len(COLOURS), len(actual))
    assert len(set(actual.values())) == len(actual)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, (3, "")), ("30 %", (30, "%")), ("10 min", (600, "s")), ("2 GB", (2, "GB")), ("100 Mbps", (0.1, "Gbps"))],
)
def test_swept_values_are_numbers(value: object, expected: tuple[float, str]) -> None:
    assert number(value) == expected


# -- what is recorded ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Runs in a network whose links fail."""
    cluster = NETWORK["cluster"] | {  # type: ignore[operator]
        "failures": {"links": {"scheduled": [{"at": "20 s", "part": 3, "repair_after": "5 s"}]}}
    }
    scenario = bw.scenario(NETWORK | {"name": "failing", "cluster": cluster, "replications": 2})
    return bw.run(scenario, out=tmp_path_factory.mktemp("network") / "failing")


@pytest.mark.long
def test_requests_of_a_network_say_how_they_are_spread(network: Results) -> None:
    for row in network.done.iter_rows(named=True):
        requests = network.requests(row["run"])
        placed = requests.filter(pl.col("outcome").cast(pl.String).is_in(["placed", "interrupted"]))
        assert requests.filter(pl.col("outcome") == "rejected").select("servers", "span").to_numpy().max() == -1
        for span in range(4):
            assert (placed["span"] == span).mean() == pytest.approx(row[f"span_{span}"])
        assert ((placed["servers"] == 1) == (placed["span"] == 0)).all()
        inside = placed.filter(pl.col("span") == 1)
        assert (inside["links"] == inside["servers"]).all()
        assert (placed.filter(pl.col("span") == 0)["links"] == 0).all()
        assert (placed.filter(pl.col("span") > 1).select(pl.col("links") - pl.col("servers")) >= 2).to_series().all()
        assert (requests.filter(pl.col("outcome") == "rejected")["links"] == -1).all()
        assert requests["bandwidth"].is_between(0.1, 1.0).all()


# -- the command ---------------------------------------------------------------------------------------------------


def test_one_figure_goes_into_a_file(network: Results, tmp_path: Path) -> None:
    target = tmp_path / "new" / "net.pdf"
    requested = ["--kind", "topology", "--agents", "tetris", "--out", str(target)]
    assert main(["figures", str(network.folder), *requested]) == 0
    assert target.read_bytes().startswith(b"%PDF")
    assert [path.name for path in target.parent.iterdir()] == ["net.pdf"]


@pytest.mark.parametrize(
    ("requested", "says"),
    [
        (["RESULTS", "--kind", "sweep", "--kind", "differences"], "no number was swept"),
        (["RESULTS", "--kind", "differences", "--out", "OUT/x.jpg"], "unknown format for figures"),
        (["RESULTS", "--out", "OUT/x.png"], "is one file for several figures"),
        (["RESULTS", "--kind", "differences", "--where", "agent"], "Write --where KEY=VALUE"),
        (["RESULTS", "--kind", "learning", "--kind", "differences"], "needs folders with a log.parquet"),
    ],
)
def test_mistakes_of_the_figures_command_write_nothing(
    requested: list[str], says: str, network: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.replace("RESULTS", str(network.folder)).replace("OUT", str(tmp_path)) for word in requested]
    assert main(["figures", *words]) == 2
    assert says in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]
