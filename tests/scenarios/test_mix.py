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
from binwright.scenarios.size.evaluate import SizeFound
from binwright.scenarios.size.mixes import Market, Mix, next_mix
from binwright.simcore.errors import ResultsError, UserError
from tests.reference.mixes import cheapest, every, safest

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


def found(enough: dict[Mix, bool], market: Market, near: Mix | None = None) -> Mix | None:
    known: dict[Mix, bool] = {}
    while not isinstance(step := next_mix(known, market, near), SizeFound):
        assert step not in known, "looked at twice"
        known[step] = enough[step]
    return step.size


@st.composite
def markets(draw: st.DrawFn) -> Market:
    """Two or three kinds, few enough for the search to look at all sizes above an answer."""
    kinds = draw(st.integers(2, 3))
    most = tuple(draw(st.integers(1, 3)) for _ in range(kinds))
    prices = tuple(Fraction(draw(st.integers(1, 4)), draw(st.integers(1, 3))) for _ in range(kinds))
    return Market(prices, most, tuple(draw(st.integers(1, one)) for one in most))


@given(markets(), st.data())
def test_the_search_finds_what_looking_at_every_mix_finds(market: Market, data: st.DataObject) -> None:
    """Where more servers are never too few: any number of corners, beyond each of which all mixes are enough."""
    mixes = every(market)
    corners = data.draw(st.lists(st.sampled_from(mixes), max_size=4))
    enough = {mix: any(all(a >= b for a, b in zip(mix, corner, strict=True)) for corner in corners) for mix in mixes}
    right = cheapest(enough.__getitem__, market)
    assert found(enough, market) == right == safest(enough.__getitem__, market)
    near = data.draw(st.sampled_from(mixes))
    assert found(enough, market, near) == right


@given(markets(), st.data())
def test_where_more_may_be_too_few_the_answer_is_between_the_cheapest_and_the_safest(
    market: Market, data: st.DataObject
) -> None:
    enough = {mix: data.draw(st.booleans()) for mix in every(market)}
    least, most = cheapest(enough.__getitem__, market), safest(enough.__getitem__, market)
    answer = found(enough, market)
    if answer is None:
        assert most is None
    else:
        assert least is not None
        assert enough[answer]
        assert market.rank(least) <= market.rank(answer)
        assert most is None or market.rank(answer) <= market.rank(most)


