"""A run seen from elsewhere: how far it is, whether somebody goes on with it, and what came of it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Thread
from time import sleep
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from binwright.analysis.report.page import Drawn
from binwright.cli import main
from binwright.commands import live_page
from binwright.commands import live_page as command
from binwright.commands.progress import Live
from binwright.scenarios.batch import journal as locks
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.batch.journal import is_taken, line_of, lock
from binwright.scenarios.batch.watching import WatchedFolder
from binwright.simcore.errors import ResultsError
from tests.support.batches import scenario
from tests.support.browser import CHROMIUM, DRIVER, browser

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
    monkeypatch.setattr("binwright.scenarios.batch.watching.is_taken", lambda journal: True)
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


# -- the page ------------------------------------------------------------------------------------------------------

direct = build_opener(ProxyHandler({}))


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder's page."""
    server = live_page._Server(0, live_page.LivePage(folder))
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks follow one another at once; figures have tests of their own."""
    monkeypatch.setattr(live_page, "EVERY", 0.02)
    monkeypatch.setattr(live_page, "SHARE", 0)
    monkeypatch.setattr("binwright.analysis.report.page.figures", lambda results: Drawn({}, {}, {}))


def get(url: str, **headers: str) -> str:
    with direct.open(Request(url, headers=headers), timeout=30) as answer:
        return str(answer.read().decode())


def test_the_page_has_what_is_known_so_far(batch: Batch) -> None:
    leave(batch, 5, status="failed", error="this <broke>")
    now = live_page.LivePage(batch.folder).look()
    assert (now.name, now.state) == ("small", live_page.GOING)
    assert list(now.sections) == ["progress", "table", "failed"]
    assert 'max="6" value="5"' in now.sections["progress"][1]
    assert "4 of 6 runs done, 1 failed. It stands still" in now.sections["progress"][1]
    table = now.sections["table"][1]
    assert "Not final: 4 of 6 runs." in table
    assert "<button" not in table
    assert "this &lt;broke&gt;" in now.sections["failed"][1]


def test_the_table_so_far_is_the_one_of_these_runs_alone(batch: Batch) -> None:
    leave(batch, 5, status="under way", requests=30, of=60, seconds=2.0)
    sections = live_page.LivePage(batch.folder).look().sections
    assert ">50.0%</td>" in sections["progress"][1]
    assert ">15</td>" in sections["progress"][1]  # requests per second
    two = Batch(scenario(replications=2), batch.folder.with_name("two")).run()
    accepted = [row.entries[0].write(two.table().metrics[0]) for row in two.table().rows if row.entries[0]]
    assert all(f">{text}</td>" in sections["table"][1] for text in accepted)


@pytest.mark.usefixtures("quick")
def test_the_page_waits_for_a_batch_and_ends_as_its_report(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    with served(folder) as url:
        assert "Nothing was run here yet" in get(url)
        with direct.open(f"{url}/events?waiting", timeout=30) as stream:
            assert b"Nothing was run here yet" in stream.readline()
            Batch(scenario(), folder).run()
            assert b"event: reload" in stream.read()
        wait_for(lambda: 'data-state="over"' in get(url), True)
        report = get(url)
        assert 'id="answer"' in report
        assert get(url) == report
        leave(Batch(scenario(), folder), 2)
        assert "event: reload" in get(f"{url}/events?over")  # it goes on, or stands still
        assert "Not final: 2 of 6 runs." in get(url)


@pytest.mark.usefixtures("quick")
def test_the_page_is_for_this_machine_alone(batch: Batch) -> None:
    with served(batch.folder) as url:
        with pytest.raises(HTTPError, match="403"):
            get(url, Host="elsewhere.example:80")
        assert "<title>" in get(url, Host="localhost")  # of port 80 browsers say no more
        with pytest.raises(HTTPError, match="404"):
            get(f"{url}/etc")
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as wrong:
            wrong.sendall(b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b" 404 " in wrong.recv(100)


def test_a_page_ends_at_ctrl_c(batch: Batch, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(live_page._Server, "serve_forever", interrupted)
    assert main(["watch", str(batch.folder), "--serve", "--port", "0"]) == 0
    assert said().startswith("Open http://127.0.0.1:")


def test_a_page_that_cannot_be_served_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["watch", str(tmp_path / "none"), "--serve", "--port", str(port)]) == 2
    assert f"--port: is taken by another program (got {port})" in capsys.readouterr().err
    assert main(["watch", str(tmp_path / "none"), "--serve", "--port", "70000"]) == 2
    assert "--port 0 for any that is free" in capsys.readouterr().err
    (tmp_path / "thesis.txt").touch()
    assert main(["watch", str(tmp_path), "--serve"]) == 2
    assert "nothing was run here" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver")
@pytest.mark.usefixtures("quick")
def test_a_browser_sees_the_table_fill_and_then_the_report(batch: Batch) -> None:
    left = leave(batch, 2)
    with (batch.folder / "journal.jsonl").open("ab") as journal, served(batch.folder) as url, browser() as window:
        lock(journal, batch.folder)
        for width, dark in ((1400, False), (1400, True), (390, False), (390, True)):
            window.open(url, width, dark=dark)
            assert window.inaccessible() == []
            assert window.run("return document.documentElement.scrollWidth") <= width
        window.run("document.querySelector('#table .scroll').focus()")
        shown = "return document.querySelector('#table p').textContent.slice(0, 17)"
        for number, row in enumerate(left[:-1], 3):
            journal.write(line_of(row).encode())
            journal.flush()
            wait_for(partial(window.run, shown), f"Not final: {number} of 6")
        assert window.run("return document.activeElement.className") == "scroll"
        journal.write(line_of(left[-1]).encode())
        journal.close()
        wait_for(lambda: window.run("return document.querySelector('main').dataset.state"), "over")
        assert window.run("return document.querySelectorAll('#answer').length") == 1
        assert window.inaccessible() == []
        assert window.errors() == []


def wait_for(what: Callable[[], object], value: object) -> None:
    for _ in range(400):
        if what() == value:
            return
        sleep(0.05)
    raise AssertionError("never")
