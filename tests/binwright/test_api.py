"""The calls of `import binwright` take what people would write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import binwright as bw
from agents.heuristics.servers.best_fit import BestFit
from binwright.cli import main
from binwright.parser import COMMANDS
from simcore.errors import UserError


@pytest.mark.parametrize(
    ("overrides", "keys"),
    [
        (["cluster.servers=20", "agents=[best-fit]"], {}),
        ([{"cluster.servers": 20, "agents": ["best-fit"]}], {}),
        (["cluster.servers=20"], {"agents": "best-fit"}),
        ([], {"cluster.servers": 20, "agents": [{"best-fit": {}}]}),
    ],
)
def test_overrides_are_texts_mappings_and_keywords(overrides: list[Any], keys: dict[str, Any]) -> None:
    found = bw.scenario("quickstart", *overrides, **keys)
    assert found.cluster.servers == 20
    assert [agent.name for agent in found.agents] == ["best-fit"]


def test_a_run_takes_them(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"agents": "worst-fit", "workload.requests": 9}
    results = bw.run("quickstart", out=tmp_path / "x", replications=1, **keys)
    assert results.runs["agent"].to_list() == ["worst-fit"]
    assert results.runs["seed"].len() == 1


def test_a_key_that_there_is_not_is_named() -> None:
    with pytest.raises(UserError, match=r"agent=best-fit: agent: .*unknown"):
        bw.scenario("quickstart", agent="best-fit")


def test_agents_are_listed_and_made() -> None:
    assert {"best-fit", "nara", "fgd"} < set(bw.agents())
    assert isinstance(bw.agent("best-fit"), BestFit)
    assert isinstance(bw.agent({"best-fit": {"node": "loose"}}), BestFit)
    with pytest.raises(UserError, match="best-fit"):
        bw.agent("best-fitt")


def test_help_has_every_command_once_in_groups_of_lines_that_fit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    said = capsys.readouterr().out
    listed = [line.split()[0] for line in said.splitlines() if line.startswith("  ") and line[2] != "-"]
    assert sorted(listed) == sorted(add.__name__.removeprefix("add").removeprefix("_") for add in COMMANDS)
    assert listed[:6] == ["run", "compare", "report", "init", "size", "solve"]
    assert max(map(len, said.splitlines())) <= 80
