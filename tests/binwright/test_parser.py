"""What is made from the parser: completion in shells, and the manual page."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from pathlib import Path

import pytest

from binwright.cli import main
from binwright.parser import COMMANDS, every_command, parser


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("compar", {"compare"}),
        ("compare --fa", {"--fail-if"}),
        ("run scen", {"scenario.yaml"}),
        ("run --engine auto scen", {"scenario.yaml"}),
        ("why resu", {"results"}),
        ("agents ch", {"check"}),
        ("completion z", {"zsh"}),
    ],
)
def test_bash_completes(words: str, expected: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "scenario.yaml").touch()
    (tmp_path / "results").mkdir()
    assert main(["completion", "bash"]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    asked = f"COMP_WORDS=(binwright {words}); COMP_CWORD={len(words.split())}; _shtab_binwright"
    script = f'source ./script; {asked}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == expected


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells_know_every_command(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert len(COMMANDS) > 20
    assert all(command.__name__.removeprefix("add")[1:] in script for command in COMMANDS)
    assert parser().prog in script


def shown(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["man"]) == 0
    return capsys.readouterr().out


def test_it_has_every_command_and_option(capsys: pytest.CaptureFixture[str]) -> None:
    page = shown(capsys).replace("\\-", "-")
    parts = {part.partition('"')[0]: part for part in page.split('\n.SS "')[1:]}
    for words, _, command in every_command(parser(), "binwright"):
        part = parts.pop(" ".join(words))
        for action in command._actions:
            if not isinstance(action, argparse._SubParsersAction) and action.dest not in ("help", "quiet", "verbose"):
                assert all(name in part for name in action.option_strings or [str(action.metavar or action.dest)])
    assert not parts
    for name in ("--help", "--quiet", "--verbose"):
        assert page.count(f"\\fB{name[1:3]}, {name}\\fR") == 1


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff")
def test_man_shows_it_as_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["groff", "-man", "-Kutf8", "-Tutf8", "-ww", "-P-c"]
    done = subprocess.run(command, input=shown(capsys), capture_output=True, text=True, check=True)
    assert done.stderr == ""
    text = " ".join(done.stdout.split())
    assert "acceptance < -1 %" in text.translate({0x2010: "-", 0x2212: "-"})
    assert "binwright traces describe" in text
    assert "\\" not in text
