"""A long run that is interrupted goes on from where it was kept, and comes to what it would have come to."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
import zlib
from contextlib import nullcontext, suppress
from pathlib import Path
from time import sleep, time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from analysis.measure import samples
from fabric.compiled.numa_kept import ANSWER
from scenarios.batch.attempt import Task, attempt
from scenarios.batch.batch import Batch
from scenarios.batch.journal import Row, rows_of
from scenarios.build.engines import Engine
from scenarios.build.plan import plan
from scenarios.build.world import build_world
from scenarios.run import going, keepers
from scenarios.run.checkpoint import Checkpoint, folder_of
from scenarios.run.execute import execute
from scenarios.run.going import Going, Told
from simcore import large, opened
from simcore.play import Portions
from tests.support.long_runs import asked, contents
from tests.support.properties import first, forms, scaled

TIMED = ("seconds", "decision_us")
FORMS: list[dict[str, Any]] = [
    {},
    {"overflow": "wait"},
    {"overflow": {"expand": {"by": 1, "limit": 5, "then": "drop"}}},
    {"cluster.expansion": [{"at": 900, "by": 2}]},
    {"cluster.cells": {"count": 2, "router": "least-loaded", "window": "30 s"}},
    {"cluster.cells": {"count": 3, "router": "two-choices", "window": "2 min"}},
    {"warm_start": {"resource": "cpu", "until": 0.5, "with": "best-fit"}},
    {"warm_start": {"resource": "cpu", "until": 0.5, "with": {"random-top": {"k": 2}}}},
]
AGENTS = ["best-fit", {"random-top": {"k": 3}}]
"""The second has numbers of its own that change with every decision."""


class Interrupted(Exception):
    """Stands for the end of a process."""


@given(
    form=st.one_of(st.sampled_from(FORMS[:-1]), forms(6, 7).map(FORMS.__getitem__)),
    agent=forms(0, 1).map(AGENTS.__getitem__),
    stays=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    portion=st.integers(5, 60),
    torn=st.booleans(),
)
@example(form=FORMS[4], agent=AGENTS[0], stays=[3, 5], portion=1, torn=True)
@example(form=FORMS[5], agent=AGENTS[1], stays=[2, 3, 4], portion=5, torn=False)
@scaled(0.3)
def test_an_interrupted_run_comes_to_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory,
    form: dict[str, Any],
    agent: Any,
    stays: list[int],
    portion: int,
    torn: bool,
) -> None:
    (run,) = plan(asked(form, agent))
    whole, parts = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("parts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "BLOCK", 50)
        patch.setattr(samples, "KEPT", 16)  # the sampler soon looks after several decisions only
        expected = execute(run, whole)
        patch.setattr(going, "KEPT_EVERY", 0.0)
        patch.setattr(going, "SHARE", float("inf"))
        patch.setattr(keepers, "PORTION", portion)
        patch.setattr(going, "SHORT", -1.0)
        seen: list[int] = []
        for stay in stays:
            left = [stay]

            def tell(told: Told, left: list[int] = left) -> None:
                seen.append(told.requests)
                left[0] -= 1
                if not left[0]:
                    raise Interrupted

            try:
                execute(run, parts, tell=tell)
            except Interrupted:
                if torn:  # the process ended as it added more answers
                    with (folder_of(parts, run.name) / "answers").open("ab") as file:
                        file.write(b"torn")
                continue
            break
        found = execute(run, parts, tell=lambda told: seen.append(told.requests))
    for name in TIMED:
        found.pop(name, None), expected.pop(name, None)
    assert found == expected
    assert contents(parts) == contents(whole)
    assert seen == sorted(seen)  # nothing was done again


def test_portions_take_about_as_long_whatever_the_rule_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks that come soon tell nothing of how many decisions a portion may have."""
    clock, left = [0.0], [1] * 200 + [10**9]
    monkeypatch.setattr(going, "monotonic", lambda: clock[0])
    (run,) = plan(asked({}))
    simulation = build_world(run.scenario).simulation(run.seed, compiled=True)
    keeper: Any = SimpleNamespace(portion=1024, many=False, again=False)
    watch = Going(Portions(lambda: left.pop(0), simulation), simulation, run, lambda told: None, keeper, "")
    watch._due = math.inf
    portions = []
    for _ in range(260):
        portions.append(watch())
        clock[0] += portions[-1] * 0.001
    assert portions[:200] == [1] * 200
    assert all(100 <= portion <= 1024 for portion in portions[200:])
    assert sum(portions[200:]) * 0.001 > 10


READING = """
from pathlib import Path
from time import sleep, time

from agents.heuristics.servers.random_top import RandomTop

POLICY = Path(__file__).parent / "policy"


class Answers(RandomTop):
    def __init__(self):
        super().__init__(k=int(POLICY.read_text()))


class Fills(RandomTop):
    def __init__(self):
        super().__init__(k=2)

    def start(self, view, rng):
        POLICY.read_text()
        super().start(view, rng)
"""


