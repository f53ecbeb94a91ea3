"""Kernels on disk: what is kept, who finds it, and when it is stale."""

import os
import pickle
import stat
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest
from numba import njit
from numba.extending import intrinsic

from binwright.simcore.jit import Kernel, callback, generated, kernel, kernel_cache

CONSTANT = "ADDED = {added}\n"
INNER = """from constant import ADDED
from binwright.simcore.jit import kernel
@kernel
def inner(x):
    return x + ADDED
"""
OUTER = "from inner import inner\nfrom simcore.jit import kernel\n@kernel\ndef outer(x):\n    return 10 * inner(x)\n"
ASK = "from outer import outer; print(outer(1), sum(outer.stats.cache_hits.values()))"


def write(folder: Path, added: int = 1, inner: str = INNER) -> Path:
    """Write three modules of which each needs the one before."""
    folder.mkdir(exist_ok=True)
    (folder / "constant.py").write_text(CONSTANT.format(added=added), "utf-8")
    (folder / "inner.py").write_text(inner, "utf-8")
    (folder / "outer.py").write_text(OUTER, "utf-8")
    return folder


def start(folder: Path, cache: Path) -> subprocess.Popen[str]:
    """Start a process that calls the outer kernel of a folder."""
    paths = {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path]), "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-B", "-c", ASK]  # a file changed twice in a second looks the same to kept bytecode
    return subprocess.Popen(command, cwd=folder, env=os.environ | paths, stdout=subprocess.PIPE, text=True)


def ask(folder: Path, cache: Path) -> list[int]:
    """Ask for the answer of the outer kernel, and how often it came from disk."""
    process = start(folder, cache)
    output, _ = process.communicate()
    assert process.returncode == 0
    return [int(word) for word in output.split()]


@pytest.mark.long
def test_kept_kernels_are_found_until_something_in_them_changes(tmp_path: Path) -> None:
    cache, folder = tmp_path / "cache", tmp_path / "one"
    assert ask(write(folder), cache) == [20, 0]
    assert ask(folder, cache) == [20, 1]
    assert ask(write(tmp_path / "another"), cache) == [20, 1], "a copy of the code elsewhere finds the same kernels"
    assert ask(write(folder, inner=INNER.replace("x + ADDED", "x - ADDED")), cache) == [0, 0]
    assert ask(write(folder, added=2), cache) == [30, 0], "a constant of another module was compiled into it"
    assert ask(write(folder, inner=INNER.replace("@kernel", "# A comment.\n@kernel")), cache) == [20, 1]
    for file in cache.glob("outer*.kernel"):
        file.write_bytes(file.read_bytes()[:100])
    assert ask(folder, cache) == [20, 0], "damaged files are compiled anew"
    assert ask(folder, cache) == [20, 1]
    (tmp_path / "file").touch()
    assert ask(folder, tmp_path / "file" / "below") == [20, 0], "a folder that cannot be written does no harm"


@pytest.mark.long
def test_processes_that_start_together_compile_once(tmp_path: Path) -> None:
    write(tmp_path / "code")
    processes = [start(tmp_path / "code", tmp_path) for _ in range(3)]
    answers = sorted(process.communicate()[0].split() for process in processes)
    assert answers == [["20", "0"], ["20", "1"], ["20", "1"]]
    assert not list(tmp_path.glob("*.lock"))


def refused(monkeypatch: pytest.MonkeyPatch, cache: Path) -> bool:
    """Tell whether kernels are not to be kept in a folder."""
    with monkeypatch.context() as patch:
        patch.setattr("numba.core.config.CACHE_DIR", str(cache))
        kernel_cache.folder.cache_clear()
        try:
            return kernel_cache.folder() is None
        finally:
            kernel_cache.folder.cache_clear()


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o702, 0o1777])
def test_a_folder_that_others_may_write_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, mode: int
) -> None:
    cache = tmp_path / "new"
    assert not refused(monkeypatch, cache)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    cache.chmod(mode)
    assert refused(monkeypatch, cache)
    assert f"{cache} is another user's, or others may write to it" in caplog.text
    cache.chmod(0o755)
    assert not refused(monkeypatch, cache)


def test_another_users_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = os.geteuid()
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: mine + 1)
        assert refused(monkeypatch, tmp_path) == (mine > 0)  # root may do anything anyway
    if mine == 0:
        os.chown(tmp_path, 12345, -1)
        assert refused(monkeypatch, tmp_path)


