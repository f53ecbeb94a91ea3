"""The measurement of decisions beside rivals, with a project made up for it."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks import changing
from benchmarks.changing import WARM, Rival, drawn, rule_of, timed

RULE = """
class Cluster:
    def __init__(self, servers, cpu, mem):
        self.servers = [Server() for _ in range(servers)]

    def first_fit_action(self, request):
        asked = [request["cpu"], request["mem"]]
        for number, server in enumerate(self.servers):
            if request["is_double"]:
                if all(amount / 2 <= free for node in server.free for amount, free in zip(asked, node)):
                    return 2 * number
            else:
                for node in NODES:
                    if all(amount <= free for amount, free in zip(asked, server.free[node])):
                        return 2 * number + node

    best_fit_action = None


class Server:
    def reset_status(self, free):
        self.free = free
"""
SERVERS = 20


def rival(folder: Path, nodes: str, stack: ExitStack) -> Rival:
    folder.joinpath("schedgym").mkdir()
    folder.joinpath("schedgym/sched_env.py").write_text(f"NODES = {nodes}\n{RULE}", "utf-8")
    return Rival("VMAgent", folder, sys.executable, SERVERS, stack)


@pytest.mark.long
def test_a_rival_answers_the_same_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changing, "MOST", 200)
    rule = rule_of("first-fit", SERVERS)
    with ExitStack() as stack:
        found = timed(rule, "first-fit", drawn(SERVERS, WARM + 200), {"VMAgent": rival(tmp_path, "(0, 1)", stack)})
    assert found["VMAgent"] > 0


@pytest.mark.long
def test_other_answers_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changing, "MOST", 200)
    rule = rule_of("first-fit", SERVERS)
    with ExitStack() as stack, pytest.raises(AssertionError, match="first-fit: VMAgent answers request"):
        timed(rule, "first-fit", drawn(SERVERS, WARM + 200), {"VMAgent": rival(tmp_path, "(1, 0)", stack)})


def test_a_rival_that_does_not_run_is_named(tmp_path: Path) -> None:
    with ExitStack() as stack, pytest.raises(SystemExit, match="VMAgent does not run"):
        Rival("VMAgent", tmp_path, sys.executable, SERVERS, stack).timed("first-fit")
