"""Problems with names, and from where things are, by the service."""

from typing import Any

import numpy as np
import pytest

from binwright.client import Client
from binwright.placements import bins, drained
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
        ({"NEEDS": ["a", "b", "c"]}, "NEEDS has names, and no TABLE NEEDS reads them AS anything"),
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
