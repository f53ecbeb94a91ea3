"""What is kept of a run while it is under way: when that is, and what becomes of a checkpoint that is none."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from time import sleep, time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.fabric.decision_log import ENTRY
from binwright.scenarios.batch.attempt import Task, attempt
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.batch.journal import Row, rows_of
from binwright.scenarios.build.plan import plan
from binwright.scenarios.build.world import build_world
from binwright.scenarios.run import checkpoints, progress
from binwright.scenarios.run.checkpoints import FOLDER, Checkpoint
from binwright.scenarios.run.execute import execute
from binwright.scenarios.run.progress import PORTION, Reporter, RunProgress
from binwright.simcore import file_tracking
from binwright.simcore.play import Watchers
from tests.support.long_runs import asked, contents, kept_often
from tests.support.properties import scaled

TIMED = ("seconds", "decision_us")


@pytest.fixture
def often() -> Iterator[None]:
    """Keep runs as `kept_often` does."""
    with kept_often():
        yield


def test_portions_take_about_as_long_whatever_the_rule_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks that come soon tell nothing of how many decisions a portion may have."""
    clock, left = [0.0], [1] * 200 + [10**9]
    monkeypatch.setattr(progress, "monotonic", lambda: clock[0])
    (run,) = plan(asked({}))
    simulation = build_world(run.scenario).simulation(run.seed, compiled=True)
    reporter = Reporter(simulation, run, lambda told: None, None, "", PORTION)
    reporter._due = math.inf
    watch = Watchers(simulation, lambda: left.pop(0), reporter)
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

from binwright.agents.heuristics.servers.random_top import RandomTop

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


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("role", ["answers", "fills"])
@pytest.mark.parametrize("edited", [False, True])
def test_a_run_goes_on_only_if_the_files_that_were_read_hold_what_they_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str, edited: bool
) -> None:
    """Files that an agent opens by itself; what was read before a run went on is in its row, too."""
    (tmp_path / "mine.py").write_text(READING)
    policy, mine = tmp_path / "policy", f"{tmp_path / 'mine.py'}:{role.title()}"
    warm = {"warm_start": {"resource": "cpu", "until": 0.5, "with": mine}}
    (run,) = plan(asked(warm) if role == "fills" else asked({}, mine))

    def played(name: str, policy_says: str, stop: bool = False) -> tuple[list[int], Row]:
        """Run it as a worker would that starts now, to its end or, to `stop`, until it was kept three times."""
        monkeypatch.setattr(file_tracking, "_read", {})
        monkeypatch.setattr(progress, "KEPT_EVERY", 0.0 if stop else 60.0)
        policy.write_text(policy_says)
        seen: list[int] = []

        def told(told: RunProgress) -> None:
            seen.append(told.requests)
            if stop and len(seen) == 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt) if stop else nullcontext():
            return seen, attempt(Task(0, run, tmp_path / name, "", "", "simpy"), told)
        return seen, {}

    played("parts", "3", stop=True)
    on, one = played("parts", "1" if edited else "3")
    begun, other = played("whole", "1" if edited else "3")
    assert (on[0] == begun[0]) == edited
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    assert list(one["files"]) == [str(policy)]
    assert one["files"] == other["files"]


def flipped(content: bytes) -> bytes:
    """Change a byte of what was said."""
    at = max(content.find(b"first"), 0)
    return content[:at] + bytes([content[at] ^ 255]) + content[at + 1 :]


@pytest.mark.parametrize("file", ["answers", "state.npz"])
@pytest.mark.parametrize("harm", [lambda content: content[:-1], lambda content: b"", flipped])
def test_what_is_damaged_is_not_believed(tmp_path: Path, file: str, harm: Callable[[bytes], bytes]) -> None:
    answers = np.arange(99, dtype=np.uint8)
    Checkpoint(tmp_path, "run").keep({"left": np.arange(5)}, {"first": 2, "files": {}}, answers)
    kept = Checkpoint(tmp_path, "run").load()
    assert kept
    assert kept.words == {"first": 2, "files": {}}
    assert kept.arrays["left"].tolist() == [0, 1, 2, 3, 4]
    assert kept.answers.tolist() == answers.tolist()
    path = Checkpoint(tmp_path, "run").folder / file
    path.write_bytes(harm(path.read_bytes()))
    assert Checkpoint(tmp_path, "run").load() is None


def interrupted(folder: Path, after: int = 4, agent: Any = None) -> Path:
    """Interrupt a run on SimPy's clock after it was kept so often; returns the folder that keeps it."""
    (run,) = plan(asked({}, agent or {"random-top": {"k": 3}}))
    heard: list[RunProgress] = []

    def stop(told: RunProgress) -> None:
        heard.append(told)
        if len(heard) == after:
            raise KeyboardInterrupt

    with kept_often(), pytest.raises(KeyboardInterrupt):
        execute(run, folder, "simpy", stop)
    return Checkpoint(folder, run.name).folder


