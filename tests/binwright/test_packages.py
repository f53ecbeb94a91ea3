"""What is hidden or overwritten by something of the same name is said, and how to get around it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from binwright import packages
from binwright.packages import PACKAGES
from tests.support import ROOT

LOADED = "import sys, types; m = types.ModuleType('agents'); m.__spec__ = None; sys.modules['agents'] = m; "


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Install Binwright's code by hand, as pip does: into a folder of many packages."""
    place = tmp_path / "site-packages"
    for name in ("binwright", *PACKAGES):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__", "weights"))
    return place


def said(place: Path, cwd: Path, *arguments: str) -> tuple[int, str]:
    """Start Python with this place on its path."""
    command, env = [sys.executable, *arguments], {"PYTHONPATH": str(place)}
    done = subprocess.run(command, check=False, cwd=cwd, env=env, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_a_module_beside_a_script_hides_a_package(tmp_path: Path, installed: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "agents.py").write_text("MINE = 1\n")
    (work / "script.py").write_text("import binwright as bw\nprint(bw.Agent)\n")
    code, text = said(installed, work, "script.py")
    assert code == 1
    hidden = f"{work / 'agents.py'} hides Binwright's package agents, which is at {installed / 'agents'}. Rename it"
    assert f"ImportError: {hidden}" in text
    (work / "agents.py").unlink()
    code, text = said(installed, work, "script.py")
    assert (code, text) == (0, "<class 'simcore.types.Agent'>\n")


def test_a_folder_where_the_module_is_started_hides_a_package(tmp_path: Path, installed: Path) -> None:
    work = tmp_path / "work"
    (work / "analysis").mkdir(parents=True)
    assert said(installed, work, "-m", "binwright", "--version")[0] == 0, "a folder without __init__.py hides nothing"
    (work / "analysis" / "__init__.py").touch()
    code, text = said(installed, work, "-m", "binwright", "--version")
    assert code == 2
    assert text.startswith(f"binwright: {work / 'analysis' / '__init__.py'} hides Binwright's package analysis")
    assert "Traceback" not in text
    assert said(installed, work, "-P", "-m", "binwright", "--version")[0] == 0, "what the message says helps"


def test_a_package_that_another_distribution_overwrote(tmp_path: Path, installed: Path) -> None:
    (installed / "agents" / "__init__.py").write_text('"""Agents that call a language model."""\n')
    info = installed / "openai_agents-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: openai-agents\nVersion: 1.0\n")
    (info / "top_level.txt").write_text("agents\n")
    code, text = said(installed, tmp_path, "-m", "binwright", "--version")
    assert code == 2
    overwritten = f"{installed / 'agents' / '__init__.py'} is not Binwright's any more: openai-agents brought another"
    assert text.startswith(
        f"binwright: {overwritten} package of this name. Install Binwright into an environment of its"
    )


def test_a_package_that_is_gone_or_taken_already(tmp_path: Path, installed: Path) -> None:
    code, text = said(installed, tmp_path, "-c", LOADED + "import binwright; binwright.run")
    assert code == 1
    assert "Binwright's package agents is not at" in text
    shutil.rmtree(installed / "fabric")
    code, text = said(installed, tmp_path, "-S", "-m", "binwright", "--version")
    assert code == 2
    assert text == f"binwright: Binwright's package fabric is not at {installed / 'fabric'}: install Binwright again.\n"


def test_every_package_says_whose_it_is() -> None:
    packages.check.cache_clear()
    packages.check()
