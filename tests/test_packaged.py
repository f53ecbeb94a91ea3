"""What an installed Binwright has: every file that is not Python is named in pyproject.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.support import ROOT


def missing(package: Path, patterns: list[str]) -> list[str]:
    """Return the files of a package that an installation would leave behind."""
    named = {file for pattern in patterns for file in package.glob(pattern)}
    files = {file for file in package.rglob("*") if file.is_file() and "__pycache__" not in file.parts}
    return sorted(str(file.relative_to(ROOT)) for file in files - named if file.suffix != ".py")


def test_every_file_is_installed() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    packages = [pattern.removesuffix("*") for pattern in told["packages"]["find"]["include"]]
    assert "agents" in packages
    left = [file for name in packages for file in missing(ROOT / name, told["package-data"].get(name, []))]
    assert not left