def came_to(folder: Path, begins_at: int | None = 0, agent: Any = None) -> dict[str, Any]:
    """Play the run to its end, which begins at this request; returns what does not depend on the time it took."""
    (run,) = plan(asked({}, agent or {"random-top": {"k": 3}}))
    heard: list[RunProgress] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "TOLD_EVERY", 0.0)
        found = execute(run, folder, "simpy", heard.append)
    assert begins_at is None or heard[0].begun == begins_at
    return {name: value for name, value in found.items() if name not in TIMED}


def forged(folder: Path, how: Callable[[dict[str, Any], dict[str, Any], bytearray], None]) -> None:
    """Write something else into a checkpoint, with the checksum that belongs to it."""
    with np.load(folder / "state.npz") as state:
        arrays: dict[str, Any] = dict(state)
    words, answers = json.loads(arrays.pop("words").tobytes()), bytearray((folder / "answers").read_bytes())
    size = words["answers"][0]
    how(words, arrays, answers)
    (folder / "answers").write_bytes(answers)
    if words.get("answers", [0])[0] == size:
        words["answers"] = [len(answers), zlib.crc32(answers)]
    with (folder / "state.npz").open("wb") as file:
        np.savez(file, allow_pickle=False, words=np.frombuffer(json.dumps(words).encode(), np.uint8), **arrays)


def all_become(column: str, value: int) -> Callable[[dict[str, Any], dict[str, Any], bytearray], None]:
    """Write the same into all answers; see `binwright.fabric.decision_log.Answers.portion`."""

    def write(words: dict[str, Any], arrays: dict[str, Any], answers: bytearray) -> None:
        at = 0
        while at < len(answers):
            sizes = np.frombuffer(answers, np.int64, 6, at)
            np.frombuffer(answers, ENTRY, sizes[0], at + 48)[column].fill(value)
            at += 48 + int(sizes @ (ENTRY.itemsize, 8, 8, 8, 8, 8))

    return write


def missing(key: str) -> Callable[[dict[str, Any], dict[str, Any], bytearray], Any]:
    """Leave out one of the words."""
    return lambda words, arrays, answers: words.pop(key)


FORGED: dict[str, Callable[[dict[str, Any], dict[str, Any], bytearray], Any]] = {
    **{f"no {key}": missing(key) for key in ("thought", "files", "run", "answers", "memory", "luck", "reasons")},
    "a text for a number": lambda words, arrays, answers: words.update(thought="x"),
    "no time": lambda words, arrays, answers: words.update(thought=-(10**12)),
    "not a number": lambda words, arrays, answers: words.update(thought=float("nan")),
    "a list of files": lambda words, arrays, answers: words.update(files=["a"]),
    "another run": lambda words, arrays, answers: words.update(run="123"),
    "no end of answers": lambda words, arrays, answers: words.update(answers=[10**30, 0]),
    "fewer than none": lambda words, arrays, answers: words.update(answers=[-1, 0]),
    "another form of numbers": lambda words, arrays, answers: arrays.update(memory1=np.zeros(0)),
    "whole numbers": lambda words, arrays, answers: arrays.update(memory1=np.zeros(2, np.int64)),
    "no memory": lambda words, arrays, answers: arrays.clear(),
    "other words": lambda words, arrays, answers: words.update(memory={"compiled.weights": {"value": 7}}),
    "luck of another kind": lambda words, arrays, answers: words.update(luck=[{"bit_generator": "MT19937"}]),
    "luck of many": lambda words, arrays, answers: words["luck"].append([]),
    "server 70,000": all_become("server", 70_000),
    "server -70,000": all_become("server", -70_000),
    "node 70": all_become("node", 70),
    "node -70": all_become("node", -70),
    "row 70,000": all_become("row", 70_000),
    "no portion": lambda words, arrays, answers: answers.extend(b"\1" * 48),
    "cut short": lambda words, arrays, answers: answers.pop(),
    "more answers than requests": lambda words, arrays, answers: answers.extend(answers),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What the run comes to, and its details, if it is not interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    return came_to(folder), contents(folder)


@pytest.mark.parametrize("how", FORGED)
def test_what_cannot_be_of_this_run_begins_anew(how: str, tmp_path: Path, whole: Any) -> None:
    """Results may come from anybody, and nothing crashes."""
    forged(interrupted(tmp_path), FORGED[how])
    assert (came_to(tmp_path), contents(tmp_path)) == whole


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4), st.booleans())
@scaled(0.5)
def test_whatever_a_log_says_a_run_that_can_be_done_is_done(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]], small: bool
) -> None:
    """Other decisions that the ledger takes are believed, as other lines of a journal are: no others are."""
    folder = tmp_path_factory.mktemp("results")

    def change(words: dict[str, Any], arrays: dict[str, Any], answers: bytearray) -> None:
        for place, value in changes:
            answers[place % len(answers)] = value % 3 if small else value

    forged(interrupted(folder), change)
    found = came_to(folder, None)
    assert found["scheduled"] + found["rejected"] == 150


