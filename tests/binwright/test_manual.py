"""The manual page has every command and option, and man shows it without a complaint."""

from __future__ import annotations

import argparse
import shutil
import subprocess

import pytest

from binwright.cli import main
from binwright.parser import every_command, parser


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
