"""Names in columns: they become numbers, the same wherever they stand AS the same, and answers have them again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import binwright as bw
from agents.solver import load_problem
from agents.solver.language.errors import At, SpecError
from agents.solver.language.syntax import TableFrom
from agents.solver.language.tables import from_file
from agents.solver.specification.spec import Spec
from binwright.cli import main

NODES = "name,zone,cpu\nn-a,east,16\nn-b,east,16\nn-c,west,16\nn-d,west,16\n"
PODS = "name,app,cpu,node\nweb-1,web,4,n-a\nweb-2,web,4,n-a\ndb-1,db,8,n-b\ndb-2,db,8,n-c\njob-1,job,2,\n"
TEXT = """
TABLE NODE FROM "nodes.csv" COLUMN "name" AS node
TABLE ZONE FROM "nodes.csv" COLUMN "zone" AS zone
TABLE HAS FROM "nodes.csv" COLUMN "cpu"
TABLE POD FROM "pods.csv" COLUMN "name" AS pod
TABLE APP FROM "pods.csv" COLUMN "app" AS app
TABLE NEEDS FROM "pods.csv" COLUMN "cpu"
TABLE HOME FROM "pods.csv" COLUMN "node" AS node
BALLS len(POD) AS pod
BINS len(NODE) AS node
RESOURCES CPU[n in BINS] => HAS[n], COPIES[a in len(app), z in len(zone)] => 1
procedure UTILFN(BALL, BIN, ALLOC)
    UTIL.CPU[BIN] += NEEDS[BALL]
    UTIL.COPIES[APP[BALL], ZONE[BIN]] += 1
end
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "pods.csv").write_text(PODS)
    (tmp_path / "pods.alloc").write_text(TEXT)
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
    table = from_file("T", "t.parquet", ["name"], folder, At(1, 1), names)
    assert table.values.tolist() == [-1 if cell is None else order.index(cell) for cell in cells]
    assert list(names) == order


def test_the_same_names_have_the_same_numbers(file: Path) -> None:
    found = load_problem(file)
    assert found.ball_names == ("web-1", "web-2", "db-1", "db-2", "job-1")
    assert found.bin_names == ("n-a", "n-b", "n-c", "n-d")
    assert isinstance(found.source, Spec)
    assert found.source.given.table_from(_table(found.source, "HOME")).values.tolist() == [0, 0, 1, 2, -1]
    assert [family.sizes for family in found.families] == [(4,), (3, 2)]
    answer = bw.solve(found, now=np.array([0, 0, 1, 2]).tolist(), time=10)
    assert answer.status == "optimal"
    assert [ball for ball, _, _ in answer.moves] == [1]


def _table(source: Spec, name: str) -> TableFrom:
    return next(one for one in source.tree.declarations if isinstance(one, TableFrom) and one.name == name)


def test_answers_have_the_names_and_are_read_again(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = file.parent / "answer.csv"
    assert main(["solve", str(file), "--csv"]) == 0
    answer.write_text(capsys.readouterr().out)
    assert set(answer.read_text().split()) > {"ball,bin"}
    assert all(line.split(",")[1].startswith("n-") for line in answer.read_text().split()[1:])
    (file.parent / "pods.csv").write_text(PODS.replace("web-1,web,4,n-a\n", "") + "web-3,web,4,\n")
    assert main(["solve", str(file), "--from", str(answer), "--drain", "n-c", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    before = dict(line.split(",") for line in answer.read_text().split()[1:])
    assert {found["ball_names"][one["ball"]] for one in found["moves"]} >= {
        name for name, node in before.items() if node == "n-c" and name in found["ball_names"]
    }
    assert 2 not in found["alloc"]
    answer.write_text(json.dumps(found))
    assert main(["explain", str(file), str(answer), "--ball", "web-3"]) == 0
    said = capsys.readouterr().out
    assert "ball web-3 is in bin n-" in said
    assert main(["explain", str(file), str(answer), "--ball", "web3"]) == 2
    assert "Did you mean 'web-3'" in capsys.readouterr().err
    assert main(["solve", str(file), "--drain", "n-e"]) == 2
    assert "Known: n-a, n-b, n-c, n-d" in capsys.readouterr().err


def test_a_table_names_what_is_placed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", str(file)]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in ("web-1", "job-1", "n-a", "n-d"))


WRONG = {
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


def test_tables_from_outside_have_no_names(file: Path) -> None:
    tables = {"NODE": [0, 1], "ZONE": [0, 1], "HAS": [9, 9], "POD": [0, 1], "APP": [0, 1], "NEEDS": [1, 1]}
    found = Spec(TEXT, tables=tables | {"HOME": [0, -1]}).problem()
    assert (found.balls, found.bins, found.ball_names, found.bin_names) == (2, 2, (), ())


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("x,n-a\n", "none of its balls is here"),
        ("web-1,n-a\nweb-1,n-b\n", "a ball is there twice"),
        ("web-1,n-A\n", "n-A is no bin here"),
    ],
)
def test_an_answer_to_something_else_is_refused(
    rows: str, said: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (file.parent / "old.csv").write_text(f"ball,bin\n{rows}")
    assert main(["solve", str(file), "--from", str(file.parent / "old.csv")]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_goal_of_moves_may_leave_it_to_the_command_where_balls_are(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(f"{TEXT} MINIMISE MOVES")
    (file.parent / "old.csv").write_text("ball,bin\nweb-1,n-a\ndb-1,n-b\ndb-2,n-c\n")
    assert main(["solve", str(file), "--from", str(file.parent / "old.csv"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["status"], found["moves"]) == ("optimal", [])
