"""Which agents a scenario can have, and the schema that an editor reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from binwright.cli import main
from scenarios.run.compatible_agents import suited
from tests.support.batches import TEXT


def test_agents_are_suited_by_the_servers_and_what_they_may_know(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(TEXT)
    found = suited(file, names=("random", "tetris", "best-fit", "fgd", "lava", "feasible"))
    assert list(found) == ["best-fit", "feasible", "fgd", "lava", "random", "tetris"]
    assert found["best-fit"] == found["random"] == ""
    assert found["feasible"] == "tetris takes servers from a network, and this cluster has none"
    assert found["tetris"] == "takes servers from a network, and this cluster has none"
    assert "devices" in found["fgd"]
    assert "hides" in found["lava"]
    assert suited(file, ["knowledge.lifetimes=known"], ("lava",)) == {"lava": ""}


@pytest.mark.long
def test_the_command_lists_them_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(TEXT)
    assert main(["agents", "--for", str(file)]) == 0
    suits, _, others = capsys.readouterr().out.partition("Not for it, as they are")
    assert "\nworst-fit  " in suits
    assert "tetris" not in suits
    assert "\ntetris  takes servers from a network, and this cluster has none" in others
    assert "\nfeasible  tetris takes servers from a network, and this cluster has none" in others
    assert main(["agents", "--set", "cluster.servers=3"]) == 2
    assert "Name the scenario with --for FILE." in capsys.readouterr().err


def test_the_schema_goes_to_a_file_with_the_line_for_an_editor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "my schema.json"
    assert main(["schema", "--out", str(target)]) == 0
    assert "$defs" in json.loads(target.read_text())
    line = capsys.readouterr().out.splitlines()[-1]
    assert line == f"# yaml-language-server: $schema={target.as_uri()}"