@pytest.mark.parametrize("role", ["answers", "fills"])
@pytest.mark.parametrize("edited", [False, True])
def test_a_run_goes_on_only_if_the_files_that_were_read_hold_what_they_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str, edited: bool
) -> None:
    """Files that an agent opens by itself; what was read before a run went on is in its row, too."""
    monkeypatch.setattr(going, "TOLD_EVERY", 0.0)
    monkeypatch.setattr(going, "SHARE", float("inf"))
    monkeypatch.setattr(keepers, "PORTION", 20)
    monkeypatch.setattr(going, "SHORT", -1.0)
    (tmp_path / "mine.py").write_text(READING)
    policy, mine = tmp_path / "policy", f"{tmp_path / 'mine.py'}:{role.title()}"
    warm = {"warm_start": {"resource": "cpu", "until": 0.5, "with": mine}}
    (run,) = plan(asked(warm) if role == "fills" else asked({}, mine))

    def played(name: str, policy_says: str, stop: bool = False) -> tuple[list[int], Row]:
        """Run it as a worker would that starts now, to its end or, to `stop`, until it was kept three times."""
        monkeypatch.setattr(opened, "_read", {})
        monkeypatch.setattr(going, "KEPT_EVERY", 0.0 if stop else 60.0)
        policy.write_text(policy_says)
        seen: list[int] = []

        def told(told: Told) -> None:
            seen.append(told.requests)
            if stop and len(seen) == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt) if stop else nullcontext():
            return seen, attempt(Task(0, run, tmp_path / name, "", ""), told)
        return seen, {}

    played("parts", "3", stop=True)
    on, one = played("parts", "1" if edited else "3")
    begun, other = played("whole", "1" if edited else "3")
    assert (on[0] == begun[0]) == edited
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    assert list(one["files"]) == [str(policy)]
    assert one["files"] == other["files"]


def flipped(content: bytes) -> bytes:
    """Change a byte in the middle."""
    at = len(content) // 2
    return content[:at] + bytes([content[at] ^ 255]) + content[at + 1 :]


@pytest.mark.parametrize("file", ["answers", "state.npz"])
@pytest.mark.parametrize("harm", [lambda content: content[:-1], lambda content: b"", flipped])
def test_what_is_damaged_is_not_believed(tmp_path: Path, file: str, harm: Any) -> None:
    path = tmp_path / "kept"
    answers = np.zeros(3, ANSWER)
    Checkpoint(path).keep({"left": np.arange(5)}, {"first": 2, "files": {}}, [answers])
    kept = Checkpoint(path).load(ANSWER)
    assert kept
    assert kept.words == {"first": 2, "files": {}}
    assert kept.arrays["left"].tolist() == [0, 1, 2, 3, 4]
    assert kept.answers.tobytes() == answers.tobytes()
    (path / file).write_bytes(harm((path / file).read_bytes()))
    assert Checkpoint(path).load(ANSWER) is None


FORGED: dict[str, Any] = {
    **{
        f"no {key}": {key: None} for key in ("thought", "files", "run", "answers", "left", "samples", "first", "memory")
    },
    "a text for a number": {"thought": "x"},
    "a list of files": {"files": ["a"]},
    "another run": {"run": "123"},
    "no end of answers": {"answers": [10**30, 0, "|u1"]},
    "nobody's samples": {"samples": [1, [[0, 1, 2]]]},
    "far ends": {"due": np.arange(3.0), "holder": np.full(3, 10**9), "at": np.array([50, 50, 3, 50, *[0] * 7])},
    "more ends than there are": {"at": np.array([50, 50, 10**10, 50, *[0] * 7])},
    "a head that is behind": {"at": lambda at: np.where(np.arange(len(at)) == 0, 0, at)},
    "all is free": {"left": lambda left: left * 0 + 10**9},
    "other servers": {"left": np.zeros((9, 9, 9), np.int64)},
    "servers that nobody added": {"times": np.zeros(1), "grown": np.array([[1, 10**12]])},
    "no counters": {"at": np.zeros(0, np.int64)},
    "server 70,000": "server",
    "row 70,000": "row",
}


