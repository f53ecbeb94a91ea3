"""Bodies of requests, drawn and kept: none is a 500, takes five seconds, or more than a gigabyte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.properties import first
from tests.support.service import SMALL, Server, serving

TEXT = "PARAM n = 2 PARAM m = 1 TABLE D = [1, 2] BALLS len(D) BINS n RESOURCES C[b in BINS] => 10 * m\n"
TEXT += "procedure UTILFN(BALL, BIN, ALLOC) UTIL.C[BIN] += D[BALL] end"
JSON = "application/json"
LONGEST, MOST = 5.0, 2**30
"""Seconds, and bytes of the server's process."""


pytestmark = pytest.mark.long  # one more server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    limits = ("requests=1e6", "burst=1e6", "submissions=1e6", "check=2", "time=0.05", "memory=1e9")
    options = [part for one in limits for part in ("--limit", one)]
    with serving(tmp_path_factory.mktemp("bodies") / "data", "--workers", "1", *options) as found:
        found.warm()
        yield found
        status = Path(f"/proc/{found.process.pid}/status").read_text()
        assert int(status.partition("VmHWM:")[2].split()[0]) * 1024 < MOST


def answered(server: Server, body: bytes, kind: str) -> int:
    """Send it to all that takes a body, and have the job end if it is one; gives the check's status."""
    statuses = []
    for path in ("/v1/check", "/v1/problems"):
        began = monotonic()
        got = server.ask("POST", path, body, Content_Type=kind)
        assert got.status in (200, 202, 413, 422), got
        assert monotonic() - began < LONGEST
        said = got.json if got.status != 202 else server.wait(got.json["id"])
        assert "our mistake" not in json.dumps(said), said
        if got.status >= 400:
            assert said["error"]["message"]
            assert len(got.body) < 1000
        statuses.append(got.status)
    return statuses[0]


def listed(item: str, count: int) -> str:
    """A table of so many of the same."""
    return '{"text": "x", "tables": {"D": [' + ",".join([item] * count) + "]}}"


def named(kind: str, name: str, value: str, count: int) -> str:
    """As many tables or parameters."""
    return f'{{"text": "x", "{kind}": {{' + ",".join(f'"{name}{n:x}": {value}' for n in range(count)) + "}}"


def placed(given: str) -> str:
    """A problem that is right but for what is given."""
    return f'{{"text": {json.dumps(TEXT)}, {given}}}'


HUGE = "1" + "0" * 400
BROKE: dict[str, str] = {
    "a number of 401 digits": placed(f'"tables": {{"D": [{HUGE}]}}'),
    "a negative one": placed(f'"tables": {{"D": [-{HUGE}]}}'),
    "a parameter of 401 digits": placed(f'"params": {{"n": {HUGE}}}'),
    "as many digits as are read": listed("9" * 4300, 1),
    "more digits than are read": listed("9" * 4301, 1),
    "half a thousand such numbers": listed("9" * 4300, 450),
    "many mistakes in names": named("tables", "", "1", 170_000),
    "many mistakes in parameters": named("params", "a", "[]", 150_000),
    "many tables": named("tables", "a", "[]", 150_000),
    "many options": "{" + ",".join(f'"{n:x}": 1' for n in range(170_000)) + "}",
    "no object": "[1]",
    "many rows in rows": listed("[[[[[[[]]]]]]]", 120_000),  # takes a second
}
"""What was a 500, a hang, or half a gigabyte."""
SEVERAL = ("many mistakes in names", "many rows in rows")


@pytest.mark.parametrize("what", first(len(BROKE) - 1, BROKE))
def test_what_broke_it_is_answered(server: Server, what: str) -> None:
    assert answered(server, BROKE[what].encode(), JSON) == (200 if what == "many rows in rows" else 422)


@pytest.mark.long
@pytest.mark.parametrize("what", SEVERAL)
def test_several_of_them_at_once_take_no_gigabyte(server: Server, what: str) -> None:
    body = BROKE[what].encode()
    with ThreadPoolExecutor(12) as clients:
        got = [clients.submit(server.ask, "POST", "/v1/check", body, Content_Type=JSON) for _ in range(24)]
        while not all(one.done() for one in got):
            began = monotonic()
            assert server.ask("GET", "/v1/health").status == 200
            assert monotonic() - began < LONGEST
    assert {one.result().status for one in got} <= {200, 422}


LARGE = [10**18, 10**19, 2**63, 10**300, 10**308, 10**309, 10**400, 1e308, 1e-320, 1e999, -(10**400), float("nan")]
NUMBERS = st.integers() | st.floats() | st.sampled_from(LARGE) | st.integers(-3, 9)
ODD = st.recursive(
    NUMBERS | st.none() | st.booleans() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
ROWS = st.lists(NUMBERS, max_size=4) | st.lists(st.lists(NUMBERS, max_size=3), max_size=3) | ODD
PROBLEMS = st.fixed_dictionaries(
    {"text": st.sampled_from([TEXT, TEXT, SMALL]) | ODD},
    optional={
        "tables": st.fixed_dictionaries({}, optional={"D": ROWS, "DEMAND": ROWS, "é": ROWS}) | ODD,
        "params": st.fixed_dictionaries({}, optional={"n": NUMBERS | ODD, "m": NUMBERS}) | ODD,
        "search": st.sampled_from(["ours", "published"]) | ODD,
        "seed": NUMBERS | ODD,
        "time": st.just(0.01) | NUMBERS | ODD,
        "attempts": st.just(5) | NUMBERS | ODD,
        "more": ODD,
    },
)
WRITTEN = st.tuples(PROBLEMS | ODD, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32-be"])).map(
    lambda given: json.dumps(given[0], ensure_ascii=False).encode(given[1], "surrogatepass")
)
HARMED = st.tuples(WRITTEN, st.integers(0, 300), st.integers(0, 9), st.binary(max_size=4)).map(
    lambda given: given[0][: given[1]] + given[3] + given[0][given[1] + given[2] :]
)
DEEP = st.tuples(st.sampled_from([b"[", b'{"a":', b'{"tables":{"D":[', b"("]), st.integers(1, 50_000)).map(
    lambda given: given[0] * given[1]
)
KINDS = st.sampled_from([JSON, JSON, JSON, "application/json; charset=utf-16", "text/plain", "multipart/form-data", ""])


@given(body=WRITTEN | HARMED | DEEP | st.binary(max_size=200), kind=KINDS)
@example(body=b"\xef\xbb\xbf{}", kind=JSON)
@example(body=json.dumps({"text": TEXT, "params": {"n": 0}}).encode(), kind=JSON)
def test_any_body_is_answered(server: Server, body: bytes, kind: str) -> None:
    answered(server, body, kind)


QUERIES = st.dictionaries(
    st.sampled_from(["seed", "time", "attempts", "search", "text", "tables", "x"]),
    st.sampled_from(["nan", "-inf", "1e999", "9" * 5000, "1_0", "%ff", "%ed%a0%80", "", "ours", "٣"])
    | NUMBERS.map(str),
    max_size=4,
)


@given(query=QUERIES)
def test_any_query_is_answered(server: Server, query: dict[str, Any]) -> None:
    text = "&".join(f"{name}={value}" for name, value in query.items())
    got = server.ask("POST", f"/v1/problems?{text}".encode().decode("latin-1").replace("Ù£", "%D9%A3"), TEXT)
    assert got.status in (200, 202, 422), got
