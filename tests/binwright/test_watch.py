"""A run seen from elsewhere: how far it is, whether somebody goes on with it, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from binwright.cli import main
from binwright.commands import watching as command
from binwright.commands.progress import Live
from scenarios.batch import lock as locks
from scenarios.batch.batch import Batch
from scenarios.batch.journal import line_of
from scenarios.batch.lock import is_taken, lock
from scenarios.batch.watching import WatchedFolder
from simcore.errors import ResultsError
from tests.support.batches import scenario

Said = Callable[[], str]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    return lambda: " ".join(capsys.readouterr().out.split())


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    """Six runs that are done."""
    found = Batch(scenario(), tmp_path / "results")
    found.run()
    return found


def leave(batch: Batch, count: int, **changes: object) -> list[dict[str, object]]:
    """Leave so many rows in the journal, the last of them changed; returns the others."""
    rows = batch.rows()
    kept = [*rows[: count - 1], rows[count - 1] | changes]
    (batch.folder / "journal.jsonl").write_text("".join(map(line_of, kept)))
    return [*rows[count:]]


def test_what_is_over_is_said_to_be(batch: Batch, said: Said) -> None:
    assert main(["watch", str(batch.folder)]) == 0
    assert said() == "small: 6 of 6 runs done. It is over."


def test_what_was_left_and_what_failed_is_said(batch: Batch, said: Said) -> None:
    leave(batch, 4, status="failed", error="broke")
    assert main(["watch", str(batch.folder)]) == 1
    assert said() == "small: 3 of 6 runs done, 1 failed. It stands still: the same command goes on with it."


def test_a_run_that_was_kept_is_under_way_and_has_not_failed(
    batch: Batch, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(batch, 3, status="under way", requests=50, of=200)
    assert main(["watch", str(batch.folder)]) == 1
    kept = "Kept of runs that were under way: 25.0%."
    assert said() == f"small: 2 of 6 runs done. {kept} It stands still: the same command goes on with it."
    monkeypatch.setattr("scenarios.batch.watching.is_taken", lambda journal: True)
    assert main(["watch", str(batch.folder), "--once"]) == 0
    assert "2 of 6 runs done. Under way, as of when they were kept: 25.0%. It goes on" in said()


def test_runs_of_another_version_do_not_count(batch: Batch, said: Said) -> None:
    rows = [row | {"run": f"{number:016d}"} for number, row in enumerate(batch.rows())]
    (batch.folder / "journal.jsonl").write_text("".join(map(line_of, rows)))
    assert main(["watch", str(batch.folder)]) == 1
    assert "0 of 6 runs done." in (text := said())
    assert text.endswith("Its journal has 6 runs of another version of the scenario, an agent or Binwright.")


def test_a_run_that_goes_on_is_watched_to_its_end(batch: Batch, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    left = leave(batch, 2)
    journal = (batch.folder / "journal.jsonl").open("ab")
    lock(journal, batch.folder)
    assert main(["watch", str(batch.folder), "--once"]) == 0
    assert "2 of 6 runs done. It goes on; what is left is" in said()

    def go_on(seconds: float) -> None:
        journal.write(line_of(left.pop(0)).encode())
        journal.flush()
        if not left:
            journal.close()

    shown: list[int] = []
    monkeypatch.setattr(command, "sleep", go_on)
    monkeypatch.setattr(Live, "__call__", lambda self, row: shown.append(row["seed"]))
    assert main(["watch", str(batch.folder)]) == 0
    assert len(shown) == 6
    assert said() == "small: 6 of 6 runs done. It is over."


def test_what_is_left_is_estimated_by_agent(batch: Batch) -> None:
    rows = batch.rows()
    took = {"first-fit": 2.0, "worst-fit": 5.0}
    kept = [row | {"seconds": took[row["agent"]]} for row in rows[:3]]
    (batch.folder / "journal.jsonl").write_text("".join(map(line_of, kept)))
    assert WatchedFolder(batch.folder).look().seconds == sum(took[row["agent"]] for row in rows[3:])


def test_another_scenario_in_the_folder_is_read_anew(batch: Batch) -> None:
    watched = WatchedFolder(batch.folder)
    Batch(scenario(replications=4), batch.folder).run()
    assert (watched.look().total, watched.look().done) == (8, 8)


def test_a_folder_without_runs_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(tmp_path)]) == 2
    assert "nothing was run here" in capsys.readouterr().err


def test_who_looks_whether_a_folder_is_taken_keeps_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "journal.jsonl"
    file.touch()
    looking, mine, other = file.open("rb"), file.open("ab"), file.open("ab")
    assert locks._locked(looking)
    assert is_taken(file)
    monkeypatch.setattr(locks, "sleep", lambda seconds: looking.close())
    lock(mine, tmp_path)
    assert is_taken(file)
    with other, pytest.raises(ResultsError, match="another run is writing here"):
        lock(other, tmp_path)
    mine.close()
    assert not is_taken(file)
