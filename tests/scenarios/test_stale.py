"""What determines a run is in its identity: whatever is edited, no result of before is taken for one of now."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from analysis.results import Results
from scenarios import code
from scenarios.batch import Batch
from simcore import opened
from simcore.opened import OURS, noted
from tests.support import ROOT
from tests.support.batches import FIRST, agent, plain, scenario

LINE = "if request.demand[0] > {}: return None"


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Have a copy of our code digested instead of it."""
    for package in OURS:
        shutil.copytree(ROOT / package, tmp_path / "code" / package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code, "ROOT", tmp_path / "code")
    code.ours.cache_clear()
    yield tmp_path / "code"
    code.ours.cache_clear()


def names() -> set[str]:
    """Plan anew, as a process would that starts now."""
    code.ours.cache_clear()
    return {run.name for run in Batch(scenario(), "nowhere").runs}


@pytest.mark.parametrize(
    "edited",
    [
        "agents/learned/cvd_rl/rule.py",
        "agents/learned/value_es/value.py",
        "agents/solver/servers.py",
        "agents/solver/templates/numa.alloc",
        "agents/solver/search.cl",
        "agents/learned/weights/*",
        "simcore/engine.py",
        "analysis/metrics.py",
    ],
)
def test_an_edit_of_ours_is_other_runs(copied: Path, edited: str) -> None:
    before = names()
    file = next(copied.glob(edited))
    content = file.read_bytes()
    file.write_bytes(bytes(len(content)))
    assert not before & names()
    file.write_bytes(content)
    assert names() == before


def test_how_results_are_shown_makes_no_other_runs(copied: Path) -> None:
    before = names()
    for edited in ("analysis/figures/style.py", "analysis/report/page.py"):
        (copied / edited).write_text("")
    assert names() == before


class Session:
    """Processes that run a scenario one after the other, in this one: each imports what it uses anew."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.ran = folder, 0
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.setattr(opened, "_read", {})
        monkeypatch.setattr(opened, "_written", set())

    def run(self, *agents: Any, **changes: Any) -> Results:
        for name in [name for name in sys.modules if "_of_mine" in name or name.startswith("binwright_user_")]:
            del sys.modules[name]
        for kept in (code._as_imported, code._imports):
            kept.cache_clear()
        opened._read.clear()
        opened._written.clear()
        asked = plain(agents=list(agents), replications=2, **changes)
        batch = Batch(asked, self.folder / "out")
        self.ran = len(batch.runs) - len(batch.done())
        return batch.run()


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Runs in one folder, which is also where modules are found."""
    return Session(tmp_path, monkeypatch)


