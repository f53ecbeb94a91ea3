"""How much the seeds' windows of a trace overlap, and where it is said."""

from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.measure.overlap import overlap, overlap_of
from binwright.analysis.report.page import Drawn, compose
from binwright.analysis.results_api import Results
from binwright.cli import main
from tests.support.results import row

Seeds = list[list[tuple[int, int]]]
spans = st.tuples(st.integers(0, 30), st.integers(1, 12)).map(lambda some: (some[0], some[0] + some[1]))


@given(st.lists(st.lists(spans, min_size=1, max_size=3), min_size=1, max_size=6))
def test_overlap_equals_counting_rows(seeds: Seeds) -> None:
    met = [set().union(*(range(first, end) for first, end in rows)) for rows in seeds]
    times = Counter(one for some in met for one in some)
    total = sum(map(len, met))
    share = sum(times[one] > 1 for some in met for one in some) / total
    assert list(overlap(seeds)) == pytest.approx([len(seeds), share])


def test_runs_say_their_windows_and_the_worst_point_counts() -> None:
    rows = [
        row(agent, seed, point={"key": key}, windows=f"{start}-{start + 9}")
        for key, starts in ((1, (0, 10)), (2, (0, 4)))
        for seed, start in enumerate(starts)
        for agent in "ab"
    ]
    rows += [
        row("stops early", seed, point={"key": 2}, windows=f"{start}-{start}") for seed, start in enumerate((0, 4))
    ]
    assert list(overlap_of(pl.DataFrame(rows), ["key"]) or ()) == pytest.approx([2, 0.6])
    assert overlap_of(pl.DataFrame([row("a", 0)]), []) is None
    rare = [row("a", seed, windows=f"{start}-{start + 99}") for seed, start in enumerate((0, 99))]
    assert overlap_of(pl.DataFrame(rare), []) is None, "not worth saying"


TRACE = "id,arrival,lifetime,cpu\n" + "".join(f"{n},{7 * n},{50 + 31 * n % 97},{1 + n % 3}\n" for n in range(200))
SCENARIO = """\
cluster: {servers: 3, node: {cpu: 4}}
workload: {trace: table, path: t.csv, start: {random: [0, 20]}, requests: 50}
agents: [first-fit, best-fit]
replications: 5
"""
APART = ["workload.start={apart: [0, 150]}", "workload.requests=30"]


@pytest.mark.long
def test_every_command_warns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(TRACE)
    Path("s.yaml").write_text(SCENARIO)
    for command in (["run", "s.yaml", "--out", "drawn"], ["compare", "drawn"]):
        assert main(command) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "The windows of these 5 seeds overlap: " in said, command
        assert "% of a seed's requests are met by another one too" in said
    monkeypatch.setattr("binwright.analysis.report.page.figures", lambda *_: Drawn({}, {}))
    assert "The windows of these 5 seeds overlap" in compose(Results("drawn"))
    apart = [word for change in APART for word in ("--set", change)]
    assert main(["validate", "s.yaml", *apart[:2]]) == 2
    assert Comparison(bw.run("s.yaml", *APART, out="apart", jobs=1)).overlap is None
