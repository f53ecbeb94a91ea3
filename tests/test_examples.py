"""`make test` draws the same examples every time, in whichever process a test happens to run."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from tests.support.properties import FIXED


def drawn() -> list[int]:
    """What a property gets."""
    found: list[int] = []

    @seed(0)
    @settings(settings.get_profile(FIXED), max_examples=200)
    @given(st.integers())
    def property_of(number: int) -> None:
        found.append(number)

    property_of()
    return found


def test_imports_of_other_tests_change_no_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = drawn()
    file = tmp_path / "numbers_of_mine.py"
    file.write_text(f"NUMBERS = {[10**9 + 7919 * n for n in range(20)]}\n")
    spec = spec_from_file_location("numbers_of_mine", file)
    assert spec is not None
    monkeypatch.setitem(sys.modules, "numbers_of_mine", module_from_spec(spec))
    assert drawn() == before
