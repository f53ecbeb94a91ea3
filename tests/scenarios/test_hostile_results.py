"""Folders of results that something has damaged: what is not whole is done again, and the rest is believed."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.compare import Comparison
from analysis.results import Results
from scenarios.batch import Batch
from simcore.errors import UserError
from tests.support.batches import numbers, scenario, tree
from tests.support.mangling import mangled
from tests.support.properties import scaled

ODD = (
    *(b"{", b"}", b"[", b"\n", b'"', b", ", b": ", b"null", b"NaN", b"1e999", b"\0", b"\xff", b"done", b"failed"),
    *(b"9" * 5000, b"[" * 3000, b'{"status": "done", "run": ["x"]}\n', b"PAR1", b"\x00\x00\x00\x80"),
)
SMALL = {**scenario().dump()["workload"], "requests": 20}
ASKED = scenario(replications=2, record=["requests", "samples"], workload=SMALL)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A batch that nobody disturbed."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    Batch(ASKED, folder).run()
    return folder


@scaled(0.4)
@given(seed=st.integers(0, 2**64))
def test_what_is_damaged_is_done_again(whole: Path, seed: int) -> None:
    drawn, folder = random.Random(seed), whole.with_name("damaged")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    for file in drawn.sample(sorted(path for path in folder.rglob("*") if path.is_file()), drawn.randint(1, 3)):
        file.write_bytes(mangled(file.read_bytes(), ODD, drawn))
    try:
        Comparison(Results(folder))
    except UserError as error:
        assert len(str(error)) < 20_000  # noqa: PT017 (it need not be raised)
    found = Batch(ASKED, folder).run()
    assert numbers(found).equals(numbers(Results(whole)))
    details, expected = tree(folder / "details"), tree(whole / "details")
    assert details == expected
