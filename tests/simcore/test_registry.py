"""Names, import strings, files and entry points."""

import collections
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from binwright import simcore
from binwright.agents import AGENTS
from binwright.simcore.errors import UnknownName
from binwright.simcore.registry import Registry
from binwright.simcore.types import Agent
from binwright.workloads import ARRIVALS, LIFETIMES

BUILTIN = {"ordered": "collections:OrderedDict", "gone": "collections:NoSuchThing"}


@pytest.fixture
def things(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """A registry of two of its own and two entry points, one of which has a name that is taken."""

    def entry_points(group: str) -> list[EntryPoint]:
        assert group == "binwright.things"
        return [
            EntryPoint("counter", "collections:Counter", group),
            EntryPoint("ordered", "collections:UserDict", group),
        ]

    monkeypatch.setattr(simcore.registry, "entry_points", entry_points)
    return Registry("thing", "binwright.things", BUILTIN)


def test_names_of_our_own_and_of_third_parties(things: Registry) -> None:
    assert things.load("counter") is collections.Counter
    assert things.load("ordered") is collections.OrderedDict  # ours cannot be replaced unseen
    assert set(things) == {"ordered", "gone", "counter"}
    assert "counter" in things
    assert "conter" not in things


def test_a_file_beside_the_scenario(things: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, answer in (("one", 1), ("two", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(f"class Mine:\n    answer = {answer}\n", encoding="utf-8")
    first = things.load("mine.py:Mine", tmp_path / "one")
    assert first.answer == 1
    assert things.load("mine.py:Mine", tmp_path / "two").answer == 2  # the same name in another folder
    assert things.load("mine.py:Mine", tmp_path / "one") is first
    assert things.load("one/mine.py:Mine", tmp_path) is first
    assert things.load(f"{tmp_path}/one/mine.py:Mine") is first
    monkeypatch.chdir(tmp_path / "two")
    assert things.load("mine.py:Mine").answer == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.py:Mine", "there is no file .*missing.py"),
        ("mine.py:Yours", "Yours"),
        ("needy.py:Mine", r"No module named 'no_such_module'.*\n  Install no_such_module, or name the folder"),
        ("collections:NoSuchThing", r"NoSuchThing.*\n  Write package.module:Class, or file.py:Class"),
        (":Thing", "cannot import this thing"),
    ],
)
def test_names_that_cannot_be_imported_are_refused(things: Registry, tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "mine.py").write_text("class Mine:\n    pass\n", encoding="utf-8")
    (tmp_path / "needy.py").write_text("import no_such_module\n", encoding="utf-8")
    with pytest.raises(UnknownName, match=message) as caught:
        things.load(name, tmp_path)
    assert caught.value.value == name


@pytest.mark.parametrize("registry", [AGENTS, ARRIVALS, LIFETIMES], ids=lambda registry: registry.kind)
def test_everything_that_is_registered_is_there(registry: Registry) -> None:
    for name in registry:
        assert isinstance(registry.load(name), type)
        if registry is AGENTS:
            assert issubclass(registry.load(name), Agent)
            assert registry.load(name).reference
