"""Problems with names, and from where things are, by the service: it answers as `binwright solve` does."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binwright.cli import MISTAKE, main
from binwright.client import Client, SpecificationError
from binwright.placements import bins, drained
from binwright.simcore.errors import UserError
from tests.support.properties import first
from tests.support.service import Server

TEXT = """# Pods by name
PARAM least = 0
TABLE NODE FROM "nodes.csv" COLUMN "name" AS node
TABLE ZONE FROM "nodes.csv" COLUMN "zone" AS zone
TABLE HAS FROM "nodes.csv" COLUMN "cpu"
TABLE POD FROM "pods.csv" COLUMN "name" AS pod
TABLE APP FROM "pods.csv" COLUMN "app" AS app
TABLE NEEDS FROM "pods.csv" COLUMN "cpu"
TABLE HOME FROM "pods.csv" COLUMN "node" AS node
BALLS len(POD) AS pod
BINS len(NODE) AS node
PIN "db" TO "n-a" for once in least
RESOURCES CPU[n in BINS] => HAS[n], COPIES[a in len(app), z in len(zone)] => 1
procedure UTILFN(BALL, BIN, ALLOC)
    UTIL.CPU[BIN] += NEEDS[BALL]
    if APP[BALL] >= 0 UTIL.COPIES[APP[BALL], ZONE[BIN]] += 1 end
end
"""
TABLES: dict[str, Any] = {
    "NODE": ["n-a", "n-b", "n-c"],
    "ZONE": np.array(["east", "east", "west"]),
    "HAS": [4, 4, 4],
    "POD": ["web-1", "web-2", "db"],
    "APP": ["web", "web", None],
    "NEEDS": [2, 2, 1],
    "HOME": ["n-b", None, "n-b"],
}


def pods(folder: Path) -> str:
    """Write the problem with its tables; gives its file."""
    (folder / "nodes.csv").write_text("name,zone,cpu\nn-a,east,4\nn-b,east,4\nn-c,west,4\n")
    (folder / "pods.csv").write_text("name,app,cpu,node\nweb-1,web,2,n-b\nweb-2,web,2,\ndb,,1,n-b\n")
    (folder / "old.csv").write_text("ball,bin\ngone,n-a\ndb,n-c\nweb-1,n-b\n")
    (folder / "pods.alloc").write_text(TEXT)
    return str(folder / "pods.alloc")


@pytest.mark.parametrize(
    "more",
    first(
        4,
        [
            ["--set", "least=1", "--csv"],
            ["--csv"],
            ["--from", "old.csv", "--csv"],
            ["--from", "old.csv", "--drain", "n-b", "--csv"],
            ["--from", "old.csv", "--moves", "0"],
            ["--from", "old.csv", "--drain", "n-x"],
            ["--drain", "1"],
            ["--moves", "0"],
        ],
    ),
    ids=" ".join,
)
def test_solve_by_a_server_does_what_solve_does(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["solve", pods(tmp_path), *more]
    here, said_here = main(command), capsys.readouterr()
    there, said_there = main([*command, "--server", server.url]), capsys.readouterr()
    assert there == here
    assert without_times(said_there.out) == without_times(said_here.out)
    if here == MISTAKE:
        problem = said_there.err.partition(": ")[2].splitlines()[0].rpartition(": ")[2]
        assert problem in said_here.err  # where it is, too, if it is in the text


def without_times(text: str) -> list[str]:
    return [line.partition("; ")[0] for line in text.splitlines() if not line.startswith("compiling took")]


def test_numbered_bins_are_emptied(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "vm-placement", "--csv"]) == 0
    (tmp_path / "old.csv").write_text(capsys.readouterr().out)
    there = ["--from", str(tmp_path / "old.csv"), "--server", server.url, "--json"]
    assert main(["solve", "vm-placement", "--moves", "0", *there]) == 0
    assert json.loads(capsys.readouterr().out)["moves"] == []
    assert main(["solve", "vm-placement", "--drain", "0-1", *there]) == 1
    assert json.loads(capsys.readouterr().out)["placed"] == 0


def test_client_sends_names_and_reads_them_back(server: Server) -> None:
    client = Client(server.url)
    result = client.solve(TEXT, tables=TABLES, now=[1, None, "n-c"], drain=["n-a"], moves=1)
    assert result["ball_names"] == TABLES["POD"]
    assert [result["bin_names"][place] for place in result["alloc"]] == ["n-b", "n-c", "n-c"]
    result = client.solve(TEXT.replace("RESOURCES", "NOW HOME RESOURCES"), tables=TABLES, drain=[1])
    moved = [(result["ball_names"][one["ball"]], result["bin_names"][one["from"]]) for one in result["moves"]]
    assert moved == [("web-1", "n-b"), ("db", "n-b")]
    for tables, says in (
        ({"POD": [1, 2, None]}, "neither all numbers nor all names"),
        ({"NEEDS": ["a", "b", "c"]}, "NEEDS has names, and no TABLE NEEDS reads them AS anything"),
    ):
        with pytest.raises(UserError, match=says):
            client.solve(TEXT, tables=TABLES | tables)
    with pytest.raises(SpecificationError, match="n-x is no bin here"):
        client.solve(TEXT, tables=TABLES, now={"db": "n-x"})
    for now in ("n-a", [1.5], {"db": True}):
        with pytest.raises(UserError, match="now"):
            client.submit(TEXT, tables=TABLES, now=now)
    many = {f"pod {number}": None for number in range(5000)} | {"db": "n-c"}
    assert client.solve(TEXT, tables=TABLES, now=many)["placed"] == 3


def test_where_balls_are() -> None:
    assert bins([0, None, -1, 2], (), ()) == [0, -1, -1, 2]
    assert bins({"0": "1", "1": None}, (), ()) == [1, -1]
    assert bins({"b": "y", "gone": "x"}, ("a", "b"), ("x", "y")) == [-1, 1]
    assert bins({"a": 1}, ("a",), ("x", "y")) == [1]
    for now in ({"1": 0}, {"c": "x"}):
        with pytest.raises(ValueError, match="ball"):
            bins(now, ("a",) if "c" in now else (), ())
    assert list(drained(["2", "5-7", 9], ())) == [2, 5, 6, 7, 9]
    assert list(drained(["y", 0], ("x", "y", "5-7"))) == [1, 0]
    for part in ("x", "1-", "12345678", "0-99999999"):
        with pytest.raises(UserError, match="is no list of bins"):
            list(drained([part], ()))
