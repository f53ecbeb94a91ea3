"""`binwright size`: equal to the exhaustive sweep, and what can go wrong."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from binwright.analysis.compare.statistics import mean_interval
from binwright.cli import FAILED, MISTAKE, main
from binwright.commands import console
from binwright.scenarios.size.sizing import AHEAD, ENDS, ahead, answer_of, next_size
from binwright.simcore.errors import UserError
from tests.support import ROOT
from tests.support.batches import agent as written_agent
from tests.support.properties import first
from tests.support.scenarios import random_requests

TINY: dict[str, Any] = {
    "name": "tiny",
    "cluster": {"servers": 3, "node": {"cpu": 8}},
    "workload": random_requests(60, 10, [{"cpu": 1}, {"cpu": 3}, {"cpu": 5}], 80),
    "agents": ["first-fit", "worst-fit"],
    "replications": 5,
}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A scenario of which some servers are enough."""
    file = tmp_path / "tiny.yaml"
    file.write_text(yaml.safe_dump(TINY))
    return file


@pytest.fixture(scope="module")
def sized(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The answer for it, in a folder that tests only read."""
    folder = tmp_path_factory.mktemp("sized")
    (folder / "tiny.yaml").write_text(yaml.safe_dump(TINY))
    return quick(folder / "tiny.yaml")


def exhaustive(enough: Iterable[bool], least: int) -> int | None:
    """Return the smallest size from which on all are enough, of all sizes from `least` on; None if the last is not."""
    answer: int | None = None
    for size, each in enumerate(enough, least):
        answer = None if not each else size if answer is None else answer
    return answer


def quick(file: Path, *overrides: str, **more: Any) -> Any:
    """Size it in a second."""
    options: dict[str, Any] = {"jobs": 1, "out": file.parent / "size", "most": 30}
    return bw.size(file, *overrides, **options | more)


# -- the search ----------------------------------------------------------------------------------------------------


def searched(enough: Sequence[bool], least: int, begin: int) -> tuple[int | None, int]:
    """Search where size `least + n` is enough if `enough[n]`; returns the answer, and how many sizes it took."""
    known: dict[int, bool] = {}
    most = least + len(enough) - 1
    while True:
        step = next_size(known, least, most, begin)
        if step is None:
            return answer_of(known, least), len(known)
        assert least <= step <= most
        assert step not in known
        known[step] = enough[step - least]


@given(st.integers(0, 300), st.integers(1, 300), st.integers(1, 9), st.integers(1, 400))
def test_of_a_monotone_metric_it_is_the_exhaustive_answer_in_few_steps(
    failing: int, enough: int, least: int, begin: int
) -> None:
    curve = [False] * failing + [True] * enough
    answer, steps = searched(curve, least, begin)
    assert answer == exhaustive(curve, least) == least + failing
    assert steps <= 2 * len(curve).bit_length() + 1 + ahead(least + failing)
    assert searched([False] * (failing + 1), least, begin)[0] is None


@given(st.lists(st.tuples(st.integers(1, AHEAD), st.integers(1, 3)), max_size=6), st.data())
def test_of_a_ragged_metric_too_where_gaps_are_short(gaps: list[tuple[int, int]], data: st.DataObject) -> None:
    """Around the crossing, up to AHEAD sizes in a row are enough between those that are not."""
    curve = [False] * data.draw(st.integers(0, 40))
    for enough, not_enough in gaps:
        curve += [True] * enough + [False] * not_enough
    curve += [True] * data.draw(st.integers(1, 40))
    assert searched(curve, 1, data.draw(st.integers(1, 60)))[0] == exhaustive(curve, 1)


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(1, 80))
def test_of_any_metric_the_answer_is_enough_and_so_are_the_next_sizes(curve: list[bool], begin: int) -> None:
    answer, _ = searched(curve, 1, begin)
    if answer is None:
        assert not curve[-1]
    else:
        assert all(curve[answer - 1 : answer + ahead(answer)])
        assert answer == 1 or not curve[answer - 2]


# -- against the exhaustive sweep ----------------------------------------------------------------------------------

EXAMPLES = ROOT / "examples"
CASES: dict[str, tuple[Any, list[str], dict[str, Any]]] = {
    "tiny": (TINY, [], {"most": 12}),
    "waiting": (EXAMPLES / "failures/scenario.yaml", ["workload.requests=200"], {"until": "wait_p95 <= 2 min"}),
    "quickstart": ("quickstart", ["workload.requests=400", "agents=[random, best-fit]"], {}),
    "expansion": (EXAMPLES / "expansion/scenario.yaml", ["overflow=drop", "workload.requests=200"], {"most": 30}),
    "stop": (EXAMPLES / "numa/scenario.yaml", ["workload.requests=600", "warm_start=null", "cluster.node.cpu=20"],
     {"until": "scheduled >= 550"}),
    "groups": ("regimes/mixed",
     ["overflow=drop", "workload.requests=400", "agents=[first-fit, best-fit]", "size.kind='1'"], {}),
    "load": ("regimes/few", ["workload.requests=400", "agents=[first-fit, best-fit]"],
     {"until": "allocation_cpu <= 20 %", "most": 40}),
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", first(1, CASES))
def test_sizing_equals_the_exhaustive_sweep(name: str, tmp_path: Path) -> None:
    source, overrides, options = CASES[name]
    options = {"until": "acceptance >= 99 %", "most": 25, **options}
    scenario = bw.scenario(
        {**source, "name": name} if isinstance(source, dict) else source,
        *([] if isinstance(source, dict) else [*overrides, "replications=6", "record=null"]),
    )
    result: Any = bw.size(scenario, **options, jobs=1, out=tmp_path / "size")
    question, target = result.question, result.question.target
    sizes = tuple(range(question.least, question.most + 1))
    runs = bw.run(question.at(sizes), jobs=1, out=tmp_path / "all").done
    for row in result.frame.iter_rows(named=True):
        curves: dict[str, list[bool]] = {end: [] for end in ENDS}
        for size in sizes:
            at = runs.filter((pl.col("agent") == row["agent"]) & (pl.col(question.key) == size))
            mean, half = mean_interval(at[target.metric.name].to_numpy())
            half = half if at["random"].any() else 0.0
            for end, halves in ENDS.items():
                curves[end].append(bool(target.sign * (mean + target.sign * halves * half - target.value) >= -1e-12))
        expected = {end: exhaustive(curve, question.least) for end, curve in curves.items()}
        assert {end: row[end] for end in ENDS} == expected, row["agent"]


# -- where the answer is known -------------------------------------------------------------------------------------


def blocked(offered: float, servers: int) -> float:
    """Erlang's B: the share that is lost of requests that each take one of these servers, at this offered load."""
    lost = 1.0
    for count in range(1, servers + 1):
        lost = offered * lost / (count + offered * lost)
    return lost


def answered(values: Callable[[int], Any], target: float, most: int) -> dict[str, int | None]:
    """Search all three ends where `values(size)` are those of the seeds, and more is better."""
    actual: dict[str, int | None] = {}
    for end, halves in ENDS.items():
        known: dict[int, bool] = {}
        while (step := next_size(known, 1, most, 10)) is not None:
            mean, half = mean_interval(values(step))
            known[step] = bool(mean + halves * half >= target)
        actual[end] = answer_of(known, 1)
    return actual


@pytest.mark.long
def test_sizing_finds_the_servers_of_erlangs_formula(tmp_path: Path) -> None:
    """Servers that take one request each, and a target between what two sizes come to when all has settled."""
    offered, enough = 8.0, 14
    target = 1 - (blocked(offered, enough) * blocked(offered, enough - 1)) ** 0.5
    data = {
        "name": "erlang",
        "cluster": {"servers": 10, "node": {"cpu": 1}},
        "workload": random_requests(6_000, 1, [{"cpu": 1}], offered),
        "agents": ["first-fit"],
        "replications": 120,
        "sweep": {"product": {"cluster.servers": list(range(11, 19))}},
    }
    runs = bw.run(bw.scenario(data), out=tmp_path / "all", jobs=1).done
    by = {
        size: runs.filter(pl.col("cluster.servers") == size).sort("seed")["acceptance"].to_numpy()
        for size in range(11, 19)
    }
    for size, values in by.items():
        assert values.mean() == pytest.approx(1 - blocked(offered, size), abs=1.5e-3)
    right = exact = 0
    for group in range(24):  # five seeds each
        seeds = slice(5 * group, 5 * group + 5)
        actual = answered(lambda size, seeds=seeds: by[min(18, max(11, size))][seeds], target, 18)  # type: ignore[misc]
        right += (actual["low"] or 99) <= enough <= (actual["high"] or 99)
        exact += actual["size"] == enough
    assert right >= 22
    assert exact >= 20
    scenario = bw.scenario({**data, "sweep": {}, "replications": 20})
    sized: Any = bw.size(scenario, until=f"acceptance >= {100 * target} %", out=tmp_path / "size", jobs=1)
    assert sized.frame["size"].to_list() == [enough]


# -- the command, and what it leaves -------------------------------------------------------------------------------


def test_sizing_again_reads_the_answer_and_runs_nothing(sized: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder = sized.results.folder
    journal = (folder / "journal.jsonl").read_text()
    requested = ["size", str(folder.parent / "tiny.yaml"), "--set", "size.most=30", "--jobs", "1", "--out", str(folder)]
    assert main(requested) == 0
    captured = capsys.readouterr()
    assert "cluster.servers until acceptance >= 99 %" in captured.out
    assert "of a run" not in captured.out, "this scenario says nothing of costs"
    assert captured.err == ""
    assert (folder / "journal.jsonl").read_text() == journal
    sizes = pl.read_csv(folder / "sizes.csv")
    assert sizes["agent"].to_list() == ["first-fit", "worst-fit"]
    assert sizes["more"].min() == 0
    assert (sizes["low"] <= sizes["size"]).all()
    assert (sizes["size"] <= sizes["high"]).all()
    assert (folder / "figures" / "size.png").stat().st_size > 5000
    assert sized.frame.write_csv() == (folder / "sizes.csv").read_text()
    assert sized.results.swept == ["cluster.servers"]
    # The folder's own scenario is the sweep that was run, of which the question is a part.
    written = bw.scenario(folder / "scenario.yaml")
    assert written.size is not None
    assert (written.size.until, written.size.most) == ("acceptance >= 99 %", 30)
    looked = sized.results.runs["cluster.servers"].unique().sort().to_list()
    assert list(written.sweep.product["cluster.servers"]) == looked
    assert not [path for path in folder.rglob(".*") if path.suffix[1:].isdecimal()]


def test_bars_are_shorter_where_what_is_accepted_needs_the_room(
    sized: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, bars = sized.results.folder, []
    requested = ["size", str(folder.parent / "tiny.yaml"), "--set", "size.most=30", "--jobs", "1", "--out", str(folder)]
    for columns in (120, 80):
        monkeypatch.setattr(console.out, "_width", columns)
        assert main([*requested, "--set", "headings={worst-fit: an agent of our house}"]) == 0
        output = capsys.readouterr().out
        assert "accepted % there" in output
        bars.append(output.count("█"))
    assert bars[0] > bars[1] > 0


def test_servers_that_are_to_fail_must_be_there(tiny: Path) -> None:
    cluster = {
        **TINY["cluster"],
        "servers": 6,
        "failures": {"scheduled": [{"server": 4, "at": 100, "repair_after": 10}]},
    }
    tiny.write_text(yaml.safe_dump({**TINY, "cluster": cluster, "agents": ["first-fit"], "replications": 2}))
    assert quick(tiny, until="acceptance >= 1 %").frame["size"].to_list() == [5]
    with pytest.raises(
        UserError, match=r"(?s)size\.most: is no number of servers to look for \(got 4\).*Give 5 to .*; failures"
    ):
        quick(tiny, most=4)
    cluster = {**TINY["cluster"], "servers": 8, "domains": {"rack": 2}}
    cluster["failures"] = {"domains": {"rack": {"scheduled": [{"domain": 2, "at": 100, "repair_after": 10}]}}}
    tiny.write_text(yaml.safe_dump({**TINY, "cluster": cluster, "agents": ["first-fit"], "replications": 2}))
    assert quick(tiny, until="acceptance >= 1 %", out=tiny.parent / "domains").frame["size"].to_list() == [5]


@pytest.mark.long
def test_one_seed_has_no_interval_and_no_chance_an_exact_one(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = quick(tiny, "replications=1").frame.row(0, named=True)
    assert row["size"]
    assert (row["low"], row["high"], row["mean_low"]) == (None, None, None)
    fixed = {"arrivals": {"fixed": {"every": 10}}, "flavours": [{"cpu": 3}], "lifetimes": {"fixed": 95}, "requests": 50}
    tiny.write_text(yaml.safe_dump({**TINY, "workload": fixed, "replications": 1}))
    result = quick(tiny, until="acceptance >= 100 %").frame.row(0, named=True)
    assert (result["size"], result["low"], result["high"]) == (5, 5, 5)  # ten at a time, two on each
    out = str(tiny.parent / "exact")
    assert main(["size", str(tiny), "--jobs", "1", "--until", "acceptance >= 100 %", "--out", out]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "first-fit 5 * exact ██████████████ 100" in output
    assert "[5, 5]" not in output
    assert "Nothing was drawn" in output


def test_an_agent_that_fails_stops_no_other(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = written_agent(tiny.parent, "assert len(view.free) < 5")
    command = [
        "size",
        str(tiny),
        "--agents",
        f"first-fit, '{mine}'",
        "--seeds",
        "2",
        "--set",
        "size.most=30",
        "--jobs",
        "1",
    ]
    assert main([*command, "--out", str(tiny.parent / "size")]) == FAILED
    output = capsys.readouterr().out
    assert "AssertionError" in output
    assert output.count("█") == 14, "a bar for first-fit alone, as long as any"
    rows = pl.read_csv(tiny.parent / "size" / "sizes.csv")
    assert rows["verdict"].to_list() == ["best", "failed"]
    assert rows["size"].to_list()[1] is None
    broken = written_agent(tiny.parent, "raise RuntimeError", "broken")
    with pytest.raises(UserError, match="no agent's runs finished: "):
        quick(tiny, f"agents=['{broken}']", "replications=1", out=tiny.parent / "broken")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ["--until", "acceptence >= 99 %"],
            "no metric acceptence (got 'acceptence >= 99 %')\n  Did you mean 'acceptance'?",
        ),
        (["--until", "acceptance >= 150 %"], "is more than 100 %"),
        (["--until", "acceptance >= 99"], "is more than 100 % (got 'acceptance >= 99')\n  Write a metric"),
        (["--set", "size.most=2", "--seeds", "2"], "no agent meets this with 2 servers"),
        (["--set", "cluster.node.cpu=2", "--set", "size.most=2"], "its sign round. 65 % of the requests are larger"),
        (["--until", "allocation_cpu >= 99 %", "--set", "size.most=40"], "or turn its sign round"),
        (["--set", "size.kind=large"], "size.kind: there is no such group of servers"),
        (["--set", "overflow={expand: {by: 1, limit: 9}}"], "overflow: servers are added while runs go on"),
        (["--set", "overflow=stop"], "overflow: a run ends at its first refusal, so that acceptance says nothing"),
        (["--set", "sweep.product={size.most: [1, 2]}"], "cannot be swept"),
    ],
)
def test_mistakes(more: list[str], message: str, tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = [] if "--out" in more else ["--out", str(tiny.parent / "size")]
    assert main(["size", str(tiny), "--jobs", "1", "--seeds", "2", *out, *more]) == MISTAKE
    error = capsys.readouterr().err
    assert message in error
    assert "--set" not in error, "Python has no options"
    assert not (tiny.parent / "size" / "sizes.csv").exists()


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ("nara/table1", "cluster.network: the topology fixes how many servers there are"),
        ("fgd/default", "cluster.trace: the trace fixes how many servers there are"),
        ("cvd/table2", "were trained with servers 10, not with 11 (at cluster.servers=11)"),
    ],
)
def test_clusters_and_agents_of_one_size_are_refused(
    scenario: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = (
        ["--set", "sweep=null", "--set", "cluster.servers=10", "--set", "overflow=drop", "--agents", "sched-rl"]
        if scenario.startswith("cvd")
        else []
    )
    assert main(["size", scenario, *more, "--out", str(tmp_path / "out")]) == MISTAKE
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# -- the figure ----------------------------------------------------------------------------------------------------


def test_size_figure_draws_the_target_and_every_answer(sized: Any) -> None:
    result = sized
    figure = result.results.figure("size")
    above, below = figure.axes
    assert [line.get_ydata()[0] for line in above.lines if line.get_linestyle() == "--"] == [99.0]
    marks = [line.get_xdata().tolist() for line in below.lines if line.get_marker() != "None"]
    assert [mark[0] for mark in marks] == result.frame["size"].to_list()
    ends = [line.get_xdata().tolist() for line in below.lines if line.get_marker() == "None"]
    assert ends == [[row["low"], row["high"]] for row in result.frame.iter_rows(named=True)]
    assert "until acceptance >= 99 %" in figure.get_label()


SEVERAL = ["acceptance >= 90 %", "allocation_cpu <= 40 %"]


@pytest.mark.long
def test_several_targets_are_all_met(tiny: Path, tmp_path: Path) -> None:
    def ends(until: str) -> Any:
        result = quick(tiny, "agents=[first-fit]", "replications=3", until=until, out=tmp_path / str(len(until)))
        return result.frame.select("size", "low", "high").to_dict(as_series=False)

    alone, both = [ends(until) for until in SEVERAL], ends(" and ".join(SEVERAL))
    for end, result in both.items():
        assert result == [max(each) for each in zip(*(item[end] for item in alone), strict=True)]
    with pytest.raises(UserError, match="allocation_cpu"):
        bw.size(tiny, until="acceptance >= 1 % and allocation_cpu >= 99 %", most=2, out=tmp_path / "never")


@pytest.mark.long
def test_size_says_what_binds_and_that_overselling_is_not_free(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("binwright.commands.sizing.out.width", 160)
    node, file = {"cpu": 8, "mem": "16 GB"}, tmp_path / "oversold.yaml"
    flavours = [{"cpu": 1, "mem": "1.5 GB"}, {"cpu": 3, "mem": "4.5 GB"}]
    options = {**TINY, "workload": {**TINY["workload"], "flavours": flavours}, "agents": ["first-fit"]}
    for oversold, binds in ((1, "cpu"), (2, "mem")):
        cluster = {"servers": 3, "node": node, "overcommit": {"cpu": oversold}}
        file.write_text(yaml.safe_dump({**options, "cluster": cluster}))
        assert main(["size", str(file), "--out", str(tmp_path / str(oversold))]) == 0
        output = " ".join(capsys.readouterr().out.split())
        frame = pl.read_csv(tmp_path / str(oversold) / "sizes.csv")
        assert frame["binds"].to_list() == [binds]
        assert f" {binds} {100 * frame['full'][0]:.0f} % " in output


def test_a_sweep_is_not_sized(tmp_path: Path) -> None:
    swept = bw.scenario({**TINY, "sweep": {"product": {"overflow": ["drop", "wait"]}}})
    with pytest.raises(UserError, match="sweep: the scenario has several points\n  Size one point: sweep=null"):
        bw.size(swept, out=tmp_path, jobs=1)
