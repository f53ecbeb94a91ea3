"""Damaged inputs of every kind: each is taken, or answered in one message. `benchmarks.reliability` tries many more."""

import gzip
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.cli import MISTAKE, main
from binwright.simcore.errors import WorkloadError
from binwright.workloads.traces.library import read
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


def test_a_small_file_is_no_large_one(tmp_path: Path) -> None:
    file = tmp_path / "t.csv.gz"
    file.write_bytes(gzip.compress(b"id,arrival,lifetime,cpu\n" + b"0" * 50_000_000, 9, mtime=0))
    with pytest.raises(WorkloadError, match="more than 300 times as large"):
        read("table", file)


CHAIN = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 3000))
HOSTILE = {
    "brackets": ("a: " + "[" * 100_000, "is nested too deeply"),
    "aliases of aliases": (CHAIN, "is nested too deeply"),
    "digits": ("cluster: {servers: " + "9" * 5000 + "}", "cluster.servers: 9999"),
    "a month of no year": ("name: 2020-13-01", "2020-13-01 cannot be read: month must be in 1..12"),
    "NUL in a name": ('extends: "a\\0b"', "is not a path: embedded null byte"),
    "a long name": ("extends: " + "x" * 5000, "is not a path: File name too long"),
    "a set": ("name: !!set x", "the tag tag:yaml.org,2002:set is not taken"),
    "machines": ("extends: wrasse/oktopus\nworkload: {networks: {hose: {machines: {exponential: {mean: 8e12}}}}}",
     "expected 1000000"),
    "null alone": ("extends: placement/racks\ncluster: {network: {marked: [{servers: {pod: null}}]}}",
     "marked.0.servers: is empty\n  Give at least 1"),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_scenarios_get_one_message(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, problem = HOSTILE[what]
    file = tmp_path / "s.yaml"
    file.write_text(text)
    assert main(["validate", str(file)]) == MISTAKE
    output = capsys.readouterr().out
    assert problem in output
    assert len(output) < 2000
