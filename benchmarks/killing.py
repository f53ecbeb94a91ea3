"""Kill commands, their workers and nodes at random moments until each is whole: part of `benchmarks.reliability`."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import NamedTuple

from tests.support.batches import FIRST, TEXT
from tests.support.faults import contents
from tests.support.service import gone
from tests.support.service_kills import kill_service
from tests.support.training import TINY

START = "import sys; from binwright.agents.learned import loop; from binwright.scenarios.batch import pool; "
START += "from binwright.cli import main; pool.WORTH = loop.PATIENCE = 0; sys.exit(main())"
"""Has workers for the shortest batches, and a checkpoint after every iteration."""
OUT = ["--out", "out"]
ATTEMPTS = 60
"""Times that a command is given at most."""
PICKY = f"{FIRST.format('time.sleep(.004)')}\n    def __init__(self, most: int = 1):\n        self.most = most\n"


class Attack(NamedTuple):
    """A command, and who of its processes may be killed."""

    command: list[str]
    victims: tuple[str, ...]
    cost: int = 1
    """Its share of the kills is one in so many."""


ATTACKS = {
    "run": Attack(
        ["run", "s.yaml", "--agents", "mine.py:Mine,first-fit", "--jobs", "2", *OUT],
        ("command", "worker", "starting worker"),
    ),
    "train": Attack(["train", "tiny.yaml", *OUT], ("command",), 2),
    "tune": Attack(
        [
            *("tune", "s.yaml", "--agent", "mine.py:Mine", "--param", "most=1..4", "--jobs", "2", *OUT),
            *("--rounds", "2", "--population", "4", "--seeds", "2", "--held-out", "2"),
        ],
        ("command", "worker", "starting worker"),
        2,
    ),
    "run on Ray": Attack(
        ["run", "s.yaml", "--agents", "mine.py:Mine", "--jobs", "2", "--on", "ray", *OUT], ("command", "node"), 20
    ),
}


class Killed(NamedTuple):
    """What came of killing a command."""

    victims: Counter[str]
    batches: int
    broken: list[str]


def killed(kills: int, seed: int) -> Iterator[tuple[str, Killed]]:
    """Kill every command so often, those that take long less often."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "mine.py").write_text(f"import time\n{PICKY}")
        (folder / "s.yaml").write_text(TEXT + "record: [requests]\nreplications: 12\n")
        (folder / "tiny.yaml").write_text(json.dumps(TINY))
        for what, attack in ATTACKS.items():
            yield what, _killed(folder, attack, max(1, kills // attack.cost), random.Random(f"{what} {seed}"))


def _killed(folder: Path, attack: Attack, kills: int, drawn: random.Random) -> Killed:
    """Kill a command until it was so often, each time until its folder is whole, and compare that."""
    victims, batches, broken = Counter[str](), 0, list[str]()
    command, out = [sys.executable, "-c", START, *attack.command], folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    began = monotonic()
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    took, whole = monotonic() - began, contents(out)
    while victims.total() < kills and batches < kills:
        shutil.rmtree(out, ignore_errors=True)
        done: set[bytes] = set()
        batches += 1
        for attempt in range(ATTEMPTS):
            victim = drawn.choice(attack.victims) if attempt < 4 else ""
            with (folder / "err").open("wb+") as err:
                running = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=err)
                family = [running.pid]
                if victim and _kill(running.pid, victim, took, drawn, family):
                    victims[victim] += 1
                try:
                    code = running.wait(600)
                except subprocess.TimeoutExpired:
                    running.kill()
                    broken.append(f"{attack.command[0]} {batches}: hangs after a {victim} was killed")
                    code = running.wait()
                err.seek(0)
                errors = err.read().decode(errors="replace")
            with suppress(AssertionError):  # Ray's processes take their time
                gone(family)
            now = {line for file in out.rglob("journal.jsonl") for line in file.read_bytes().split(b"\n")[:-1]}
            if lost := done - now:
                broken.append(f"{attack.command[0]} {batches}: {len(lost)} lines of a journal are gone")
            if "Traceback" in errors:
                broken.append(f"{attack.command[0]} {batches}: {errors[-300:]}")
            if code not in (0, 1, 2, -signal.SIGKILL) or (code == 2 and "binwright: " not in errors):
                broken.append(
                    f"{attack.command[0]} {batches}: exit code {code} after a {victim} was killed: {errors[-300:]}"
                )
            done = now
            if code == 0:
                break
        else:
            broken.append(f"{attack.command[0]} {batches}: never ends")
        if contents(out) != whole:
            broken.append(f"{attack.command[0]} {batches}: other results")
    return Killed(victims, batches, broken)


def _kill(pid: int, victim: str, took: float, drawn: random.Random, family: list[int]) -> bool:
    """Kill the command, or a process of its, after a while that may be its start; tell whether it was there."""
    try:
        if victim == "starting worker":
            until = monotonic() + took
            while not (victims := [pid for pid in _family(pid) if "binwright.scenarios.batch.pool" in _command(pid)]):
                if monotonic() > until:
                    return False
                sleep(0.002)
            sleep(drawn.uniform(0, 0.5))
        else:
            sleep(drawn.uniform(0, took))
            wanted = {"command": "", "worker": "binwright.scenarios.batch.pool", "node": "raylet/raylet"}[victim]
            victims = [pid] if victim == "command" else [each for each in _family(pid) if wanted in _command(each)]
        family += _family(pid)
        if not victims:
            return False
        os.kill(drawn.choice(victims), signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        return False
    return True


def _family(pid: int) -> list[int]:
    """List the processes that a process has started."""
    return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def killed_services(kills: int, seed: int) -> tuple[int, list[str]]:
    """Kill services, each ten times: how many submissions were accepted, and what broke."""
    accepted, broken = 0, []
    for number in range(max(1, kills // 10)):
        with tempfile.TemporaryDirectory() as name:
            try:
                accepted += kill_service(Path(name) / "data", min(kills, 10), seed + number)
            except Exception as error:
                broken.append(f"service {seed + number}: {error!r:.300}")
    return accepted, broken
