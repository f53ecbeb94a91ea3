"""What `validate` says of agents that do not go with a scenario, and of names that are gone; `run` says it first."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from binwright.cli import MISTAKE, main
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.run.check import check_scenario, unknown_names
from binwright.scenarios.schema.load import load_scenario, scenario_from
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.errors import UnknownName, UserError
from binwright.simcore.registry import Registry
from binwright.simcore.removed import removed
from tests.support.scenarios import random_requests

SERVERS: dict[str, Any] = {
    "cluster": {"servers": 10, "nodes": 2, "node": {"cpu": 40, "mem": "90 GB"}},
    "workload": random_requests(5, 1, [{"cpu": 1, "mem": "1 GB"}], {"fixed": 3}),
    "agents": ["best-fit"],
}
COMPILES = """\
from binwright.simcore.jit import kernel, prepared
from binwright.simcore.types import Agent


@kernel
def double(x):
    return 2 * x


class Mine(Agent):
    def start(self, view, rng):
        prepared(double, 1)

    def decide(self, view, request):
        return None
"""
BREAKS = """\
from binwright.simcore.types import Agent


class Breaks(Agent):
    def start(self, view, rng):
        1 / 0

    def decide(self, view, request):
        return None
"""


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"agents": ["best-fit", {"solver": {"attempts": 0}}]}, "agents.1.solver.attempts: expected 1 or more, got 0"),
        ({"agents": ["nulb"]}, "agents.0 (nulb): NULB takes servers from a network"),
        ({"agents": ["best-fit", "sched-rl"], "cluster": SERVERS["cluster"] | {"servers": 11}}, "agents.1 (sched-rl)"),
        ({"agents": ["value-es"], "sweep": {"product": {"cluster.nodes": [2, 1]}}},
         "agents.0 (value-es): value-es is for servers of two NUMA nodes that have both of two resources "
         "(at cluster.nodes=1)"),
        ({"warm_start": {"until": "10 %", "with": {"cvd-rl": {"filter": {"internal": 0}}}}},
         "warm_start.with (cvd-rl(filter={'internal': 0})): filter: names no candidates (got {'internal': 0})"),
        ({"agents": ["sched-rl"], "cluster": SERVERS["cluster"] | {"expansion": [{"at": 9, "by": 1}]}},
         "agents.0 (sched-rl): is for one number of servers, and the cluster grows by cluster.expansion"),
    ],
)  # fmt: skip
def test_validate_says_what_a_run_would(
    changed: dict[str, Any], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(json.dumps({**SERVERS, **changed}, indent=1))
    assert main(["validate", str(file)]) == MISTAKE
    output = capsys.readouterr().out
    assert output.startswith("wrong  ")
    assert words in output
    assert f"{file}:" in output
    assert [path.name for path in tmp_path.iterdir()] == ["s.yaml"]


def test_a_run_says_it_before_anything_is_compiled(tmp_path: Path) -> None:
    (tmp_path / "compiles.py").write_text(COMPILES)
    agents = [f"{tmp_path}/compiles.py:Mine", {"cvd-rl": {"filter": {"internal": 0}}}]
    with pytest.raises(UserError, match="names no candidates"):
        Batch(scenario_from({**SERVERS, "agents": agents}), tmp_path / "out").run()
    [module] = [result for name, result in sys.modules.items() if name.startswith("binwright_user_compiles")]
    assert module.double.signatures == []


def test_a_constructor_that_raises_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text(BREAKS.replace("start(self, view, rng)", "__init__(self)"))
    for command in (["validate"], ["run", "--out", f"{tmp_path}/out"]):
        assert main([*command, "quickstart", "--set", f"agents=[{file}:Breaks]"]) == MISTAKE
        assert f"Breaks: {file}:4: its constructor raised ZeroDivisionError" in "".join(capsys.readouterr())


def test_agents_that_raise_fail_their_runs_not_the_check(tmp_path: Path) -> None:
    (tmp_path / "breaks.py").write_text(BREAKS)
    assert check_scenario(scenario_from({**SERVERS, "agents": [f"{tmp_path}/breaks.py:Breaks"]})) == 1


def test_files_of_requests_need_not_be_here() -> None:
    network = {"cluster": {"network": {"topology": "alpha"}, "node": {"cpu": 10, "mem": 10}}, "agents": ["tetris"]}
    demand = {"azure": {"path": "/nowhere/trace.csv"}}
    assert check_scenario(scenario_from({**network, "workload": {"requests": 9, "holding": 9, "demand": demand}})) == 1
    trace = {"workload": {"trace": "huawei-east-1", "path": "/nowhere/trace.csv"}, "replications": 3}
    assert check_scenario(scenario_from({**SERVERS, **trace})) == 3
    servers = {"trace": {"name": "alibaba-openb", "path": "/nowhere/servers.csv"}}
    scenario = scenario_from({**SERVERS, "cluster": servers, "workload": trace["workload"]})
    missing: list[UserError] = []
    assert check_scenario(scenario, missing) == 1
    assert {error.key for error in missing} == {"cluster.trace", "workload.path"}


def test_a_wrong_workload_hides_no_mistake_of_an_agent(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,arrival,end,cpu,mem\na,0,1,x,3\n")
    workload = {"trace": "table", "path": f"{tmp_path}/t.csv", "units": {"mem": "1 GB"}}
    agents = ["nulb", {"in-line": {"order": {"fair": {"by": "user"}}}}]  # which the table, once mended, may have
    wrong = scenario_from({**SERVERS, "workload": workload, "agents": agents, "overflow": {"wait": {"together": 9}}})
    with pytest.raises(UserError) as caught:
        check_scenario(wrong)
    assert [each.key for each in caught.value.each()] == ["cpu", "agents.0 (nulb)"]


def test_requests_larger_than_any_server_are_doubted_where_no_larger_ones_are_added() -> None:
    doubts: list[str] = []
    large = random_requests(100, 1, [{"cpu": 90, "mem": "1 GB"}], {"fixed": 3})
    options = {**SERVERS, "workload": large, "sweep": {"product": {"cluster.node.cpu": [40, 90]}}}
    for changed in (SERVERS, {**options, "overflow": {"expand": {"by": 1, "limit": 11}}}, options):
        assert not doubts
        check_scenario(scenario_from(changed), doubts=doubts)
    assert doubts == ["no server could hold up to 100 % of the first seed's requests, even empty."]
    few = random_requests(30_000, 1, [{"cpu": 1, "weight": 20_000}, {"cpu": 90}], {"fixed": 3})
    check_scenario(scenario_from({**SERVERS, "workload": few}), doubts=doubts)
    assert "hold 0.00333 % of" in doubts[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": {"apart": [0, 99]}}, "workload.requests: is missing"),
        ({"start": {"apart": [9, 0]}, "requests": 5}, "workload.start.apart: is an empty range"),
        (
            {"start": {"apart": [0, 99]}, "requests": 50},
            "has 2 windows of 50 requests side by side, too few for 3 seeds",
        ),
    ],
)
def test_windows_apart_must_be_enough(change: dict[str, Any], message: str) -> None:
    trace = {"trace": "table", "path": "t.csv", "units": {"mem": "1 GB"}}
    with pytest.raises(UserError, match=message) as caught:
        scenario_from(SERVERS | {"workload": trace | change, "replications": 3})
    assert caught.value.remedy
    enough = {"start": {"apart": [0, 99]}, "requests": 40}
    scenario = scenario_from(SERVERS | {"workload": trace | enough, "replications": 3})
    assert scenario_from(scenario.dump()) == scenario


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"quotas": {"by": "tenant", "of": {"paymnts": {"nominal": {"cpu": 1}}, "web": {"nominal": {"cpu": 1}}}}},
            "quotas.of.paymnts: no request of the first seed has tenant 'paymnts'. Did you mean 'payments'?",
        ),
        (
            {"metrics": [{"wait_mean": {"by": {"tenant": ["wbe", "web"]}}}]},
            "metrics.0.by.tenant: no request of the first seed has tenant 'wbe'. Did you mean 'web'",
        ),
        ({"overflow": {"wait": {"together": 9, "queues": {"a": {"of": {"tenant": "wbe"}}, "b": {}}}}}, "queues.a.of"),
        ({"priorities": {"low": 1, "high": 5}, "prices": {"cpu_hour": 1}, "spot": {"of": ["low"], "pays": 0.5}}, "low"),
    ],
)
def test_names_that_no_request_has_are_doubted_with_the_nearest(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    table = tmp_path / "vms.csv"
    table.write_text("start,hours,cpu,who\n0,1,1,payments\n1,1,1,web\n")
    columns = {"arrival": "start", "lifetime": "hours", "cpu": "cpu"}
    workload = {"trace": "table", "path": str(table), "columns": columns, "labels": {"tenant": "who"}}
    fields = {"cluster": {"servers": 2, "node": {"cpu": 8}}, "workload": workload, "agents": ["best-fit"]}
    doubts = unknown_names(scenario_from(fields | change))
    assert len(doubts) == 1
    assert message in doubts[0]


SCENARIO = """
cluster: {servers: 4, node: {cpu: 16}}
workload: {requests: 60, arrivals: {fixed: {every: 1}}, flavours: [{cpu: 4}], lifetimes: {fixed: 9}}
agents: [first-fit]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "s.yaml").write_text(SCENARIO)
    return tmp_path


