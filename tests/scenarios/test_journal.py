"""What is damaged in a folder of results counts for nothing, and its runs are done again."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.analysis.results_api import Results
from binwright.cli import main
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.batch.journal import line_of, rows_of
from tests.support.batches import same, scenario, tree
from tests.support.properties import scaled

ROWS = [{"run": f"{n:016x}", "status": "done", "agent": "é", "seed": n, "cpu": n / 7} for n in range(5)]
WRITTEN = "".join(map(line_of, ROWS)).encode()


@given(st.lists(st.tuples(st.integers(0, len(WRITTEN) - 1), st.integers(0, 255)), min_size=1, max_size=200))
def test_no_damaged_row_is_believed(tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]) -> None:
    file = tmp_path_factory.getbasetemp() / "journal.jsonl"
    content = bytearray(WRITTEN)
    for place, byte in changes:
        content[place] = byte
    file.write_bytes(content)
    rows, damaged = rows_of(file)
    assert all(row in ROWS for row in rows)
    assert (damaged > 0) == (bytes(content) != WRITTEN)


@given(st.integers(0, len(WRITTEN)))
@scaled(0.5)
def test_a_journal_that_ends_anywhere_has_its_whole_lines(tmp_path_factory: pytest.TempPathFactory, end: int) -> None:
    file = tmp_path_factory.getbasetemp() / "journal.jsonl"
    file.write_bytes(WRITTEN[:end])
    parts = WRITTEN[:end].split(b"\n")
    whole = sum(part == line for part, line in zip(parts, WRITTEN.split(b"\n"), strict=False) if part)
    assert rows_of(file) == (ROWS[:whole], len([part for part in parts if part]) - whole)


ODD = {
    "a list": "[]",
    "a name that is none": line_of({"run": ["x"], "status": "done"}).strip(),
    "no name": line_of({"status": "done"}).strip(),
    "brackets": "[" * 200_000,
    "a number of many digits": f'{{"run": {"7" * 5000}}}',
    "no metrics and no digest": '{"status": "done", "run": "x"}',
    "not text": "\x00\ufffd",
}


@pytest.mark.parametrize("line", ODD.values(), ids=ODD)
def test_an_odd_line_counts_for_nothing(tmp_path: Path, line: str) -> None:
    batch = Batch(scenario(replications=1), tmp_path)
    whole = batch.run()
    journal = tmp_path / "journal.jsonl"
    journal.write_text(f"{line}\n{journal.read_text()}")
    again = Batch(scenario(replications=1), tmp_path)
    assert again.damaged() == 1
    assert len(again.done()) == 2
    assert same(again.run(), whole)


@pytest.mark.parametrize("damage", ["emptied", "cut short", "one bit", "gone"])
def test_a_run_whose_details_are_damaged_is_done_again(tmp_path: Path, damage: str) -> None:
    asked = scenario(record=["requests", "samples"])
    Batch(asked, tmp_path).run()
    before = tree(tmp_path / "details")
    file = sorted((tmp_path / "details").iterdir())[0]
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    match damage:
        case "emptied":
            file.write_bytes(b"")
        case "cut short":
            file.write_bytes(content[:-1])
        case "one bit":
            file.write_bytes(content)
        case _:
            file.unlink()
    batch = Batch(asked, tmp_path)
    assert len(batch.done()) == 5
    batch.run()
    assert tree(tmp_path / "details") == before


def test_one_edited_number_is_found_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", "quickstart", "--agents", "first-fit", "--seeds", "2", "--set", "workload.requests=50"]
    command += ["--out", str(tmp_path / "out")]
    assert main(command) == 0
    journal = tmp_path / "out" / "journal.jsonl"
    text = journal.read_text()
    acceptance = json.loads(text.splitlines()[0])["acceptance"]
    journal.write_text(text.replace(f'"acceptance": {acceptance}', '"acceptance": 0.5', 1))
    capsys.readouterr()
    assert main(command) == 0
    said = capsys.readouterr()
    assert f"1 line of {journal} is damaged: its run is repeated." in said.err
    assert Batch(scenario(), tmp_path / "out").damaged() == 1
    assert Results(tmp_path / "out").runs["acceptance"][0] == acceptance