def piped(path: Path, target: Path) -> None:
    os.mkfifo(path)


def in_a_folder(path: Path, target: Path) -> None:
    (path / "below").mkdir(parents=True)


def linked(path: Path, target: Path) -> None:
    path.symlink_to(target)


@pytest.mark.parametrize("file", ["answers", "state.npz", ""])
@pytest.mark.parametrize("put", [piped, in_a_folder, linked])
def test_what_is_no_file_is_not_waited_for_and_nothing_is_written_through_a_link(
    tmp_path: Path, file: str, put: Callable[[Path, Path], None], whole: Any
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("of somebody's own")
    folder = interrupted(tmp_path / "out")
    if file:
        (folder / file).unlink()
    else:
        checkpoints.forget(tmp_path / "out", folder.name)
        folder.parent.mkdir()
    put(folder / file, precious)
    assert Checkpoint(tmp_path / "out", folder.name).load() is None
    interrupted(tmp_path / "out", 3)
    assert precious.read_text() == "of somebody's own"
    assert Checkpoint(tmp_path / "out", folder.name).load()  # it was kept again
    assert came_to(tmp_path / "out", 2) == whole[0]


def test_a_small_file_does_not_fill_the_memory(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, "run")
    checkpoint.keep({}, {"files": {}}, np.zeros(9, np.uint8))
    with np.load(checkpoint.folder / "state.npz") as state:
        words = state["words"]
    np.savez_compressed(checkpoint.folder / "state.npz", words=words, much=np.zeros(10**6))
    assert Checkpoint(tmp_path, "run").load() is None


def test_what_fails_for_want_of_memory_stays_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = interrupted(tmp_path, 1, "random")
    before = {file.name: file.read_bytes() for file in folder.iterdir()}

    def full(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(checkpoints, "recall", full)
    with pytest.raises(MemoryError):
        came_to(tmp_path, agent="random")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


@pytest.mark.usefixtures("often")
def test_the_journal_says_how_far_a_run_is_and_nothing_is_left(tmp_path: Path) -> None:
    heard: list[RunProgress] = []
    Batch(asked({}, "random"), tmp_path).run(on_progress=heard.append)
    rows, damaged = rows_of(tmp_path / "journal.jsonl")
    assert not damaged
    assert [row["status"] for row in rows] == ["under way"] * (len(rows) - 1) + ["done"]
    assert len(rows) > 2
    assert [row["requests"] for row in rows[:-1]] == [told.requests for told in heard if told.kept]
    assert all(row["of"] == 150 for row in rows[:-1])
    assert not (tmp_path / FOLDER).exists()
    again = Batch(asked({}, "random"), tmp_path)
    assert len(again.done()) == 1


def test_how_far_a_run_is_is_not_among_what_its_agent_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "TOLD_EVERY", 0.0)
    Batch(asked({}), tmp_path).run(on_progress=lambda told: print(f"{told.requests} of {told.of}"))
    assert "0 of 150" in capsys.readouterr().out
    assert not list((tmp_path / "details").glob("*.printed.txt"))


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize(
    ("form", "lost"),
    [
        ({}, "it is compiled, and takes minutes at most"),
        ({"rescheduling": {"every": 100, "moves": 5}}, "requests that run are moved"),
    ],
)
def test_a_run_that_cannot_be_kept_says_why(tmp_path: Path, form: dict[str, Any], lost: str) -> None:
    heard: list[RunProgress] = []
    Batch(asked(form), tmp_path).run(on_progress=heard.append)
    assert heard
    assert all(told.lost == lost and not told.kept for told in heard)
    assert not (tmp_path / FOLDER).exists()


KILLED = """
import sys
from binwright.scenarios.run import progress
progress.KEPT_EVERY, progress.SHARE = 0.05, 1e9
from pathlib import Path
from binwright.scenarios.batch.batch import Batch
from tests.support.long_runs import asked
Batch(asked({"workload.requests": 100_000}, "random"), Path(sys.argv[1])).run()
"""


@pytest.mark.long
def test_a_run_that_is_killed_goes_on(tmp_path: Path) -> None:
    """Processes are killed with SIGKILL, each when it has been kept again, but the last one."""
    out, kills = tmp_path / "killed", 0

    def kept(since: float) -> bool:
        with suppress(FileNotFoundError):
            return any(file.stat().st_mtime > since for file in (out / FOLDER).rglob("*"))
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
    Batch(asked({"workload.requests": 100_000}, "random"), whole).run()
    assert contents(out) == contents(whole)
