"""Problems with names, and from where things are, by the service."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from binwright.agents.solver import problem
from binwright.agents.solver.language.errors import At, SpecError
from binwright.agents.solver.language.tables import from_places
from binwright.client import Client
from binwright.simcore.errors import UserError
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


def test_client_sends_names_and_reads_them_back(server: Server) -> None:
    client = Client(server.url)
    result = client.solve(TEXT, tables=TABLES, now=[1, None, "n-c"], drain=["n-a"], moves=1)
    assert result["ball_names"] == TABLES["POD"]
    assert [result["bin_names"][place] for place in result["alloc"]] == ["n-b", "n-c", "n-c"]
    result = client.solve(TEXT.replace("RESOURCES", "NOW HOME RESOURCES"), tables=TABLES, drain=[1])
    moved = [(result["ball_names"][one["ball"]], result["bin_names"][one["from"]]) for one in result["moves"]]
    assert moved == [("web-1", "n-b"), ("db", "n-b")]
    for tables, says in (
        ({"POD": [1, 2, None]}, "POD is not numeric"),
        ({"NEDS": [2, 2, 1]}, "reads no table NEDS"),
        ({"NEEDS": ["a", "b", "c"]}, "NEEDS is not numeric"),
    ):
        with pytest.raises(UserError, match=says):
            client.solve(TEXT, tables=TABLES | tables)
    with pytest.raises(UserError, match="n-x is no bin here"):
        client.solve(TEXT, tables=TABLES, now={"db": "n-x"})
    for now in ("n-a", [1.5], {"db": True}):
        with pytest.raises(UserError, match="now"):
            client.solve(TEXT, tables=TABLES, now=now)
    many = {f"pod {number}": None for number in range(5000)} | {"db": "n-c"}
    assert client.solve(TEXT, tables=TABLES, now=many)["placed"] == 3


def test_where_balls_are() -> None:
    def bins(now: Any, balls: Sequence[str], bins: Sequence[str]) -> list[int]:
        return list(from_places(now, balls, bins, At(1, 1)).values)

    assert bins([0, None, -1, 2], (), ()) == [0, -1, -1, 2]
    assert bins({"0": "1", "1": None}, (), ()) == [1, -1]
    assert bins({"b": "y", "gone": "x"}, ("a", "b"), ("x", "y")) == [-1, 1]
    assert bins({"a": 1}, ("a",), ("x", "y")) == [1]
    for now in ({"1": 0}, {"c": "x"}):
        with pytest.raises(SpecError, match="ball"):
            bins(now, ("a",) if "c" in now else (), ())


def test_bins_to_be_emptied_are_numbers_ranges_or_names() -> None:
    text = "BINS 12 BALLS 1 RESOURCES C => 1 procedure UTILFN(BALL, BIN, ALLOC) UTIL.C += 1 end"
    assert np.flatnonzero(problem(text, drain=["2", "5-7", 9]).drained).tolist() == [2, 5, 6, 7, 9]
    named = text.replace("BINS 12", 'TABLE N FROM "n.csv" COLUMN "n" AS n BINS 3 AS n')
    assert problem(named, tables={"N": ["x", "y", "5-7"]}, drain=["y", 0]).drained.tolist() == [True, True, False]
    for part, says in (("x", "drain is not a number"), ("1-", "drain is not a number"), ("0-99999999", "no bin 12")):
        with pytest.raises(SpecError, match=says):
            problem(text, drain=[part])
