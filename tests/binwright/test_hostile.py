"""Damaged inputs of every kind: each is taken, or answered in one message. `benchmarks.reliability` tries many more."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.hostile import KINDS
from tests.support.properties import scaled


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


@pytest.mark.parametrize("kind", ["scenario", "trace"])
@scaled(1.0)
@given(seed=st.integers(0, 2**64))
def test_damaged_inputs_are_read_or_refused_in_one_message(kind: str, seed: int, folder: Path) -> None:
    KINDS[kind](folder, Random(seed))


@scaled(0.2)
@given(seed=st.integers(0, 2**64))
def test_damaged_results_are_made_again(seed: int, folder: Path) -> None:
    KINDS["results"](folder, Random(seed))
