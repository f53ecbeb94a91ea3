"""`binwright size --mix` and sizes at the points of a sweep: equal to looking at everything, and what can go wrong."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from binwright.cli import MISTAKE, main
from scenarios.size.mixes import FoundMix, Market, Mix, next_mix
from simcore.errors import ResultsError, UserError
from tests.reference.mixes import cheapest

PRICES = {"small": 0.3, "large": 1.0}
TWO: dict[str, Any] = {
    "name": "two",
    "cluster": {
        "groups": [
            {"name": "small", "count": 2, "node": {"cpu": 4}},
            {"name": "large", "count": 1, "node": {"cpu": 16}},
        ]
    },
    "workload": {
        "requests": 40,
        "arrivals": {"poisson": {"every": 10}},
        "flavours": [{"cpu": 1, "weight": 3}, {"cpu": 3}, {"cpu": 6}],
        "lifetimes": {"exponential": {"mean": 60}},
    },
    "agents": ["first-fit", "worst-fit"],
    "replications": 3,
    "size": {"until": "acceptance >= 97 %", "mix": PRICES, "most": 7},
}


@pytest.fixture
def two(tmp_path: Path) -> Path:
    file = tmp_path / "two.yaml"
    file.write_text(yaml.safe_dump(TWO))
    return file


def found(enough: dict[Mix, bool], market: Market) -> Mix | None:
    known: dict[Mix, bool] = {}
    while not isinstance(step := next_mix(known, market), FoundMix):
        assert step not in known, "looked at twice"
        known[step] = enough[step]
    return step.size


@st.composite
def markets(draw: st.DrawFn) -> tuple[dict[Mix, bool], Market]:
    """Mixes of which any may be enough, of two or three kinds, few enough for the search to look at all of a line."""
    kinds = draw(st.integers(2, 3))
    most = tuple(draw(st.integers(1, 3)) for _ in range(kinds))  # what is looked at above an answer, and no more
    prices = tuple(Fraction(draw(st.integers(1, 4)), draw(st.integers(1, 3))) for _ in range(kinds))
    begin = tuple(draw(st.integers(1, one)) for one in most)
    mixes = [mix for mix in product(*(range(one + 1) for one in most)) if any(mix)]
    if draw(st.booleans()):
        return {mix: draw(st.booleans()) for mix in mixes}, Market(prices, most, begin)
    strength, needed = [draw(st.integers(1, 5)) for _ in range(kinds)], draw(st.integers(1, 20))
    served = {mix: sum(a * b for a, b in zip(strength, mix, strict=True)) >= needed for mix in mixes}
    return served, Market(prices, most, begin)


@given(markets())
def test_the_search_finds_what_looking_at_every_mix_finds(case: tuple[dict[Mix, bool], Market]) -> None:
    enough, market = case
    assert found(enough, market) == cheapest(enough.__getitem__, market)


def test_many_mixes_are_never_looked_at() -> None:
    """A cluster of 100 in all, of which one kind is a little stronger for its price."""
    enough: dict[Mix, bool] = {
        mix: 2 * mix[0] + 5 * mix[1] >= 203 for mix in product(range(201), range(201)) if any(mix)
    }
    market = Market((Fraction("0.4"), Fraction("1.1")), (200, 200), (10, 10))
    looks: dict[Mix, bool] = {}
    while not isinstance(step := next_mix(looks, market), FoundMix):
        looks[step] = enough[step]
    assert step.size == cheapest(enough.__getitem__, market)
    assert len(looks) < 400  # of 40,400


@pytest.mark.long
@pytest.mark.parametrize(
    "changed",
    [
        {"most": 4},
        pytest.param({}, marks=pytest.mark.long),
        pytest.param({"until": "acceptance >= 90 %", "mix": {"small": 0.2, "large": 1.0}}, marks=pytest.mark.long),
        pytest.param({"until": "rejected <= 1", "mix": {"small": 0.5, "large": 1.0}}, marks=pytest.mark.long),
    ],
)
def test_it_is_the_cheapest_of_an_exhaustive_sweep(two: Path, changed: dict[str, Any]) -> None:
    asked = TWO["size"] | changed
    two.write_text(yaml.safe_dump({**TWO, "size": asked}))
    answer = bw.size_mix(two, jobs=1, out=two.parent / "size")
    keys, each = answer.question.keys, range(asked["most"] + 1)
    mixes = [mix for mix in product(each, each) if any(mix)]
    sweep = {"zip": dict(zip(keys, map(list, zip(*mixes, strict=True)), strict=True))}
    every = bw.run(bw.scenario({**TWO, "sweep": sweep}), out=two.parent / "all", jobs=1).done
    metric, target = answer.question.target.metric.name, answer.question.target
    lost = every.group_by(*keys).agg(pl.col("impossible").sum())["impossible"].min()
    for row in answer.frame.iter_rows(named=True):
        runs = every.filter(pl.col("agent") == row["agent"]).group_by(*keys)
        means: dict[Mix, bool] = {
            (large, small): target.met(mean) and impossible <= lost
            for large, small, mean, impossible in runs.agg(pl.col(metric).mean(), pl.col("impossible").sum()).rows()
        }
        market = answer.question.market
        right = cheapest(means.__getitem__, market)
        assert right is not None
        assert (row["large"], row["small"], row["cost"]) == (*right, float(market.cost(right)))
        assert row["cost_low"] <= row["cost"] <= (row["cost_high"] or 99)
        assert row["cost_only_small"] is None, "the large requests fit on no small server"
        assert row["cost_only_large"] is None or row["cost_only_large"] >= row["cost"]
    assert answer.frame["more"].min() == 0
    assert pl.read_csv(two.parent / "size" / "mixes.csv")["small"].equals(answer.frame["small"])


def test_the_command_shows_the_mix_and_goes_on_from_its_folder(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["size", str(two), "--jobs", "1", "--seeds", "2", "--out", str(two.parent / "size")]
    assert main(asked) == 0
    first = capsys.readouterr()
    assert "cheapest large + small until acceptance >= 97 %" in first.out
    assert "first-fit, 1 large, 2 small: accepted % " in first.err
    assert "the cost of that kind alone" in " ".join(first.out.split())
    assert "mixes.csv" in first.out
    assert f"Figure:  {two.parent}/size/figures/mix.png\n" in first.out
    journal = (two.parent / "size" / "journal.jsonl").read_text()
    assert main(asked) == 0
    assert capsys.readouterr().out == first.out
    assert (two.parent / "size" / "journal.jsonl").read_text() == journal


COSTS = ("cost", "cost_low", "cost_high", "cost_only_small", "cost_only_large")
MIXES = [  # agent, small, large, then COSTS
    ("first-fit", 3, 2, 2.9, 2.6, 3.3, None, 4.0),
    ("worst-fit", 0, 5, 5.0, 4.3, None, None, 5.0),
    ("random", None, None, None, None, None, None, None),
]


def test_the_figure_has_every_cost_with_its_interval_and_not_zero(two: Path, tmp_path: Path) -> None:
    data = {**TWO, "agents": [row[0] for row in MIXES], "replications": 2}
    results = bw.run(bw.scenario({**data, "size": None}), out=tmp_path, jobs=1)
    with pytest.raises(ResultsError, match=r"mixes\.csv: there is no answer of binwright size here"):
        results.figure("mix")
    frame = pl.DataFrame(MIXES, schema=["agent", "small", "large", *COSTS], orient="row")
    said = {"until": "acceptance >= 97 %", "prices": "small 0.3, large 1"}
    frame.with_columns(**{name: pl.lit(text) for name, text in said.items()}).write_csv(tmp_path / "mixes.csv")
    (ax,) = (figure := results.figure("mix")).axes
    drawn = [np.asarray(line.get_data(), np.float64).T.tolist() for line in ax.lines]
    assert sorted(ends[0] for ends in drawn if len(ends) == 1) == [[2.9, 0], [4, 0], [5, 1], [5, 1]]
    spans = [(ends[0][0], ends[1][0]) for ends in drawn if len(ends) == 2]
    low, far = ax.get_xlim()
    assert 0 < low < 2.6
    assert far > 5
    assert spans == [(2.6, 3.3), (4.3, far)]
    assert [text.get_text() for text in ax.texts] == ["3 small + 2 large", "5 large", "none is enough"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["large alone"]
    with pytest.raises(ResultsError, match="no mix is enough for any of these agents"):
        results.figure("mix", agents=["random"])


def test_prices_may_be_those_of_the_costs(two: Path) -> None:
    kinds = {name: {"price": price} for name, price in PRICES.items()}
    data = {**TWO, "replications": 1, "agents": ["first-fit"], "costs": {"kinds": kinds}}
    two.write_text(yaml.safe_dump({**data, "size": {**TWO["size"], "mix": "costs"}}))
    same = bw.size_mix(two, jobs=1, out=two.parent / "costs").frame
    two.write_text(yaml.safe_dump({**TWO, "replications": 1, "agents": ["first-fit"]}))
    assert same.equals(bw.size_mix(two, jobs=1, out=two.parent / "plain").frame)
    assert same["cost_low"].to_list() == [None]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ["--mix", "small=0.3,lorge=1"],
            "mix: there is no such group of servers (got 'lorge')\n  Did you mean 'large'",
        ),
        (["--mix", "small=0.3"], "mix: is no mix (got 'small')\n  Name two kinds or more"),
        (["--mix", "small=0,large=1"], "mix small: is no price (got 0.0)"),
        (["--mix", "small=much,large=1"], "--mix: has no price (got 'small=much')"),
        (["--mix", "costs"], "mix: has no price in `costs` (got 'small')"),
        (["--mix", "cheap"], "mix: says no prices (got 'cheap')"),
        (["--kind", "small"], "--kind: does not go with --mix"),
        (["--set", "overflow={expand: {by: 1, limit: 9}}"], "overflow: servers are added while runs go on"),
        (["--set", "sweep.product={workload.requests: [1, 2]}"], "sweep: the scenario has a sweep"),
        (["--set", "cluster.failures.scheduled=[{server: 0, at: 5}]"], "servers fail by number"),
        (["--set", "cluster={servers: 3, node: {cpu: 8}}"], "size.mix: the cluster has no groups of servers"),
        (["--most", "1", "--until", "acceptance >= 99.9 %"], "no agent meets this with 1 large, 1 small; "),
    ],
)
def test_mistakes(more: list[str], message: str, two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["size", str(two), "--jobs", "1", "--seeds", "2", "--out", str(two.parent / "size"), *more]) == MISTAKE
    assert message in capsys.readouterr().err
    assert not (two.parent / "size" / "mixes.csv").exists()


def test_a_cluster_needs_one_server() -> None:
    groups = [{"count": 0, "node": {"cpu": 4}}, {"count": 0, "node": {"cpu": 8}}]
    with pytest.raises(UserError, match=r"cluster\.groups: has no server"):
        bw.scenario({**TWO, "cluster": {"groups": groups}, "size": None})


# -- sweeps --------------------------------------------------------------------------------------------------------


def test_every_point_of_a_sweep_has_the_answer_that_it_has_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = {**TWO, "cluster": {"servers": 2, "node": {"cpu": 8}}, "size": {"most": 12}, "replications": 2}
    swept = {"product": {"workload.requests": [20, 40], "overflow": ["drop", "stop"]}}
    file = tmp_path / "swept.yaml"
    file.write_text(yaml.safe_dump({**data, "sweep": swept}))
    asked = ["size", str(file), "--jobs", "1", "--until", "acceptance >= 98 %", "--out", str(tmp_path / "swept")]
    assert main(asked) == 0
    said = capsys.readouterr()
    assert "overflow drop, workload.requests 40, first-fit, 2 servers: " in said.err
    sizes = pl.read_csv(tmp_path / "swept" / "sizes.csv")
    assert sizes.columns[:3] == ["overflow", "workload.requests", "agent"]
    assert len(sizes) == 8
    alone = {**data, "workload": {**data["workload"], "requests": 40}, "overflow": "drop"}
    right = bw.size(bw.scenario(alone), until="acceptance >= 98 %", out=tmp_path / "alone", jobs=1).frame
    here = sizes.filter((pl.col("workload.requests") == 40) & (pl.col("overflow") == "drop"))
    assert here.drop("workload.requests", "overflow").rows() == right.rows()
    never = bw.sizes(file, until="acceptance >= 98 %", most=1, out=tmp_path / "never", jobs=1).frame
    assert never["size"].null_count() > 0, "where nobody has enough, that is an answer, too"


def test_what_is_looked_for_cannot_be_swept(tmp_path: Path) -> None:
    data = {**TWO, "cluster": {"servers": 2, "node": {"cpu": 8}}, "size": None}
    swept = bw.scenario({**data, "sweep": {"product": {"cluster.servers": [1, 2]}}})
    with pytest.raises(UserError, match="sweep: the number that is looked for is swept"):
        bw.sizes(swept, out=tmp_path, jobs=1)
