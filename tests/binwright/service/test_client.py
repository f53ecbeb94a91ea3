"""The service's client, and how a service is started."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binwright.cli import main
from binwright.client import Client
from binwright.service.access import read_tokens
from binwright.service.server import serve
from binwright.simcore.errors import UserError
from tests.support.service import ENDLESS, SMALL, Server, serving

TOKEN = "a-token-of-the-client"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service that wants a token."""
    folder = tmp_path_factory.mktemp("client")
    (folder / "tokens").write_text(f"{TOKEN}\n")
    options = ("--token-file", str(folder / "tokens"), "--limit", "queue=3")
    with serving(folder / "data", *options) as started:
        yield started


@pytest.mark.long
def test_client_solves_and_reports_progress(guarded: Server) -> None:
    client = Client(guarded.url, TOKEN)
    text = "PARAM m = 1 BALLS len(D) BINS 2 RESOURCES C[b in BINS] => m\n"
    text += "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += D[BALL] end"
    how: dict[str, Any] = {"tables": {"D": np.array([5.5, 5, 4.5])}, "params": {"m": 10}}
    assert client.solve(text, **how)["status"] == "optimal"
    seen: list[list[int]] = [[]]
    while not seen[-1] and len(seen) < 9:  # compiling, the first time, may leave no moment with something to tell
        seen.append([])
        how = {"time": 0.5, "seed": len(seen)}
        result = client.solve(ENDLESS, progress=lambda now: seen[-1].append(now["checked"]), **how)
        assert result["status"] == "partial"
        assert seen[-1] == sorted(seen[-1])
    assert seen[-1]
    with pytest.raises(UserError, match="there is no BALLS"):
        client.solve("BINS 1 RESOURCES C => 1 procedure UTILFN(BALL, BIN, ALLOC) end")


@pytest.mark.long
def test_client_waits_while_the_queue_is_full(guarded: Server) -> None:
    client = Client(guarded.url, TOKEN)
    jobs = [client.submit(ENDLESS, seed=seed, time=3)["id"] for seed in range(3)]
    hasty = Client(guarded.url, TOKEN, patience=1)
    with pytest.raises(UserError, match="the queue is full"):
        hasty.submit(SMALL)
    assert client.wait(client.submit(SMALL)["id"])["state"] == "done"
    assert [client.wait(job)["state"] for job in jobs] == ["done"] * 3


@pytest.mark.long
def test_mistakes_of_the_clients_user_are_user_errors(guarded: Server) -> None:
    with pytest.raises(UserError, match="no request without a token"):
        Client(guarded.url).submit(SMALL)
    with pytest.raises(UserError, match="no such job"):
        Client(guarded.url, TOKEN).look("x")
    with pytest.raises(UserError, match=r"no answer: .*refused"):
        Client("http://127.0.0.1:9", patience=0.2).submit(SMALL)
    with pytest.raises(UserError, match="is not an address"):
        Client("127.0.0.1:8000")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--host", "0.0.0.0"], "other machines may not use this without a token"),
        (["--token-file", "none"], "none: No such file"),
        (["--token-file", "SHORT"], "one that is too short"),
        (["--limit", "memroy=1"], "there are time, grace, memory"),
        (["--limit", "memory=much"], "Write NAME=NUMBER, above zero"),
        (["--workers", "0"], "--workers: is too few"),
        (["--data", "SHORT"], "cannot keep jobs here"),
    ],
)
def test_mistakes_in_starting_the_server_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    (tmp_path / "SHORT").write_text("short")
    (tmp_path / "TOKENS").write_text("long-enough-for-a-token")
    values = [str(tmp_path / word) if word.isupper() else word for word in options]
    assert main(["serve", "--port", "0", "--data", str(tmp_path / "data"), *values]) == 2
    assert says in capsys.readouterr().err


def test_without_its_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    with pytest.raises(UserError, match=r"(?s)needs uvicorn.*\[serve,solver\]") as raised:
        serve()
    assert "pip install" in raised.value.remedy


def test_a_token_has_a_line_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    first, second = (f"token-{number}-0123456789" for number in range(2))
    file.write_text(f"{first}\n\n  {second} \n")
    assert len(read_tokens(file)) == 2
    file.write_text(f"{first}\n{second} metrics")
    with pytest.raises(UserError, match="one that is too short") as raised:
        read_tokens(file)
    assert second not in str(raised.value)