@pytest.mark.parametrize(
    ("prices", "needs", "looks"),
    [
        ((1.1, 0.4), [(5, 2, 203)], 80),  # one kind is a little stronger for its price
        ((1.4, 0.3), [(1, 0, 8), (96, 32, 1400)], 30),  # some requests fit on the large ones only
        ((1.4, 0.3), [(1, 0, 4), (96, 32, 1400), (768, 128, 9000)], 40),
        ((1.4, 0.42), [(1, 0, 40), (96, 32, 28000)], 150),  # 800 servers
    ],
)
def test_few_mixes_are_looked_at(prices: tuple[float, float], needs: list[tuple[int, int, int]], looks: int) -> None:
    """Of ten thousands, up to a hundred times the servers that are there."""
    market = Market(tuple(Fraction(str(price)) for price in prices), (1000, 1000), (10, 10))

    def enough(mix: Mix) -> bool:
        return all(a * mix[0] + b * mix[1] >= least for a, b, least in needs)

    known: dict[Mix, bool] = {}
    while not isinstance(step := next_mix(known, market), SizeFound):
        known[step] = enough(step)
    fewest = [
        (large, max(0, *(-((a * large - least) // b) for a, b, least in needs if b)))
        for large in range(1001)
        if all(b or a * large >= least for a, b, least in needs)
    ]
    assert step.size == min(((large, small) for large, small in fewest if small <= 1000), key=market.rank)
    assert len(known) < looks


def test_the_cheapest_is_no_dearer_than_what_meets_the_target_alone() -> None:
    """Seven large ones are enough, and with a small one beside them it is not so: they stay the cheapest."""
    market = Market((Fraction("1.1"), Fraction("0.3")), (9, 9), (7, 2))
    enough = {mix: mix[0] >= 7 and mix != (7, 1) for mix in every(market)}
    assert cheapest(enough.__getitem__, market) == (7, 0)
    known: dict[Mix, bool] = {mix: enough[mix] for mix in ((7, 2), (7, 1), (7, 0), (8, 0), (9, 0))}
    while not isinstance(step := next_mix(known, market), SizeFound):
        known[step] = enough[step]
    assert step.size == (7, 0)
    assert market.cost((7, 0)) < market.cost((7, 2))


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
    answer: Any = bw.size(two, jobs=1, out=two.parent / "size")
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
        least, most = cheapest(means.__getitem__, market), safest(means.__getitem__, market)
        mix = row["large"], row["small"]
        assert least is not None
        assert most is not None
        assert means[mix]
        assert market.rank(least) <= market.rank(mix) <= market.rank(most)
        assert row["cost"] == float(market.cost(mix))
        assert row["cost_low"] <= row["cost"] <= (row["cost_high"] or 99)
        assert row["cost_only_small"] is None, "the large requests fit on no small server"
        assert row["cost_only_large"] is None or row["cost_only_large"] >= row["cost"]
        alone = [float(market.cost(one)) for one in means if means[one] and not one[1]]
        assert row["cost"] <= min(alone, default=99.0)
    assert answer.frame["more"].min() == 0
    assert pl.read_csv(two.parent / "size" / "mixes.csv")["small"].equals(answer.frame["small"])


def test_the_command_shows_the_mix_and_goes_on_from_its_folder(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["size", str(two), "--jobs", "1", "--seeds", "2", "--out", str(two.parent / "size")]
    assert main(asked) == 0
    first = capsys.readouterr()
    assert "cheapest large + small until acceptance >= 97 %" in first.out
    assert first.err == ""
    assert "the cost of that kind alone" in " ".join(first.out.split())
    assert "mixes.csv" in first.out
    assert f"Figure:  {two.parent}/size/figures/mix.png\n" in first.out
    journal = (two.parent / "size" / "journal.jsonl").read_text()
    assert main([*asked, "--verbose"]) == 0
    again = capsys.readouterr()
    assert again.out == first.out
    assert "first-fit, 1 large, 2 small: accepted % " in again.err
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
    assert str(figure.get_label()).startswith("first-fit needs the cheapest servers: 3 small + 2 large. ")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["large alone"]
    with pytest.raises(ResultsError, match="no mix is enough for any of these agents"):
        results.figure("mix", agents=["random"])


def test_answers_say_what_their_runs_cost_and_draw(
    two: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In money and kWh, if the scenario says so: those of the runs at the answer, on average."""
    monkeypatch.setattr("binwright.commands.sizing.out.width", 200)
    kinds = {name: {"price": price, "power": {"idle": "50 W", "peak": "200 W"}} for name, price in PRICES.items()}
    data = {**TWO, "replications": 2, "agents": ["first-fit"], "costs": {"kinds": kinds, "currency": "EUR"}}
    for asked, extra, file in ((TWO["size"], [], "mixes.csv"), ({"most": 9}, ["--kind", "large"], "sizes.csv")):
        two.write_text(yaml.safe_dump({**data, "size": asked}))
        folder = two.parent / file
        assert main(["size", str(two), "--jobs", "1", *extra, "--out", str(folder)]) == 0
        said = " ".join(capsys.readouterr().out.split())
        row = pl.read_csv(folder / file).row(0, named=True)
        runs = pl.read_parquet(folder / "runs.parquet")
        here = pl.col("cluster.groups.1.count") == row.get("large", row.get("size"))
        if file == "mixes.csv":
            here &= pl.col("cluster.groups.0.count") == row["small"]
            assert "cost/h EUR" in said
            assert "EUR an hour)" in said
        there = runs.filter(here)
        assert row["spent"] == pytest.approx(there["cost"].mean())
        assert row["energy"] == pytest.approx(there["energy"].mean())
        assert " EUR" in said
        assert " kWh" in said


def test_prices_may_be_those_of_the_costs(two: Path) -> None:
    kinds = {name: {"price": price} for name, price in PRICES.items()}
    data = {**TWO, "replications": 1, "agents": ["first-fit"], "costs": {"kinds": kinds}}
    two.write_text(yaml.safe_dump({**data, "size": {**TWO["size"], "mix": "costs"}}))
    same = bw.size(two, jobs=1, out=two.parent / "costs").frame
    two.write_text(yaml.safe_dump({**TWO, "replications": 1, "agents": ["first-fit"]}))
    plain = bw.size(two, jobs=1, out=two.parent / "plain").frame
    assert same.drop("spent").equals(plain.drop("spent"))
    assert plain["spent"].to_list() == [None]
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
        (["--kind", "small"], "kind: does not go with a mix"),
        (["--set", "overflow={expand: {by: 1, limit: 9}}"], "overflow: servers are added while runs go on"),
        (["--set", "overflow=stop"], "overflow: a run ends at its first refusal, so that acceptance says nothing"),
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


@pytest.mark.long
def test_every_point_of_a_sweep_has_the_answer_that_it_has_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = {**TWO, "cluster": {"servers": 2, "node": {"cpu": 8}}, "size": {"most": 12}, "replications": 2}
    swept = {"product": {"workload.requests": [20, 40], "overflow": ["drop", "wait"]}}
    file = tmp_path / "swept.yaml"
    file.write_text(yaml.safe_dump({**data, "sweep": swept}))
    asked = ["size", str(file), "--jobs", "1", "--until", "acceptance >= 98 %", "--out", str(tmp_path / "swept")]
    assert main([*asked, "--verbose"]) == 0
    said = capsys.readouterr()
    assert "overflow drop, workload.requests 40, first-fit, 2 servers: " in said.err
    sizes = pl.read_csv(tmp_path / "swept" / "sizes.csv")
    assert sizes.columns[:3] == ["overflow", "workload.requests", "agent"]
    assert len(sizes) == 8
    alone = {**data, "workload": {**data["workload"], "requests": 40}, "overflow": "drop"}
    right = bw.size(bw.scenario(alone), until="acceptance >= 98 %", out=tmp_path / "alone", jobs=1).frame
    here = sizes.filter((pl.col("workload.requests") == 40) & (pl.col("overflow") == "drop"))
    assert here.drop("workload.requests", "overflow").rows() == right.rows()
    never = bw.size(file, until="acceptance >= 98 %", most=1, out=tmp_path / "never", jobs=1).frame
    assert never["size"].null_count() > 0, "where nobody has enough, that is an answer, too"


def test_what_is_looked_for_cannot_be_swept(tmp_path: Path) -> None:
    data = {**TWO, "cluster": {"servers": 2, "node": {"cpu": 8}}, "size": None}
    swept = bw.scenario({**data, "sweep": {"product": {"cluster.servers": [1, 2]}}})
    with pytest.raises(UserError, match="sweep: the number that is looked for is swept"):
        bw.size(swept, out=tmp_path, jobs=1)