class Planted:
    """Somebody's code, which unpickling runs."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.mark),)


def test_a_kernel_that_others_may_write_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "folder", lambda: tmp_path)

    def made() -> Any:
        @kernel
        def doubled(number: int) -> int:
            return 2 * number

        return doubled

    assert made()(2) == 4
    (file,) = tmp_path.glob("*.kernel")
    for mode, read in ((0o600, True), (0o622, False)):
        file.write_bytes(pickle.dumps(Planted(tmp_path / f"{mode}")))
        file.chmod(mode)
        assert made()(3) == 6
        assert (tmp_path / f"{mode}").exists() == read
    assert stat.S_IMODE(file.stat().st_mode) == 0o600  # it was written anew


def test_a_kernel_may_be_an_argument() -> None:
    @kernel
    def applied(rule: object, number: int) -> object:
        return rule(number) * 10  # type: ignore[operator]

    def made(constant: int) -> object:
        names: dict[str, object] = {"__name__": __name__}
        exec(f"def utilfn(x):\n    return x + {constant}\n", names)
        return callback(generated(names["utilfn"]), "int64", "int64")  # type: ignore[type-var]

    @kernel
    def tripled(number: int) -> int:
        return 3 * number

    assert [applied(made(constant), 1) for constant in range(20)] == [10 + 10 * constant for constant in range(20)]
    assert applied(callback(tripled, "int64", "int64"), 2) == 60
    assert isinstance(applied, Kernel)
    assert len(applied.overloads) == 1


def test_a_slice_of_another_shape_is_refused() -> None:
    @kernel
    def assign(target: Any, source: Any) -> None:
        target[:] = source

    with pytest.raises(ValueError, match="slice from input of different size"):
        assign(np.zeros(2), np.zeros(3))


def test_kernels_are_kept_up_to_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "MOST", 10)
    monkeypatch.setattr(kernel_cache, "folder", lambda: tmp_path)
    for constant in range(13):
        callback(generated(plain(f"def f(x):\n    return x * {constant + 2}\n")), "int64", "int64")
    assert 9 <= len(list(tmp_path.iterdir())) <= 10


def module(**contents: object) -> ModuleType:
    """Make a module with these contents."""
    made = ModuleType("rules")
    vars(made).update(contents)
    return made


def plain(text: str, **names: object) -> Callable[..., object]:
    """Make a function of our own from its text."""
    actual: dict[str, Any] = {"__name__": "mine", **names}
    exec(text, actual)
    return cast(Callable[..., object], actual["f"])


USE = "def f(x):\n    return rules.A"
CALL = "def f(x):\n    return help(x)"
TRY = "def f(x):\n    try:\n        print(x)\n{}        print(2)\n    except ValueError:\n        pass"
DIFFERENT: dict[str, tuple[Callable[..., object], ...]] = {
    "a number of a module": tuple(plain(USE, rules=module(A=np.int64(n))) for n in (1, 2)),
    "text of a module": tuple(plain(USE, rules=module(A=n)) for n in "ab"),
    "an array of a module": tuple(plain(USE, rules=module(A=np.arange(n))) for n in (1, 2)),
    "a kernel of a module": tuple(plain(USE, rules=module(A=kernel(plain(f"def f(x): return {n}")))) for n in (1, 2)),
    "a module in a module": tuple(plain(USE + ".B", rules=module(A=module(B=n))) for n in (1, 2)),
    "a member of an enumeration": tuple(plain("def f(x):\n    return E.A", E=IntEnum("E", {"A": n})) for n in (1, 2)),
    "a function that is not a kernel": tuple(plain(CALL, help=plain(f"def f(x): return {n}")) for n in (1, 2)),
    "a function that numba compiles": tuple(plain(CALL, help=njit(plain(f"def f(x): return {n}"))) for n in (1, 2)),
    "what an intrinsic writes": tuple(
        plain(CALL, help=intrinsic(plain(f"def f(typing, x): return x, {n}"))) for n in (1, 2)
    ),
    "a fields name": tuple(plain("def f(x):\n    return T(1)", T=namedtuple("T", [n])) for n in "ab"),
    "what an exception ends": (
        plain(TRY.format("")),
        plain(TRY.format("    except ValueError:\n        pass\n    try:\n")),
    ),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_stamps_differ_by(what: str) -> None:
    each, other = (kernel_cache.stamp_of(function, {}) for function in DIFFERENT[what])
    assert each != other
    assert each == kernel_cache.stamp_of(DIFFERENT[what][0], {})