WAYS: dict[str, tuple[dict[str, str], str, str]] = {
    "its own file": ({"mine.py": FIRST.format(LINE.format("4e6"))}, "mine.py", "4e6"),
    "a module that it imports": (
        {
            "mine.py": "import rule_of_mine\n" + FIRST.format(LINE.format("rule_of_mine.MOST")),
            "rule_of_mine.py": "MOST = 4e6",
        },
        "rule_of_mine.py",
        "4e6",
    ),
    "a module that it imports late": (
        {
            "mine.py": FIRST.format("import rule_of_mine\n        " + LINE.format("rule_of_mine.MOST")),
            "rule_of_mine.py": "MOST = 4e6",
        },
        "rule_of_mine.py",
        "4e6",
    ),
    "a module of a module's package": (
        {
            "mine.py": "from rules_of_mine.most import MOST\n" + FIRST.format(LINE.format("MOST")),
            "rules_of_mine/__init__.py": "",
            "rules_of_mine/most.py": "from .number import MOST",
            "rules_of_mine/number.py": "MOST = 4e6",
        },
        "rules_of_mine/number.py",
        "4e6",
    ),
    "a module imported by its name": (
        {
            "mine.py": "import importlib\n"
            + FIRST.format("rule = importlib.import_module('rule_of' + '_mine')\n        " + LINE.format("rule.MOST")),
            "rule_of_mine.py": "MOST = 4e6",
        },
        "rule_of_mine.py",
        "4e6",
    ),
    "a file opened in start": (
        {
            "mine.py": FIRST.format(LINE.format("self.most"))
            + "\n    def start(self, view, rng):\n"
            + "        self.most = float((Path(__file__).parent / 'policy.txt').read_text())\n",
            "policy.txt": "4e6",
        },
        "policy.txt",
        "4e6",
    ),
    "a file opened in its constructor": (
        {
            "mine.py": FIRST.format(LINE.format("self.most"))
            + "\n    def __init__(self):\n"
            + "        with open(Path(__file__).parent / 'policy.txt', 'rb') as file:\n"
            + "            self.most = float(file.read())\n",
            "policy.txt": "4e6",
        },
        "policy.txt",
        "4e6",
    ),
    "a file opened when it is imported": (
        {
            "mine.py": "from pathlib import Path\nMOST = float((Path(__file__).parent / 'policy.txt').read_text())\n"
            + FIRST.format(LINE.format("MOST")),
            "policy.txt": "4e6",
        },
        "policy.txt",
        "4e6",
    ),
    "a file opened once, for all runs": (
        {
            "mine.py": "import functools\n@functools.cache\ndef most():\n"
            + "    return float((Path(__file__).parent / 'policy.txt').read_text())\n"
            + FIRST.format(LINE.format("most()")),
            "policy.txt": "4e6",
        },
        "policy.txt",
        "4e6",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_edit_of_what_an_agent_brings_in_is_run_again(session: Session, way: str) -> None:
    files, edited, old = WAYS[way]
    for name, text in files.items():
        (session.folder / name).parent.mkdir(exist_ok=True)
        (session.folder / name).write_text(text.replace("from simcore", "from pathlib import Path\nfrom simcore", 1))
    mine = f"{session.folder / 'mine.py'}:Mine"
    before = session.run("first-fit", mine)
    assert session.ran == 4
    session.run("first-fit", mine)
    assert session.ran == 0
    file = session.folder / edited
    file.write_text(file.read_text().replace(old, "1.5e6"))
    after = session.run("first-fit", mine)
    assert session.ran == 2
    accepted = [found.runs.filter(found.runs["agent"] != "first-fit")["acceptance"].sum() for found in (before, after)]
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
    one = Batch(plain(agents=[mine]), session.folder).runs[0].name
    policy.write_text("1e6")
    assert Batch(plain(agents=[mine]), session.folder).runs[0].name != one


def test_notes_that_an_agent_writes_itself_are_none_of_it(session: Session) -> None:
    line = "file = Path(__file__).with_suffix('.notes'); file.touch(); file.write_text(file.read_text() + 'x')"
    mine = agent(session.folder, line)
    session.run(mine)
    session.run(mine)
    assert session.ran == 0


def test_what_nobody_from_outside_reads_is_not_noted(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    for file in (mine, other):
        file.write_text("1")
    other.read_text()
    with noted("somebody"):
        mine.read_text()
        (ROOT / "simcore" / "errors.py").read_text()
        Path("/proc/self/status").read_text()
    assert opened.files_of(["somebody"]) == {str(mine): opened.digest_of(mine)}
    mine.write_text("2")
    assert not opened.unchanged(opened.files_of(["somebody"]))


def test_a_class_of_an_interactive_session_is_what_it_does() -> None:
    def defined(text: str) -> str:
        module = ModuleType("__session__")
        sys.modules["__session__"] = module
        try:
            exec(text, vars(module))
            return code.of(module.Mine)
        finally:
            del sys.modules["__session__"]

    text = "MOST = 3\ndef small(x):\n    return x < MOST\n"
    text += "class Mine:\n    def decide(self, x):\n        return small(x)\n"
    assert defined(text) == defined("\n" + text)
    for old, new in (("MOST = 3", "MOST = 4"), ("<", ">"), ("return small(x)", "return not small(x)")):
        assert defined(text) != defined(text.replace(old, new))


# -- nothing finished vanishes -----------------------------------------------------------------------------------------


def shown(results: Results) -> list[tuple[str, int]]:
    """Name every run of the table by agent and seed."""
    return sorted(results.runs.select("agent", "seed").rows())


def test_other_agents_and_seeds_of_the_folder_stay_in_the_table(tmp_path: Path) -> None:
    whole = Batch(scenario(agents=["first-fit", "best-fit", "worst-fit"], replications=4), tmp_path).run()
    fewer = Batch(scenario(agents=["best-fit", "internal"], replications=2), tmp_path).run()
    assert shown(fewer) == sorted([*shown(whole), ("internal", 0), ("internal", 1)])
    assert len(whole.table().rows) < len(fewer.table().rows)
    again = Batch(scenario(agents=["internal"], replications=1), tmp_path).run(fresh=True)
    assert shown(again) == shown(fewer)


def test_other_points_of_a_sweep_stay(tmp_path: Path) -> None:
    def swept(*servers: int) -> Results:
        return Batch(scenario(sweep={"product": {"cluster.servers": list(servers)}}), tmp_path).run()

    assert len(swept(2, 3).runs) == 12
    assert len(swept(4).runs) == 18


def test_what_is_of_another_scenario_is_left_out_and_said(tmp_path: Path) -> None:
    Batch(scenario(), tmp_path).run()
    batch = Batch(scenario(prices={"cpu_hour": 0.7}, agents=["first-fit"]), tmp_path)
    assert len(batch.run().runs) == 3
    assert batch.others() == ([], 3), "those of first-fit were run anew"


def test_agents_that_changed_are_left_out(session: Session) -> None:
    mine = agent(session.folder, LINE.format("4e6"))
    session.run("first-fit", mine)
    assert len(session.run("first-fit").runs) == 4
    agent(session.folder, LINE.format("1e6"))
    assert len(session.run("first-fit").runs) == 2
    Path(mine.partition(":")[0]).unlink()
    assert len(session.run("first-fit").runs) == 2


def test_a_batch_alone_has_its_own_runs_only(tmp_path: Path) -> None:
    Batch(scenario(), tmp_path).run()
    assert len(Batch(scenario(agents=["best-fit"]), tmp_path, alone=True).run().runs) == 3


@pytest.mark.long
def test_the_command_runs_again_after_an_edit_of_ours(tmp_path: Path) -> None:
    for package in ("binwright", *OURS):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "binwright", "run", "quickstart", "--agents", "cvd-rl", "--seeds", "2"]
    command += ["--set", "workload.requests=60", "--jobs", "1", "--dry-run"]

    def said(*more: str) -> str:
        asked = [part for part in command if part not in more]
        done = subprocess.run(asked, cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout + done.stderr

    said("--dry-run")
    assert "2 runs, 2 of them done already" in said()
    rule = tmp_path / "agents" / "learned" / "cvd_rl" / "rule.py"
    rule.write_text(rule.read_text() + "\n# edited\n")
    assert "2 runs, 0 of them done already" in said()
