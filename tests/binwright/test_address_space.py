"""Commands with few addresses (`ulimit -v`): they work or say in one message why not, and hear SIGTERM."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from binwright.cli import LIGHT, MISTAKE, MUCH
from binwright.simcore.cores import LIBRARIES, ROOMY, check_address_space
from binwright.simcore.errors import UserError
from tests.support.batches import TEXT

KB = 1024
LONG = TEXT.replace("requests: 30", "requests: 1000000")


def start(folder: Path, kilobytes: int, *arguments: str) -> subprocess.Popen[str]:
    """Start a command with so many kilobytes of addresses."""
    (folder / "s.yaml").write_text(TEXT)
    (folder / "long.yaml").write_text(LONG)
    limit = f"import resource, sys; resource.setrlimit(resource.RLIMIT_AS, ({kilobytes * KB},) * 2); "
    command = [sys.executable, "-c", f"{limit}from binwright.cli import main; sys.exit(main())", *arguments]
    env = {name: value for name, value in os.environ.items() if name not in LIBRARIES}
    return subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


COMMANDS = (["validate", "s.yaml"], ["run", "s.yaml", "--out", "out"], ["solve", "vm-placement", "--time", "1"])


def assert_clear(folder: Path, kilobytes: int, arguments: list[str]) -> bool:
    """Have a command answered, or refused in one message; tells which."""
    with start(folder, kilobytes, *arguments) as process:
        _, said = process.communicate(timeout=120)
    if process.returncode:
        assert process.returncode == MISTAKE, said
        assert said.startswith("binwright: only "), said
        assert "MB of addresses may be used" in said
        assert len(said.splitlines()) == 2
        assert not (folder / "out").exists()
    return process.returncode == 0


@pytest.mark.long
@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_too_few_addresses_are_one_message(tmp_path: Path, arguments: list[str]) -> None:
    assert not assert_clear(tmp_path, 300_000, arguments)
    enough = (MUCH // KB if arguments[0] != "solve" else 450 * KB) + 20_000
    assert assert_clear(tmp_path, enough, arguments)


def test_where_there_are_few_each_library_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in LIBRARIES:
        monkeypatch.setenv(name, "7")
        monkeypatch.delenv(name)
    limits = {"now": resource.RLIM_INFINITY}
    monkeypatch.setattr(resource, "getrlimit", lambda what: (limits["now"], limits["now"]))
    for limits["now"] in (resource.RLIM_INFINITY, 10**4 * ROOMY):
        check_address_space(MUCH)
        assert not set(LIBRARIES) & set(os.environ)
    monkeypatch.setattr("binwright.simcore.cores.ctypes.CDLL", lambda name: None)
    limits["now"] = MUCH
    check_address_space(MUCH)
    assert {os.environ[name] for name in LIBRARIES} == {"1"}
    with pytest.raises(UserError, match=r"only 800 MB of addresses may be used, and about 801 MB are needed"):
        check_address_space(MUCH + 2**20)


def test_light_commands_name_existing_modules() -> None:
    folder = Path(__file__).parents[2] / "binwright" / "commands"
    assert {*LIGHT} <= {file.stem for file in folder.glob("*.py")}
