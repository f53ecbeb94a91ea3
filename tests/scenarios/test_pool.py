"""Batches in worker processes: the same results, whatever happens to a process on the way."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from binwright.analysis.results_api import Results
from binwright.commands import progress
from binwright.commands.progress import Live, duration
from binwright.scenarios.batch import pool
from binwright.scenarios.batch.attempt import Row, Task
from binwright.scenarios.batch.batch import Batch, rows_of
from binwright.scenarios.batch.pool import Pool, ending
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import UserError
from tests.support.batches import agent, data, numbers, plain, same, scenario, tree

ASKED: dict[str, Any] = {"record": ["requests", "samples"], "agents": ["first-fit", "random", "best-fit"]}


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers start for the smallest batch."""
    monkeypatch.setattr(pool, "WORTH", 0.0)


def tasks() -> list[Task]:
    return [Task(run, Path("nowhere")) for run in Batch(scenario(), "nowhere").runs]


# -- the same results --------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.usefixtures("at_once")
def test_workers_give_the_same_bytes(tmp_path: Path) -> None:
    requested = scenario(**ASKED, sweep={"product": {"overflow": ["drop", "wait"]}})
    rows: list[Row] = []
    result = Batch(requested, tmp_path / "out").run(jobs=2, finished=rows.append)
    alone = Batch(requested, tmp_path / "alone").run()
    assert same(result, alone)
    assert tree(result.folder / "details") == tree(alone.folder / "details")
    assert rows_of(result.folder / "journal.jsonl") == (rows, 0)
    assert len(rows) == len(alone.runs) == 18


def test_few_short_runs_start_no_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    monkeypatch.setattr(pool, "WORTH", 60)  # however busy the machine is
    assert len(Batch(scenario(), tmp_path).run(jobs=8).done) == 6


@pytest.mark.long
def test_workers_are_called_in_when_runs_turn_out_to_be_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "WORTH", 1.5)
    pids = tmp_path / "pids"
    pids.mkdir()
    name = agent(tmp_path, f"time.sleep(.008); Path({str(pids)!r}, str(os.getpid())).touch()")
    requested = plain(agents=[name, "first-fit"], replications=7)
    results = Batch(requested, tmp_path / "out").run(jobs=2)
    assert len(results.done) == 14
    assert len(list(pids.iterdir())) >= 2, "this process and a worker at least"
    shown = numbers(results.runs).drop("run", "agent", "compiled").rows()
    assert shown[::2] == shown[1::2]


@pytest.mark.long
def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    """Workers do not import the user's script, as those of `multiprocessing` would."""
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(data()))
    script = (
        "import binwright as bw\nfrom scenarios.batch import pool\npool.WORTH = 0\nprint(bw.run('s.yaml', jobs=2))\n"
    )
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "Results('results/small': 6 runs, 0 failed)\n"
    assert done.stderr == ""


# -- workers that die --------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.usefixtures("at_once")
def test_a_worker_that_dies_loses_its_run_only_which_is_tried_again(tmp_path: Path) -> None:
    """One agent kills the process at request 7 of one seed, unless it did so before; another one always."""
    fuse = tmp_path / "fuse"
    once = agent(
        tmp_path,
        f"if request.index == 7 and not Path({str(fuse)!r}).exists(): "
        f"Path({str(fuse)!r}).touch(); os.kill(os.getpid(), signal.SIGKILL)",
        "once",
    )
    always = agent(tmp_path, "if request.index == 7: os._exit(7)", "always")
    results = Batch(plain(agents=["first-fit", once, always], replications=2), tmp_path / "out").run(jobs=2)
    assert fuse.exists()
    assert results.runs["status"].to_list() == ["done", "done", "failed"] * 2
    shown = numbers(results.done).drop("run", "agent", "compiled").rows()
    assert shown[::2] == shown[1::2]
    message = "the worker process that ran it ended with exit code 7 (it was tried 2 times)"
    assert results.failed["error"].to_list() == [message] * 2
    assert ending(-9) == "was killed by SIGKILL, perhaps for want of memory"
    assert ending(-15) == "was killed by SIGTERM"


def test_a_worker_that_ends_as_it_starts_is_a_message() -> None:
    broken = pool.RUNS._replace(start="raise SystemExit(9)  # {handle}")
    ended = "a worker process ended with exit code 9 as it started"
    with closing(Pool(2, broken)) as started, pytest.raises(UserError, match=ended):
        list(started.rows(tasks(), lambda task, reported: None))