@pytest.mark.long  # kernels that no other fast test needs
def test_a_formula_without_a_score_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "s.yaml").write_text(SCENARIO.replace("[first-fit]", "[{formula: {score: log(-free_cpu)}}]"))
    assert main(["run", "s.yaml"]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "decisions the score was no number wherever the request fitted" in output


KINDS = {registry.kind: registry for registry in Registry.every}
NEEDED: dict[str, list[str]] = {
    "serve": [], "init": [], "tune": ["any", "--agent", "any"],
    "evaluate": ["any", "--scenario", "any"],
}  # fmt: skip
"""What commands cannot do without, where it is not one argument."""


@pytest.mark.parametrize("name", removed())
def test_no_name_that_is_gone_is_in_use(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    kind, _, registered = name.partition(" ")
    if kind == "command":
        with pytest.raises(SystemExit):
            main(registered.split())
        assert f"there is no command {registered}\n  {removed()[name]}" in capsys.readouterr().err
    elif kind == "option":
        command, _, option = registered.rpartition(" ")
        with pytest.raises(SystemExit):
            main([*command.split(), *NEEDED.get(command, ["any"]), option, "any"])
        output = capsys.readouterr().err
        assert f"there is no such option or argument: {option}" in output
        assert removed()[name] in output
    elif kind == "device":
        assert main(["solve", "cdn", "--device", registered]) == MISTAKE
        assert removed()[name] in capsys.readouterr().err
    elif registered:
        assert registered not in KINDS[kind]
        with pytest.raises(UnknownName, match=f"this {kind} is gone") as error:
            KINDS[kind].load(registered)
        assert error.value.remedy == removed()[name]
    else:
        section, *keys = name.split(".")
        assert not keys or section in Scenario.known()
        inputs: Any = {"a": 1}
        for key in reversed(keys):
            inputs = {key: [inputs] if key in ("flavours", "groups", "scheduled") else inputs}
        change = f"{section}={json.dumps([inputs] if section == 'agents' else inputs)}"
        with pytest.raises(UserError, match="this key is gone") as refused:
            load_scenario("quickstart", [change])
        assert removed()[name] in str(refused.value)