@pytest.mark.parametrize("how", FORGED)
@pytest.mark.parametrize("form", first(1, ["servers", "cells", "simpy"]))
def test_whatever_a_checkpoint_says_a_run_that_can_be_done_is_done(
    form: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results may come from anybody: what is not of this run is left alone, and nothing crashes."""
    cells = {"cluster.cells": {"count": 2, "router": "least-loaded", "window": "30 s"}}
    (run,) = plan(asked(cells if form == "cells" else {}, "random" if form == "simpy" else "best-fit"))
    engine: Engine = "simpy" if form == "simpy" else "auto"
    expected = execute(run, tmp_path / "whole", engine)
    monkeypatch.setattr(keepers, "PORTION", 20)
    monkeypatch.setattr(going, "SHARE", float("inf"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(going, "KEPT_EVERY", 0.0)
        patch.setattr(going, "SHORT", -1.0)
        patch.setattr(samples, "KEPT", 16)
        heard: list[Told] = []

        def stop(told: Told) -> None:
            heard.append(told)
            if len(heard) == 4:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            execute(run, tmp_path, engine, stop)
    folder = folder_of(tmp_path, run.name)
    with np.load(folder / "state.npz") as state:
        arrays: dict[str, Any] = dict(state)
    words = json.loads(arrays.pop("words").tobytes())
    forge(folder / "answers", words, arrays, FORGED[how])
    with (folder / "state.npz").open("wb") as file:
        np.savez(file, allow_pickle=False, words=np.frombuffer(json.dumps(words).encode(), np.uint8), **arrays)
    found = execute(run, tmp_path, engine)
    for name in TIMED:
        found.pop(name, None), expected.pop(name, None)
    assert found == expected


def forge(answers: Path, words: dict[str, Any], arrays: dict[str, Any], how: Any) -> None:
    """Write something else into a checkpoint, with the checksum that belongs to it."""
    if isinstance(how, str):
        content = bytearray(answers.read_bytes())
        if words["answers"][2] == str(ANSWER):
            np.frombuffer(content, ANSWER)[how][0] = 70_000
        else:
            content[:4] = (70_000).to_bytes(4, "little")
        answers.write_bytes(content)
        words["answers"][1] = zlib.crc32(content)
        return
    for key, value in how.items():
        if value is None:
            words.pop(key, None), arrays.pop(key, None)
        elif key in arrays:
            arrays[key] = value(arrays[key]) if callable(value) else value
        elif isinstance(value, str | list):
            words[key] = value


def test_what_fails_for_want_of_memory_stays_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(going, "KEPT_EVERY", 0.0)
    monkeypatch.setattr(going, "SHARE", float("inf"))
    (run,) = plan(asked({}, "random"))

    def stop(told: Told) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(run, tmp_path, "simpy", stop)
    before = {file.name: file.read_bytes() for file in folder_of(tmp_path, run.name).iterdir()}

    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(keepers, "recall", full)
    with pytest.raises(MemoryError):
        execute(run, tmp_path, "simpy")
    assert {file.name: file.read_bytes() for file in folder_of(tmp_path, run.name).iterdir()} == before


def test_the_journal_says_how_far_a_run_is_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(going, "KEPT_EVERY", 0.0)
    monkeypatch.setattr(going, "SHARE", float("inf"))
    heard: list[Told] = []
    Batch(asked({}), tmp_path).run(told=heard.append)
    rows, damaged = rows_of(tmp_path / "journal.jsonl")
    assert not damaged
    assert [row["status"] for row in rows] == ["under way"] * (len(rows) - 1) + ["done"]
    assert len(rows) > 2
    assert [row["requests"] for row in rows[:-1]] == [told.requests for told in heard if told.kept]
    assert all(row["of"] == 150 for row in rows[:-1])
    assert not (tmp_path / "checkpoints").exists()
    again = Batch(asked({}), tmp_path)
    assert len(again.done()) == 1


def test_how_far_a_run_is_is_not_among_what_its_agent_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(going, "TOLD_EVERY", 0.0)
    Batch(asked({}), tmp_path).run(told=lambda told: print(f"{told.requests} of {told.of}"))
    assert "150 of 150" in capsys.readouterr().out
    assert not list((tmp_path / "details").glob("*.printed.txt"))


@pytest.mark.parametrize(
    ("form", "lost"),
    [
        ({"record": ["states"]}, "recorded over time"),
        ({"rescheduling": {"every": 100, "moves": 5}}, "requests that run are moved"),
    ],
)
def test_a_run_that_cannot_be_kept_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: dict[str, Any], lost: str
) -> None:
    monkeypatch.setattr(going, "KEPT_EVERY", 0.0)
    monkeypatch.setattr(going, "TOLD_EVERY", 0.0)
    heard: list[Told] = []
    Batch(asked(form), tmp_path).run(told=heard.append)
    assert heard
    assert all(lost in told.lost and not told.kept for told in heard)


KILLED = """
import sys
from scenarios.build.world import build_world
from scenarios.run import going, keepers
going.KEPT_EVERY, going.SHARE = 0.05, 1e9
from pathlib import Path
from time import sleep, time
from scenarios.batch.batch import Batch
from tests.support.long_runs import asked
Batch(asked({"workload.requests": 1_000_000}), Path(sys.argv[1])).run()
"""


@pytest.mark.long
def test_a_run_that_is_killed_goes_on(tmp_path: Path) -> None:
    """Processes are killed with SIGKILL, each when it has been kept again, but the last one."""
    out, kills = tmp_path / "killed", 0

    def kept(since: float) -> bool:
        with suppress(FileNotFoundError):
            return any(file.stat().st_mtime > since for file in (out / "checkpoints").rglob("*"))
        return False

    for last in (False, False, False, True):
        began = time()
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(out)])
        while process.poll() is None and (last or not kept(began)):
            sleep(0.01)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
    assert kills == 3
    assert process.returncode == 0
    whole = tmp_path / "whole"
    Batch(asked({"workload.requests": 1_000_000}), whole).run()
    assert contents(out) == contents(whole)
