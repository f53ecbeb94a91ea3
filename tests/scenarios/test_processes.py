"""Processes of one's own: they see a run, change it at their times, and are told where they are wrong."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

import binwright as bw
from binwright.cli import MISTAKE, main
from binwright.scenarios.build.plan import plan
from tests.support.scenarios import WAYS, first_run

MINE = """
from binwright import Move

def grow(simulation, by: int, after: float = 10.0):
    yield simulation.env.timeout(after)
    assert simulation.view.now == simulation.now == after
    simulation.grow(by)

def watch(simulation):
    while True:
        yield simulation.env.timeout(1)

def verbs(simulation):
    yield simulation.env.timeout(5)
    row = min(simulation.ledger.running)
    simulation.moving.make([Move(row, simulation.request(row).on(1, 0))])
    yield simulation.env.timeout(5)
    simulation.drain([0])
    yield simulation.env.timeout(10)
    simulation.repair(1)  # it is not down: nothing happens
    simulation.fail(1, requeue=True)
    yield simulation.env.timeout(10)
    simulation.repair(1)
    simulation.reopen([0])

def broken(simulation):
    yield simulation.env.timeout(3)
    1 / 0

def odd(simulation):
    yield 3

def plain(simulation):
    return 3
"""

BOTH_FAIL = [{"at": 20, "server": 0}, {"at": 20, "server": 1}]


def scenario_of(process: Any, **more: Any) -> dict[str, Any]:
    """Twelve requests for half a server, one every 3 s, for 15 s each, on two servers."""
    return {
        "cluster": {"servers": 2, "node": {"cpu": 2}},
        "workload": {
            "requests": 12,
            "arrivals": {"fixed": {"every": 3}},
            "flavours": [{"cpu": 1}],
            "lifetimes": {"fixed": 15},
        },
        "overflow": "wait",
        "agents": ["first-fit"],
        "processes": [process],
        **more,
    }


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(MINE)
    return str(tmp_path / "mine.py")


@pytest.mark.parametrize("overflow", ["wait", {"wait": {"together": 4}}])
def test_a_process_adds_servers_at_its_time(mine: str, tmp_path: Path, overflow: Any) -> None:
    scenario = scenario_of({f"{mine}:grow": {"by": 1}}, overflow=overflow)
    _, added = first_run(scenario, tmp_path / "some", "python")
    planned = {**scenario["cluster"], "expansion": [{"at": 10, "by": 1}]}
    _, expected = first_run({**scenario, "cluster": planned, "processes": []}, tmp_path / "other", "python")
    assert added.to_dicts() == expected.to_dicts()
    assert added["server"].max() == 2


@pytest.mark.parametrize("name", ["grow", "verbs", "watch"])
def test_either_engine_plays_the_same_with_a_process(mine: str, tmp_path: Path, name: str) -> None:
    process: Any = {f"{mine}:grow": {"by": 1}} if name == "grow" else f"{mine}:{name}"
    (row, requests), (other, same) = (first_run(scenario_of(process), tmp_path / way, way) for way in WAYS)
    assert requests.equals(same)
    assert {**row, "compiled": "", "seconds": 0, "decision_us": 0} == {
        **other,
        "compiled": "",
        "seconds": 0,
        "decision_us": 0,
    }


def test_a_process_drains_fails_repairs_and_moves(mine: str, tmp_path: Path) -> None:
    row, requests = first_run(scenario_of(f"{mine}:verbs"), tmp_path)
    while_drained = requests.filter(pl.col("decided").is_between(10.5, 29.5))
    assert len(while_drained) > 0
    assert (while_drained["server"] == 1).all()
    assert (requests.filter(pl.col("decided") >= 30)["server"] == 0).any(), "a server that is open again takes requests"
    assert requests["outcome"].to_list().count("interrupted") == 2  # who was on server 1 at 20 s
    assert row["moves"] == 1


def test_a_process_alone_keeps_no_run_going_for_ever(mine: str, tmp_path: Path) -> None:
    never = {"servers": 2, "node": {"cpu": 2}, "failures": {"scheduled": BOTH_FAIL}}
    _, requests = first_run(scenario_of(f"{mine}:watch", cluster=never), tmp_path)
    assert requests["outcome"].to_list()[-1] == "rejected"


def test_a_process_may_be_the_last_to_help_those_who_wait(mine: str, tmp_path: Path) -> None:
    scenario = scenario_of(
        {f"{mine}:grow": {"by": 1, "after": 9000}},
        cluster={"servers": 2, "node": {"cpu": 2}, "failures": {"scheduled": BOTH_FAIL}},
    )
    scenario["processes"].append(f"{mine}:watch")
    _, requests = first_run(scenario, tmp_path)
    assert requests["decided"].to_list()[-1] >= 9000
    assert requests["server"].to_list()[-1] == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("broken", "raised ZeroDivisionError('division by zero') at {mine}:28, at 3 s"),
        ("odd", "it yielded 3, which is no event such as simulation.env.timeout(60)"),
    ],
)
def test_what_a_process_raises_fails_its_run_and_says_where(
    mine: str, tmp_path: Path, name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    results = bw.run(bw.scenario(scenario_of(f"{mine}:{name}")), out=tmp_path / "out", jobs=1)
    [row] = results.runs.to_dicts()
    assert row["status"] == "failed"
    assert f"the process {mine}:{name}" in row["error"]
    assert message.format(mine=mine) in row["error"]


@pytest.mark.parametrize(
    ("process", "message"),
    [
        ("plain", "is no generator function"),
        ("missing", "there is no missing in it"),
        ({"grow": {"most": 3}}, "unknown option"),
        ("grow", "is missing"),
    ],
)
def test_a_wrong_process_is_a_message(
    mine: str, tmp_path: Path, process: Any, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"mine.py:{process}" if isinstance(process, str) else {f"mine.py:{key}": process[key] for key in process}
    file = tmp_path / "scenario.yaml"
    data = scenario_of(name)
    file.write_text(yaml.safe_dump(data))
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == MISTAKE
    shown = capsys.readouterr().err
    assert message in shown
    assert "processes" in shown
    assert f"{file}:" in shown


def test_a_process_is_another_run_when_its_file_is_edited(mine: str) -> None:
    before = plan(bw.scenario(scenario_of(f"{mine}:watch")))[0].name
    Path(mine).write_text(MINE + "\n")
    assert plan(bw.scenario(scenario_of(f"{mine}:watch")))[0].name != before
