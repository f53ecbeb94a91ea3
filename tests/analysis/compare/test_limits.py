"""Limits that `compare --fail-if` holds results to, and results beside earlier ones of the same agents."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.measure.condition import limit_of
from binwright.analysis.measure.definition import describe
from binwright.analysis.results_api import Results
from binwright.cli import main
from binwright.simcore.errors import UserError
from tests.support.results import row, write_results

METRICS = describe(["cpu"], [])
SEEDS = 10


def results(folder: Path, **acceptance: float) -> Results:
    """Make up ten seeds of each agent around its acceptance; waits are a minute for every hundredth that is lacking."""
    rows: list[dict[str, Any]] = [
        row(agent, seed, acceptance=float(drawn), wait_p95=6000 * (1 - mean), random=True)
        for agent, mean in acceptance.items()
        for seed, drawn in enumerate(np.random.default_rng(round(mean * 1e4)).normal(mean, 0.001, SEEDS))
    ]
    write_results(folder, rows)
    (folder / "scenario.yaml").write_text("name: small\n")
    return Results(folder)


@pytest.mark.parametrize(
    ("text", "of", "value"),
    [
        ("acceptance < 99 %", "mean", 0.99),
        ("acceptance<-1%", "relative", -1.0),
        ("acceptance > +.5 %", "relative", 0.5),
        ("acceptance < -0.01", "difference", -0.01),
        ("wait_p95 > 10 min", "mean", 600.0),
        ("wait_p95 > +10 min", "difference", 600.0),
        ("wait_p95 > +150 %", "relative", 150.0),
        ("servers_used > 3", "mean", 3.0),
    ],
)
def test_limits_are_parsed(text: str, of: str, value: float) -> None:
    limit = limit_of(text, METRICS)
    assert limit.of == of
    assert limit.value == pytest.approx(value)
    assert limit.text == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("acceptance", "does not say what must not be"),
        ("acceptance <= -1 %", "does not say what must not be"),
        ("acceptence < -1 %", "no metric acceptence.*Did you mean .acceptance"),
        ("acceptance < 99", "is more than 100 %.*Did you mean '99 %'"),
        ("acceptance < -", "nothing, behind acceptance"),
        ("acceptance < --1 %", "behind"),
        ("wait_p95 > +10 apples", "not a unit of time"),
        ("servers_used > nan", "is not finite"),
        ("servers_used > 5 %", "is not a number.*with a sign, % is of the baseline"),
    ],
)
def test_limits_that_cannot_be_read(text: str, said: str) -> None:
    with pytest.raises(UserError, match=f"(?s){said}") as error:
        limit_of(text, METRICS)
    assert error.value.key == "--fail-if"


def test_agents_beyond_a_limit_are_listed(tmp_path: Path) -> None:
    comparison = results(tmp_path, old=0.95, same=0.9501, worse=0.93, better=0.97).compare(metrics=["acceptance"])

    def beyond(text: str) -> list[str]:
        return comparison.beyond(limit_of(text, METRICS))["agent"].to_list()

    assert beyond("acceptance < -1 %") == ["worse"]
    assert beyond("acceptance < -3 %") == []
    assert beyond("acceptance < 0.94") == ["worse"]
    assert beyond("acceptance > +1 %") == ["better"]
    assert beyond("acceptance > +0.01") == ["better"]
    assert beyond("acceptance > +0 %") == ["better"]  # `same` is above, but these seeds cannot tell
    with pytest.raises(UserError, match="nothing to hold against"):
        comparison.beyond(limit_of("wait_p95 > 10 min", METRICS))


def test_earlier_results_may_be_of_another_name(tmp_path: Path) -> None:
    before, now = results(tmp_path / "a", first=0.95), results(tmp_path / "b", first=0.92)
    (before.folder / "scenario.yaml").write_text("name: other\n")
    found = now.compare(metrics="acceptance", since=tmp_path / "a")
    assert found.frame.filter(pl.col("agent") == "now")["pairs"].to_list() == [SEEDS]


def test_too_few_seeds_are_no_pass(tmp_path: Path) -> None:
    means = {"a": 0.9, "b": 0.8}
    rows = [row(agent, seed, acceptance=means[agent], random=True) for agent in means for seed in (0, 1)]
    write_results(tmp_path, rows)
    comparison = Results(tmp_path).compare(metrics="acceptance")
    with pytest.raises(UserError, match="2 seeds in common are too few to test whether b is beyond it"):
        comparison.beyond(limit_of("acceptance < -1 %", METRICS))
    assert comparison.beyond(limit_of("acceptance > +1 %", METRICS)).is_empty()


def test_each_agent_beside_itself(tmp_path: Path) -> None:
    results(tmp_path / "a", first=0.95, second=0.94, gone=0.9)
    now = results(tmp_path / "b", first=0.95, second=0.92, new=0.5)
    found = now.compare(metrics="acceptance", since=tmp_path / "a")
    rows = {(one["of"], one["agent"]): one for one in found.frame.iter_rows(named=True)}
    assert rows["first", "now"]["diff"] == 0
    assert rows["second", "now"]["verdict"] == "worse"
    assert rows["second", "now"]["diff"] == pytest.approx(-0.02, abs=0.002)
    assert rows["new", "now"]["pairs"] == 0
    assert found.families == {"acceptance": 2}
    assert found.beyond(limit_of("acceptance < -1 %", METRICS))["of"].to_list() == ["second"]
    assert found.beyond(limit_of("acceptance < 91 %", METRICS))["of"].to_list() == ["new"]
    assert "| agent | results | mean |" in found.markdown()
    with pytest.raises(UserError, match="does not go with earlier results"):
        Comparison(now, "first", since=now)


def test_compare_fails_where_a_limit_is_broken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results(tmp_path / "a", first=0.95, second=0.94)
    results(tmp_path / "b", first=0.95, second=0.92)
    asked = ["compare", str(tmp_path / "b"), "--since", str(tmp_path / "a"), "--metric", "acceptance"]
    assert main([*asked, "--fail-if", "acceptance < -3 %"]) == 0
    assert "acceptance < -3 %: nowhere" in capsys.readouterr().err
    assert main([*asked, "--fail-if", "acceptance < -1 %", "--fail-if", "wait_p95 > 1 d"]) == 1
    told = capsys.readouterr().err
    assert "acceptance < -1 %:\n  second: -1.94" in told
    assert "%) beside before" in told
    assert "wait_p95 > 1 d: nowhere" in told
    assert main([*asked, "--fail-if", "acceptance"]) == 2
