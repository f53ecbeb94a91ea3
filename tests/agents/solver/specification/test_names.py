"""Names in columns: they become numbers, the same wherever they stand AS the same, and answers have them again."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from binwright.agents.solver import load_problem
from binwright.agents.solver.language.errors import At, SpecError
from binwright.agents.solver.language.tables import from_file
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import NULL
from binwright.agents.solver.model.verify import faults
from binwright.cli import main
from tests.support.solving import NAMED, problem

NODES = "name,zone,cpu\nn-a,east,16\nn-b,east,16\nn-c,west,16\nn-d,west,16\n"
PODS = """name,app,cpu,node,old
web-1,web,4,n-a,n-a
web-2,web,4,n-a,n-a
db-1,db,8,n-b,n-x
db-2,db,8,n-c,n-c
job-1,job,2,,n-d
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "pods.csv").write_text(PODS)
    (tmp_path / "pods.alloc").write_text(NAMED)
    return tmp_path / "pods.alloc"


@given(cells=st.lists(st.none() | st.text("ab c", min_size=1), min_size=1), known=st.lists(st.text("ab"), unique=True))
def test_cells_become_numbers_by_their_first_appearance(
    cells: list[str | None], known: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    import polars as pl

    folder = tmp_path_factory.mktemp("names")
    pl.DataFrame({"name": cells}, {"name": pl.String}).write_parquet(folder / "t.parquet")
    names = {name: number for number, name in enumerate(known)}
    order = list(dict.fromkeys([*known, *(cell for cell in cells if cell is not None)]))
    table = from_file("T", "t.parquet", ("name",), folder, names, At(1, 1))
    assert table.values.tolist() == [-1 if cell is None else order.index(cell) for cell in cells]
    assert list(names) == order


def test_same_names_in_several_tables_have_the_same_numbers(file: Path) -> None:
    result = load_problem(file)
    assert result.ball_names == ("web-1", "web-2", "db-1", "db-2", "job-1")
    assert result.bin_names == ("n-a", "n-b", "n-c", "n-d")
    assert _with(file, f"{NAMED} NOW HOME").now.tolist() == [0, 0, 1, 2, NULL]
    assert [family.sizes for family in result.families] == [(4,), (3, 2)]
    answer = bw.solve(result, now=np.array([0, 0, 1, 2]).tolist(), time=10)
    assert answer.status == "optimal"
    assert [ball for ball, _, _ in answer.moves] == [1]


def test_numbers_may_come_in_the_place_of_names() -> None:
    text = 'TABLE NODE FROM "nodes.csv" COLUMN "name" AS node BALLS 1 BINS len(NODE) AS node RESOURCES C => 1'
    numbered = problem(f"{text} procedure UTILFN(BALL, BIN, ALLOC) end", tables={"NODE": [0, 1, 2]})
    assert (numbered.bins, numbered.bin_names) == (3, ())


def test_answers_have_the_names_and_are_read_again(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = file.parent / "answer.json"
    assert main(["solve", str(file), "--json"]) == 0
    answer.write_text(capsys.readouterr().out)
    inputs = json.loads(answer.read_text())
    before = {ball: inputs["bin_names"][at] for ball, at in zip(inputs["ball_names"], inputs["alloc"], strict=True)}
    (file.parent / "pods.csv").write_text(PODS.replace("web-1,web,4,n-a,n-a\n", "") + "web-3,web,4,,\n")
    assert main(["solve", str(file), "--from", str(answer), "--drain", "n-c", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert {result["ball_names"][each["ball"]] for each in result["moves"]} >= {
        name for name, node in before.items() if node == "n-c" and name in result["ball_names"]
    }
    assert 2 not in result["alloc"]
    answer.write_text(json.dumps(result))
    assert main(["solve", str(file), "--explain", str(answer), "--ball", "web-3"]) == 0
    output = capsys.readouterr().out
    assert "ball web-3 is in bin n-" in output
    assert main(["solve", str(file), "--explain", str(answer), "--ball", "web3"]) == 2
    assert "Did you mean 'web-3'" in capsys.readouterr().err
    assert main(["solve", str(file), "--drain", "n-e"]) == 2
    output = capsys.readouterr().err
    assert "unknown node called n-e" in output
    assert "Known: n-a, n-b, n-c, n-d" in output


def _with(file: Path, text: str) -> Problem:
    file.write_text(text)
    return load_problem(file)


def test_dimensions_and_reasons_have_the_names(file: Path) -> None:
    result = _with(file, f'{NAMED} PIN "web-1" TO "n-a" PIN "web-2" TO "n-b"')
    assert [result.name(dim) for dim in (2, 4, 9)] == ["CPU[n-c]", "COPIES[web, east]", "COPIES[job, west]"]
    assert faults(result, [0, 1, -1, -1, -1]) == ["COPIES[web, east]: 2 of 1"]
    assert "ball web-1 in bin n-c: it is pinned to bin n-a" in faults(result, [2, 1, -1, -1, -1])
    with pytest.raises(SpecError, match="ball db-1 is in bin n-x, which there is not"):
        _with(file.with_name("other.alloc"), NAMED.replace('"node" AS node', '"old" AS node') + "NOW HOME")
    apart = _with(file, f'{NAMED} FOES "web-1", "db-1" PIN "web-1" TO "n-a" PIN "db-1" TO "n-a"')
    assert faults(apart, [0, -1, 0, -1, -1]) == ["foes web-1, db-1 together in bin n-a"]
    pytest.importorskip("ortools")
    assert sorted(what for what, _ in bw.solve(apart, time=20).at_fault) == ["FOES", "PIN", "PIN"]


WRONG = {
    'TABLE X FROM "pods.csv" COLUMN "app" AS app BALLS 5 FRIENDS app["webb"], 0': "unknown app called webb",
    'TABLE X FROM "pods.csv" COLUMN "app" AS app BALLS 5 FRIENDS "web-1", 0': 'not clear what "web-1" is the name of',
    'PARAM p = 1 + "west" BALLS 5': 'not clear what "west" is the name of',
    'TABLE X FROM "pods.csv" COLUMNS "name", "app" AS some BALLS 1': "X has 2 columns of names",
    "BALLS 3 AS nobody": "nothing is read AS nobody",
    'TABLE X FROM "nodes.csv" COLUMN "name" AS some BALLS 5 AS some': "BALLS are 5, and there are 4 names",
    'TABLE X FROM "nodes.csv" COLUMN "name" AS X BALLS 1': "X has a meaning already",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_mistakes_are_told(wrong: str, file: Path) -> None:
    file.write_text(f"{wrong} BINS 1 RESOURCES C => 9 procedure UTILFN(BALL, BIN, ALLOC) UTIL.C += 1 end")
    with pytest.raises(SpecError, match=WRONG[wrong]):
        load_problem(file)
