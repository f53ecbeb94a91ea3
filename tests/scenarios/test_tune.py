"""`binwright tune`: finds what is there to be found, goes on when interrupted, and everything that can go wrong."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

import binwright as bw
from binwright.cli import INTERRUPTED, main
from binwright.scenarios.learn import tune as tuning
from binwright.scenarios.learn.tune import Range, closer
from binwright.simcore.errors import UserError
from binwright.simcore.rng import stream
from tests.support.scenarios import random_requests

AGENT = '''
from binwright import Agent


class Share(Agent):
    """Takes requests of up to `most` cpu on the first server; anything else is given up."""

    reference = "a test"

    def __init__(self, most: int = 1, near: float = 0.5, note: str = "", flag: bool = False, free: float | None = None):
        if near > 5:
            raise ValueError
        self.most, self.near = most, near

    def decide(self, view, request):
        fits = (view.free[0, 0] >= request.demand).all()
        return request.on(0, 0) if fits and request.demand[0] <= self.most * 1_000_000 else None
'''


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """One large server; everything fits, so taking all of it is best."""
    (tmp_path / "share.py").write_text(AGENT)
    data = {
        "cluster": {"servers": 1, "node": {"cpu": 1000}},
        "workload": random_requests(30, 10, [{"cpu": cpu} for cpu in (1, 2, 3, 4, 5, 6, 7, 8)], {"fixed": 10}),
        "agents": ["first-fit"],
    }
    file = tmp_path / "tiny.yaml"
    file.write_text(yaml.safe_dump(data))
    return file


def quick(file: Path, **more: Any) -> Any:
    """A search of a few seconds."""
    settings: dict[str, Any] = {"rounds": 6, "population": 6, "seeds": 2, "held_out": 6, "jobs": 1}
    settings |= {"params": {"most": "1..8"}, "out": file.parent / "tuning"} | more
    return bw.tune(file, agent=f"{file.parent}/share.py:Share", **settings)


def test_tuning_finds_the_best_option_and_its_gain(tiny: Path) -> None:
    seen: list[dict[str, Any]] = []
    result = quick(tiny, on_progress=seen.append)
    [options] = result.agent.values()
    assert options["most"] == 8
    assert isinstance(options["most"], int)
    row = result.comparison.frame.row(1, named=True)
    assert (row["agent"], row["verdict"], row["mean"]) == ("share.py:Share tuned", "better", 1.0)
    assert result.log["step"].to_list() == [0, 1, 2, 3, 4, 5, 6, 6]
    assert result.log["split"].to_list() == ["train"] * 7 + ["validation"]
    assert result.log["seconds"].is_sorted()
    assert result.log["acceptance"][-1] == 1.0
    assert [row["step"] for row in seen] == result.log["step"].to_list()
    folder = tiny.parent / "tuning"
    assert pl.read_parquet(folder / "log.parquet").equals(result.log)
    written = yaml.safe_load((folder / "tuned.yaml").read_text())
    assert written == {"agents": [result.agent]}
    again = bw.scenario({**yaml.safe_load(tiny.read_text()), **written})
    assert bw.run(again, out=tiny.parent / "again").done["acceptance"].to_list() == [1.0]
    assert not [path for path in folder.rglob(".*") if path.suffix[1:].isdecimal()]


def test_less_may_be_better(tiny: Path) -> None:
    result = quick(tiny, metric="servers_used", rounds=3)
    assert next(iter(result.agent.values()))["most"] == 1


@pytest.mark.long
def test_interrupted_it_keeps_what_is_known_and_goes_on(
    tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    straight = quick(tiny, out=tiny.parent / "straight")
    frame = [str(tiny), "--agent", f"{tiny.parent}/share.py:Share", "--param", "most=1..8", "--jobs", "1"]
    frame += ["--rounds", "6", "--population", "6", "--seeds", "2", "--held-out", "6"]
    frame += ["--out", str(tiny.parent / "cut")]
    rounds = []

    def interrupting(*arguments: Any) -> Any:
        rounds.append(arguments)
        if len(rounds) == 3:
            raise KeyboardInterrupt
        return closer(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(tuning, "closer", interrupting)
        assert main(["tune", *frame]) == INTERRUPTED
    assert "Run the same command to resume" in capsys.readouterr().err
    assert pl.read_parquet(tiny.parent / "cut" / "log.parquet")["step"].to_list() == [0, 1, 2]
    assert (tiny.parent / "cut" / "tuned.yaml").read_text().startswith("# round 2 of 6")
    assert main(["tune", *frame]) == 0
    captured = capsys.readouterr()
    assert "share.py:Share tuned" in captured.out
    assert "round 6: acceptance" in captured.err
    assert (tiny.parent / "cut" / "tuned.yaml").read_text() == (tiny.parent / "straight" / "tuned.yaml").read_text()
    assert pl.read_parquet(tiny.parent / "cut" / "log.parquet").drop("seconds").equals(straight.log.drop("seconds"))
    assert main(["figures", str(tiny.parent / "cut"), "--kind", "learning", "--out", str(tiny.parent / "a.png")]) == 0
    assert (tiny.parent / "a.png").stat().st_size > 5000


def test_a_candidate_that_fails_is_the_worst(tiny: Path) -> None:
    code = AGENT.replace("fits = (", "assert self.most < 7\n        fits = (")
    (tiny.parent / "share.py").write_text(code)
    result = quick(tiny, rounds=8)
    assert next(iter(result.agent.values()))["most"] == 6
    (tiny.parent / "share.py").write_text(AGENT.replace("fits = (", "assert False\n        fits = ("))
    with pytest.raises(UserError, match="no run finished: "):
        quick(tiny)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"params": {}}, "there is nothing to tune"),
        ({"params": {"mist": "1..8"}}, "param mist: unknown option\n  Did you mean 'most'"),
        ({"params": {"note": "1..8"}}, r"param note: expected text, got 1\.0\n  Tune options that take numbers"),
        ({"params": {"near": "1-2"}}, r"param near: is not a range \(got '1-2'\)\n  Write near=0..4"),
        ({"params": {"near": (2, 0)}}, r"param near: is not a range \(got \(2, 0\)\)"),
        ({"params": {"near": ".1..3:log"}}, "is not a range .*\n  Write near=0..4, without `:log`"),
        ({"rounds": 0}, "rounds: is too few"),
    ],
)
def test_mistakes(tiny: Path, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=f"(?s){message}"):
        quick(tiny, **changed)
    assert not (tiny.parent / "tuning" / "tuned.yaml").exists()


def test_a_range_reaches_its_ends() -> None:
    plain = Range("a", 0.0, 4.0, False)
    assert [plain.at(place) for place in (0, 0.25, 1)] == [0, 1, 4]
    assert [Range("a", 1, 8, True).at(place) for place in (0, 0.5, 1)] == [1, 4, 8]
    assert [plain.place(value) for value in (-1, 1, 5)] == [0, 0.25, 1]
    assert plain.at(plain.place(0.3)) == pytest.approx(0.3, rel=1e-3)


def test_the_search_finds_the_bottom_of_a_valley() -> None:
    """A hundred times as steep along one axis as along another, with noise that ranks hardly notice."""
    aim, rng = np.array([0.3, 0.6, 0.5, 0.4]), stream(2, "noise")
    mean, width = np.full(4, 0.5), np.full(4, 0.2)
    for _ in range(20):
        points = rng.normal(mean, width, (16, 4))
        distances = ((points - aim) ** 2 * [1, 10, 50, 100]).sum(axis=1)
        scores = 1e-9 * rng.standard_normal(16) - distances
        mean, width = closer(points, np.where(points[:, 0] > 0.9, np.nan, scores), mean, width)
    assert np.abs(mean - aim).max() < 0.02


TRACE = "id,arrival,lifetime,cpu\n" + "".join(f"{n},{10 * n},5,{1 + n % 8}\n" for n in range(30))


def test_requests_that_are_not_drawn_are_not_held_out(tiny: Path) -> None:
    (tiny.parent / "t.csv").write_text(TRACE)
    data = yaml.safe_load(tiny.read_text())
    fixed = tiny.with_name("fixed.yaml")
    fixed.write_text(yaml.safe_dump({**data, "workload": {"trace": "table", "path": "t.csv"}}))
    quick(fixed, rounds=1, held_out=2)
    output = (tiny.parent / "tuning" / "tuned.yaml").read_text()
    assert "# 1 round; " in output
    assert "on the same requests (none are drawn, so none are held out): " in output
    (tiny.parent / "starts.csv").write_text("start\n0\n3\n")
    workload = {"trace": "table", "path": "t.csv", "start": {"path": "starts.csv"}, "requests": 9}
    fixed.write_text(yaml.safe_dump({**data, "workload": workload}))
    with pytest.raises(
        UserError,
        match=r"workload\.start: a list of starts has no further seeds, which tuning needs\n  Have them drawn",
    ):
        quick(fixed)
