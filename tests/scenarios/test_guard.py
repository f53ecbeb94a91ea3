"""Agents that end the process or think for ever: their runs say so, and nothing else is disturbed."""

import signal
from pathlib import Path

import pytest

from binwright.cli import main
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.run.sandbox import limited
from tests.support.batches import FIRST, agent, plain

ENDLESS = {
    "a loop": "while request.index == 7: pass",
    "a loop that catches what it can": (
        "while request.index == 7:\n            try: time.sleep(.01)\n            except Exception: pass"
    ),
    "a sleep": "time.sleep(99 * (request.index == 7))",
}


@pytest.mark.parametrize("line", ENDLESS.values(), ids=ENDLESS)
def test_an_agent_beyond_its_decision_limit_fails_its_run_only(tmp_path: Path, line: str) -> None:
    Batch(plain(agents=["first-fit"], replications=1), tmp_path / "compiled").run()  # which takes longer than the limit
    scenario = plain(agents=[agent(tmp_path, line), "first-fit"], replications=1, decision_limit="200 ms")
    results = Batch(scenario, tmp_path / "out").run()
    assert results.runs["status"].to_list() == ["failed", "done"]
    error = results.failed["error"][0]
    assert error.startswith("the agent thought for longer than 0.2 s, its decision_limit; it was interrupted at")
    assert f"{tmp_path / 'mine.py'}:" in error


def test_many_quick_decisions_may_take_longer_than_the_limit(tmp_path: Path) -> None:
    scenario = plain(agents=[agent(tmp_path, "time.sleep(.01)")], replications=1, decision_limit="200 ms")
    assert len(Batch(scenario, tmp_path / "out").run().done) == 1


def test_decision_limit_is_no_part_of_a_runs_identity(tmp_path: Path) -> None:
    names = {Batch(plain(decision_limit=limit), tmp_path).runs[0].name for limit in ("1 s", "2 s")}
    assert len(names) == 1


@pytest.mark.parametrize("when", ["request.index == 7", "True"])
def test_an_agent_that_exits_python_fails_its_run_only(tmp_path: Path, when: str) -> None:
    scenario = plain(agents=[agent(tmp_path, f"if {when}: raise SystemExit(3)"), "first-fit"], replications=2)
    results = Batch(scenario, tmp_path / "out").run()
    assert results.runs["status"].to_list() == ["failed", "done"] * 2
    assert results.failed["error"][0].startswith(f"sys.exit(3) was called at {tmp_path / 'mine.py'}:")


def test_agents_that_exit_at_start_or_import_are_caught(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    starts = FIRST.format("pass") + "\n    def start(self, view, rng):\n        raise SystemExit(3)\n"
    (tmp_path / "starts.py").write_text(starts)
    results = Batch(plain(agents=[f"{tmp_path / 'starts.py'}:Mine", "first-fit"]), tmp_path / "out").run()
    assert results.runs["status"].to_list() == ["failed", "done"] * 3
    (tmp_path / "imported.py").write_text("import sys\nsys.exit(3)\n")
    assert main(["validate", "quickstart", "--set", f"agents=[{tmp_path / 'imported.py'}:Mine]"]) == 2
    assert "cannot import this agent: sys.exit(3) is called in it" in capsys.readouterr().out


def lose_an_interrupt() -> None:
    """Raise another error in place of an interrupt, as numba does with one that comes while it prepares a call."""
    with limited(60):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise TypeError("missing 1 required positional argument: 'sig'") from None


def test_an_interrupt_that_ends_in_another_error_is_an_interrupt() -> None:
    """Such a run had failed, and its batch went on."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background of a shell ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            lose_an_interrupt()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
