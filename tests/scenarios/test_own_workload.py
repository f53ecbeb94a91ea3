"""Requests that a class of the user's own draws."""

import re
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from binwright.cli import main
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.build.requests import forget
from binwright.scenarios.build.world import build_world
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.workload import Workload
from binwright.workloads import WORKLOADS
from tests.support import ROOT

TEXT = """
cluster: {servers: 3, node: {cpu: 8, mem: 16 GB}}
workload: {"mine.py:Waves": {requests: 40}}
agents: [first-fit, best-fit]
replications: 2
"""


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the example of the documentation."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "start" / "traces.md").read_text("utf-8")
    [example] = re.findall(r"```python\n(# mine.py\n.*?class Waves.*?)```", text, re.DOTALL)
    (tmp_path / "mine.py").write_text(example)
    (tmp_path / "s.yaml").write_text(TEXT)
    forget()
    return tmp_path


def test_own_workload_is_the_same_for_all_agents_of_a_seed(workdir: Path) -> None:
    results = Batch(load_scenario("s.yaml"), workdir / "out").run()
    assert not len(results.failed), results.failed["error"].to_list()
    assert results.runs["random"].all()
    assert results.runs["offered"].to_list() == [40] * 4
    loads = dict(results.runs.group_by("seed").n_unique().select("seed", "hours").rows())
    assert loads == {0: 1, 1: 1}
    world = build_world(load_scenario("s.yaml"))
    assert world.drawn
    first, second = world.draw(0), world.draw(1)
    assert first.arrival.tolist() != second.arrival.tolist()
    assert (first.demand[:, 1] == 2 * first.demand[:, 0]).all()
    assert world.draw(0).arrival.tolist() == first.arrival.tolist()


def test_an_edit_of_it_is_run_again(workdir: Path) -> None:
    def ran() -> int:
        rows: list[object] = []
        forget()
        batch = Batch(load_scenario("s.yaml"), workdir / "out")
        present = len(batch.done())
        batch.run(finished=rows.append)
        return len(rows) - present

    assert [ran(), ran()] == [4, 0]
    (workdir / "mine.py").write_text((workdir / "mine.py").read_text().replace("30.0", "20.0"))
    assert [ran(), ran()] == [4, 0]


def test_a_registered_name_is_taken(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("constant", "tests.scenarios.test_own_workload:Constant", "binwright.workloads")
    monkeypatch.setattr(
        "binwright.simcore.registry.entry_points", lambda group: [point] if group == point.group else []
    )
    monkeypatch.setattr(WORKLOADS, "_all", None)
    (workdir / "s.yaml").write_text(TEXT.replace('"mine.py:Waves": {requests: 40}', "constant: {every: 5}"))
    world = build_world(load_scenario("s.yaml"))
    assert not world.drawn
    assert world.draw(3).arrival.tolist() == [0.0, 5.0, 10.0]
    assert "constant" in WORKLOADS
    assert main(["validate", "s.yaml"]) == 0
    monkeypatch.setattr(WORKLOADS, "_all", None)


class Constant:
    """Three requests."""

    summary = "three requests."
    reference = "-"
    drawn = False

    def __init__(self, every: float) -> None:
        self.every = every

    def draw(self, resources: tuple[str, ...], seed: int) -> Workload:
        """Draw them."""
        return Workload.of_units(self.every * np.arange(3), np.inf, dict.fromkeys(resources, 1.0))


@pytest.mark.parametrize(
    ("options", "change", "message"),
    [
        ("{requets: 40}", "", "mine.py:Waves.requets: unknown option (got 40)"),
        ("{}", "", "mine.py:Waves.requests: is missing"),
        ("{requests: 40}", "class Wave:", "there is no Waves in it"),
        ("{requests: 40}", "draw = None", "mine.py:Waves raised TypeError"),
        ("{requests: 40}", "draw = lambda *_: 1 / 0", "mine.py:Waves raised ZeroDivisionError"),
        ("{requests: 40}", "draw = lambda *_: 7", "of the type int, not a Workload"),
        ("{requests: 40}", "draw = lambda *_: Workload.of_units([0], 1, {'cpu': 1})", "its resources are ('cpu',)"),
        ("{requests: 40}", "draw = lambda s, r, _: Workload.of_units([3, 1], 1, all_of(r))", "do not ascend"),
        ("{requests: 40}", "draw = lambda s, r, _: Workload.of_units([0], -1, all_of(r))", "a duration is"),
        ("{requests: 40}", "draw = lambda s, r, _: Workload.of_units([], 1, all_of(r))", "has no requests"),
        ("{requests: 40}", "draw = lambda s, r, _: Workload.of_units([0], 1, all_of(r, -1))", "below zero"),
    ],
)
def test_mistakes_in_an_own_workload_are_named(
    workdir: Path, capsys: pytest.CaptureFixture[str], options: str, change: str, message: str
) -> None:
    (workdir / "s.yaml").write_text(TEXT.replace("{requests: 40}", options))
    text = (workdir / "mine.py").read_text()
    if change.startswith("class"):
        text = text.replace("class Waves:", change)
    elif change:
        text += f"\ndef all_of(r, units=1):\n    return dict.fromkeys(r, units)\n\nWaves.{change}\n"
    (workdir / "mine.py").write_text(text)
    assert main(["validate", "s.yaml"]) == 2
    assert message in capsys.readouterr().out


def test_options_that_compare_equal_are_told_apart_and_edits_are_seen(workdir: Path) -> None:
    (workdir / "mine.py").write_text(
        "import numpy as np\nfrom binwright import Workload\n\nclass Waves:\n"
        "    def __init__(self, requests):\n        self.n = 20 if requests is True else 10\n"
        "    def draw(self, resources, seed):\n"
        "        return Workload.of_units(np.arange(self.n), 1, dict.fromkeys(resources, 1))\n"
    )

    def offered(requests: str) -> int:
        (workdir / "s.yaml").write_text(TEXT.replace("requests: 40", f"requests: {requests}"))
        return len(build_world(load_scenario("s.yaml")).draw(0))

    assert [offered("1"), offered("true"), offered("1")] == [10, 20, 10]
    (workdir / "mine.py").write_text((workdir / "mine.py").read_text().replace("else 10", "else 30"))
    assert offered("1") == 30