# -- interrupted and killed --------------------------------------------------------------------------------------------


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[tuple[list[str], Path]]:
    """A command that takes a second with workers, and the folder where each process leaves its number.

    In this process the same runs take no time.
    """
    pids = tmp_path / "pids"
    pids.mkdir()
    line = f"'SLOW' in os.environ and (time.sleep(.004), Path({str(pids)!r}, str(os.getpid())).touch())"
    name = agent(tmp_path, line)
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(plain(**ASKED | {"agents": [name]}, replications=12).dump()))
    start = (
        "import os, scenarios.batch.pool, sys; scenarios.batch.pool.WORTH = 0; os.environ['SLOW'] = 'yes'; "
        "from binwright.cli import main; sys.exit(main())"
    )
    yield [sys.executable, "-c", start, "run", "s.yaml", "--out", "out", "--jobs", "2"], pids
    for pid in pids.iterdir():
        until = time.monotonic() + 5
        while alive(pid.name) and time.monotonic() < until:
            time.sleep(0.1)
        assert not alive(pid.name), "a worker outlived its parent"


def alive(pid: str) -> bool:
    try:
        return Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def lines(journal: Path) -> int:
    return journal.read_text().count("\n") if journal.exists() else 0


def until_lines(journal: Path, count: int) -> None:
    until = time.monotonic() + 60
    while lines(journal) < count and time.monotonic() < until:
        time.sleep(0.005)


def goes_on_to_the_same_end(tmp_path: Path) -> None:
    """What is there is not computed again, and in the end it is what an uninterrupted batch leaves."""
    requested = scenario_from(yaml.safe_load((tmp_path / "s.yaml").read_text()))
    whole = Batch(requested, tmp_path / "whole").run()
    assert len(whole.done) == 12
    before = lines(tmp_path / "out" / "journal.jsonl")
    known = len(Batch(requested, tmp_path / "out").done())
    assert known > 0
    results = Batch(requested, tmp_path / "out").run()
    assert lines(tmp_path / "out" / "journal.jsonl") in (before + 12 - known, before + 13 - known)
    assert same(results, whole)
    assert tree(tmp_path / "out" / "details") == tree(whole.folder / "details")


@pytest.mark.long
@pytest.mark.parametrize(("sent", "times"), [(signal.SIGINT, 1), (signal.SIGINT, 2), (signal.SIGTERM, 1)])
def test_interrupts_leave_what_is_finished(
    tmp_path: Path, slow: tuple[list[str], Path], sent: signal.Signals, times: int
) -> None:
    command, _ = slow
    # As a terminal or a batch system does it: every process of the group gets the signal.
    running = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    )
    journal = tmp_path / "out" / "journal.jsonl"
    until_lines(journal, 3)
    for _ in range(times):
        os.killpg(running.pid, sent)
    _, output = running.communicate(timeout=30)
    if times == 1:
        assert running.returncode == 128 + sent
        assert output.endswith("binwright: Interrupted. Run the same command to resume.\n")
        assert "Traceback" not in output
        finished = [json.loads(line)["run"] for line in journal.read_text().splitlines()]
        assert 3 <= len(finished) < 12
        assert sorted(Results(tmp_path / "out").runs["run"]) == sorted(finished)
    goes_on_to_the_same_end(tmp_path)


@pytest.mark.long
def test_kill_9_at_any_moment_loses_the_runs_in_flight_at_most(tmp_path: Path, slow: tuple[list[str], Path]) -> None:
    command, _ = slow
    chance = random.Random(4)
    journal = tmp_path / "out" / "journal.jsonl"
    for _ in range(2):
        running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        before = lines(journal)
        if chance.random() < 0.7:  # else while it starts
            until_lines(journal, min(12, before + 1))
        time.sleep(chance.random() * 0.4)
        running.kill()
        running.communicate()
        assert lines(journal) >= before
        # A line that was being written is cut short.
        if lines(journal) > before + 1 and chance.random() < 0.5:
            journal.write_text(journal.read_text()[: -chance.randrange(2, 300)])
    (tmp_path / "out" / "runs.parquet").write_bytes(b"PAR1 and no more")
    left = tmp_path / "out" / "details" / ".0123456789abcdef.requests.parquet.7"
    left.parent.mkdir(exist_ok=True)  # it may have been killed before the first run ended
    left.write_bytes(b"PAR1")
    goes_on_to_the_same_end(tmp_path)


# -- how long ----------------------------------------------------------------------------------------------------------


def test_progress_says_done_failed_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: clock[0])
    with Live(1000, 200) as live:
        for number in range(304):
            if number == 200:
                clock[0] = (
                    60.0  # what is new is compiled, workers start: the first run of each says nothing of the rate
                )
                assert live.text() == "200 of 1000, 2 failed"
            live({"status": "done" if number % 100 else "failed"})
            if number < 204:
                assert "left" not in live.text()
        clock[0] = 80.0
        text = live.text()
    assert text == "304 of 1000, 4 failed, 2 min left"
    with Live() as live:
        live.detail = "last a with 3 servers"
        live({"status": "done"})
        assert live.text() == "1 in 0 s, last a with 3 servers"
    assert [duration(seconds) for seconds in (7.4, 700, 20_000)] == ["7 s", "12 min", "5.6 h"]
