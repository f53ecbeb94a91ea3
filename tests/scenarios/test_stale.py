"""What determines a run is in its identity: whatever is edited, no result of before is taken for one of now."""

import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from binwright.analysis.results_api import Results
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build import code
from binwright.simcore import file_tracking
from binwright.simcore.file_tracking import OURS
from tests.support.batches import FIRST, agent, plain, scenario
from tests.support.properties import first

LINE = "if request.demand[0] > {}: return None"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of our code; who edits it puts back what was there."""
    folder = tmp_path_factory.mktemp("copy")
    for package, source in OURS.items():
        shutil.copytree(source, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    for file in folder.rglob("*"):
        os.utime(file, (0, 0))  # as a process sees it that starts later
    return folder


@pytest.fixture
def copied(copy: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Have the copy digested instead of our code."""
    monkeypatch.setattr(code, "OURS", {package: copy / package for package in OURS})
    yield copy
    code.ours.cache_clear()


def names() -> set[str]:
    """Plan anew, as a process would that starts now."""
    code.ours.cache_clear()
    return {run.name for run in Batch(scenario(), "nowhere").runs}


@pytest.mark.parametrize(
    "edited",
    first(
        4,
        [
            "agents/learned/cvd_rl.py", "agents/learned/value.py", "agents/solver/online/agent.py",
            "agents/solver/templates/numa.alloc", "agents/solver/backends/attempt.py", "agents/learned/weights/*",
            "fabric/run/simulation.py", "analysis/measure/metrics/requests.py",
        ],
    ),
)  # fmt: skip
def test_an_edit_of_ours_is_other_runs(copied: Path, edited: str) -> None:
    before = names()
    file = next(copied.glob(edited))
    content = file.read_bytes()
    try:
        file.write_bytes(bytes(len(content)))
        os.utime(file, (0, 0))
        assert not before & names()
    finally:
        file.write_bytes(content)
        os.utime(file, (0, 0))
    assert names() == before


def test_modules_edited_while_a_process_runs_change_every_identity(copied: Path) -> None:
    """It may have imported either."""
    file = copied / "agents" / "__init__.py"
    try:
        file.touch()
        assert names() != names()
    finally:
        os.utime(file, (0, 0))


class Session:
    """Processes that run a scenario one after the other, in this one: each imports what it uses anew."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.ran = folder, 0
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.setattr(file_tracking, "_began", 0)

    def run(self, *agents: Any, **changes: Any) -> Results:
        for name in [name for name in sys.modules if "_of_mine" in name or name.startswith("binwright_user_")]:
            del sys.modules[name]
        code._imports.cache_clear()
        file_tracking._began = time.time_ns()
        requested = plain(agents=list(agents), replications=2, **changes)
        batch = Batch(requested, self.folder / "out")
        self.ran = len(batch.runs) - len(batch.done())
        return batch.run()


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Runs in one folder, which is also where modules are found."""
    return Session(tmp_path, monkeypatch)


WAYS: dict[str, dict[str, str]] = {
    "its own file": {"mine.py": FIRST.format(LINE.format("4e6"))},
    "a module that it imports": {
        "mine.py": "import rule_of_mine\n" + FIRST.format(LINE.format("rule_of_mine.MOST")),
        "rule_of_mine.py": "MOST = 4e6",
    },
    "a module of a module's package": {
        "mine.py": "from rules_of_mine.most import MOST\n" + FIRST.format(LINE.format("MOST")),
        "rules_of_mine/__init__.py": "",
        "rules_of_mine/most.py": "from .number import MOST",
        "rules_of_mine/number.py": "MOST = 4e6",
    },
}
"""Files of an agent; the one with 4e6 is edited."""


@pytest.mark.parametrize("way", WAYS)
def test_an_edit_of_what_an_agent_brings_in_is_run_again(session: Session, way: str) -> None:
    [edited] = [name for name, text in WAYS[way].items() if "4e6" in text]
    for name, text in WAYS[way].items():
        (session.folder / name).parent.mkdir(exist_ok=True)
        (session.folder / name).write_text(text)
    mine = f"{session.folder / 'mine.py'}:Mine"
    before = session.run("first-fit", mine)
    assert session.ran == 4
    session.run("first-fit", mine)
    assert session.ran == 0
    file = session.folder / edited
    file.write_text(file.read_text().replace("4e6", "1.5e6"))
    after = session.run("first-fit", mine)
    assert session.ran == 2
    accepted = [
        results.runs.filter(results.runs["agent"] != "first-fit")["acceptance"].sum() for results in (before, after)
    ]
    assert accepted[1] < accepted[0]
    session.run("first-fit", mine)
    assert session.ran == 0


def test_a_file_that_an_option_names_is_part_of_it(session: Session) -> None:
    constructor = "\n    def __init__(self, policy: str):\n        self.most = float(Path(policy).read_text())\n"
    text = "from pathlib import Path\n" + FIRST.format(LINE.format("self.most")) + constructor
    (session.folder / "mine.py").write_text(text)
    policy = session.folder / "policy"
    policy.write_text("4e6")
    mine = {f"{session.folder / 'mine.py'}:Mine": {"policy": str(policy)}}
    each = Batch(plain(agents=[mine]), session.folder).runs[0].name
    policy.write_text("1e6")
    assert Batch(plain(agents=[mine]), session.folder).runs[0].name != each


def test_an_edit_within_the_same_second_is_another_module(session: Session) -> None:
    mine = agent(session.folder, LINE.format("4e6"))
    file = session.folder / "mine.py"
    accepted = []
    for most in ("4e6", "1e6", "2e6"):
        file.write_text(FIRST.format(LINE.format(most)))
        os.utime(file, (1, 1))
        accepted.append(session.run(mine).runs["acceptance"].sum())
    assert len(set(accepted)) == 3


def test_a_label_names_the_same_runs(tmp_path: Path) -> None:
    def labelled(label: str) -> Results:
        return Batch(scenario(agents=[{"name": "first-fit", "label": label}]), tmp_path).run()

    labelled("old")
    assert labelled("new").runs["agent"].to_list() == ["new"] * 3
