"""What an installed Binwright has: every file that is not Python is named in pyproject.toml."""

import ast
import json
import os
import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from importlib.metadata import requires
from pathlib import Path

import yaml

from binwright.parser import parser
from binwright.simcore.file_tracking import SUBPACKAGES
from tests.support import ROOT


def package_files() -> Iterator[Path]:
    """Yield every file of the package; in a checkout its sub-packages are symbolic links."""
    for folder, _, names in os.walk(ROOT / "binwright", followlinks=True):
        if "__pycache__" not in folder:
            yield from (Path(folder) / name for name in names)


def test_every_file_is_installed() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    assert tool["distutils"]["editable_wheel"]["mode"] == "compat", (
        "else Python above a clone takes that for the package"
    )
    options = tool["setuptools"]
    assert options["packages"]["find"]["include"] == ["binwright*"]
    patterns = [*options["package-data"]["*"], *options["package-data"]["binwright"]]
    patterns = [pattern.replace("**/", "*") for pattern in patterns]  # for fnmatch, * goes through folders
    names = [file.relative_to(ROOT / "binwright").as_posix() for file in package_files() if file.suffix != ".py"]
    left = [name for name in names if not any(fnmatch(name, pattern) for pattern in patterns)]
    assert not left


def test_citation_has_the_current_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == version
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{version}] - {cited['date-released']}" in log


def test_notice_names_all_weights_learned_from_a_trace() -> None:
    weights = ROOT / "binwright/agents/learned/weights"
    learned = {file.stem for file in weights.glob("*.json") if '"trace"' in file.read_text(encoding="utf-8")}
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    named = [
        pattern for line in notice.splitlines() if line.startswith("  ") for pattern in line.split("    ")[0].split(",")
    ]
    every = [file.stem for file in weights.glob("*.json")]
    assert learned == {stem for stem in every if any(fnmatch(stem, pattern.strip()) for pattern in named)}


def test_lowest_tested_versions_are_those_declared() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    lines = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    lowest = dict(line.split("#")[0].strip().split("==") for line in lines if not line.startswith("#"))
    needed = []
    for name, least in (each.split(">=") for each in declared):
        assert lowest.pop(name) in (least, f"{least}.0")
        needed += requires(name) or []
    # What else is pinned there is needed by one of them.
    assert set(lowest) <= {re.split(r"[^\w.-]", each)[0] for each in needed}


def test_a_container_has_every_package_and_what_installs_them() -> None:
    """No container can be built here: each of its steps was done by hand."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    copied = {name for line in re.findall(r"^COPY (.*) \S+$", text, re.MULTILINE) for name in line.split()}
    reported = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = {"binwright", *SUBPACKAGES}
    files = {"pyproject.toml", "constraints.txt", reported["project"]["readme"], *reported["project"]["license-files"]}
    assert copied == packages | files
    assert set(re.findall(r"\.\[(.*)\]", text)[0].split(",")) <= set(reported["project"]["optional-dependencies"])
    entry = json.loads(re.findall(r"^ENTRYPOINT (.*)", text, re.MULTILINE)[0])
    assert parser().parse_args(entry[1:]).answer == "solving.serve"


def test_sdist_has_the_files_of_its_tests() -> None:
    reported = (ROOT / "MANIFEST.in").read_text(encoding="utf-8").split()
    for name in ("tests", "docs", "examples", "benchmarks", "Makefile", "constraints.txt", "constraints-lowest.txt"):
        assert name in reported
        assert (ROOT / name).exists()


def test_messages_name_pages_not_files_of_the_repository() -> None:
    """Whoever installed a wheel has no docs folder; what they can look for are titles of the documentation."""
    titles = {file.read_text(encoding="utf-8").split("\n", 1)[0][2:] for file in (ROOT / "docs").rglob("*.md")}
    named = []
    for file in (file for file in package_files() if file.suffix == ".py"):
        text = file.read_text(encoding="utf-8")
        if "docs/" not in text and "page '" not in text:
            continue
        tree = ast.parse(text)
        bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
                assert not re.search(r"(?<!/)docs/[a-z]+/\w", node.value), (file, node.value)
                named += re.findall(r"page '([^']*)'", node.value)
    assert len(set(named)) > 5
    assert set(named) <= titles
