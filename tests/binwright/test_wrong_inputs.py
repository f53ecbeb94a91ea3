"""Wrong inputs of all kinds: each gets one message that says what is wrong and what to do, exit code 2, no files."""

from pathlib import Path

import pytest

from binwright.cli import MISTAKE, main
from tests.support.batches import TEXT

# What stands in the scenario instead of something, and what the message has.
YAML = [
    ("every: 10 s", "every: 1:30", ["s.yaml:3: workload.arrivals.fixed.every: 1:30 would be 90 in YAML", "base 60"]),
    ("requests: 30", "requests: 010", ["s.yaml:6: workload.requests: 010 would be 8 in YAML", "base 8", "Write 8"]),
    ("requests: 30", "requests: !!python/name:os.system [3]", ["workload.requests: the tag", "is not taken"]),
    ("every: 10 s", "every: 10s 5", ["'s 5' is not a unit of time", "us, ms, s, min, h, d, w"]),
    ("mem: 8 GB", "mem: 8,5 GB", ["cluster.node.5 GB: is not the name of a resource", "8.5 GB, not 8,5 GB"]),
    ("{cpu: 4, mem: 8 GB}", "{cpu: 4, nodes: 2}", ["node.nodes: is a key of the cluster", "Write nodes beside node"]),
    ("agents: [first-fit, worst-fit]", "agents: first-fit", ["agents: expected a list", "Write a list: [first-fit]."]),
    ("cluster:", "sweep: [1, 2]\ncluster:", ["sweep: must be a mapping of keys (got [1, 2])", "product, zip"]),
    ("cluster:", "sweep: {overflow: [drop]}\ncluster:",
     ["sweep.overflow: unknown key", "Write `sweep: {product: {overflow: [...]}}`, or `zip` for `product`."]),
    ("cluster: {", "cluster: {groups: {a: {count: 2}}, ",
     ["cluster.groups: expected a list", "Write it like [{key: value}, {key: value}]."]),
    (TEXT, TEXT + "---\n" + TEXT, ["s.yaml:8: this is not valid YAML", "another document"]),
    ]  # fmt: skip

# A trace's file, and what the message has.
TRACES = [
    ("id;arrival;lifetime;cpu\n1;0;5;1,5\n",
     ["t.csv:2: cpu: not a number (got '1,5')", "decimals have a point"]),
    ("id,arrival,lifetime,cpu,cpu\n1,0,5,1,2\n", ["t.csv:1: two columns are called cpu", "a name of its own"]),
    ("id,arrival,lifetime,cpu\n1,0,,1\n",
     ["t.csv:2: lifetime: no value", "`empty: {lifetime: never}`"]),
    ("id,arrival,lifetime,cpu\n1,0,5,\n",
     ["t.csv:2: cpu: no value", "`keep: {cpu: '!='}` leaves such rows out", "`empty: {cpu: 0}`"]),
    ("id,arrival,lifetime,cpu\n1,2,3\n", ["t.csv:2: not a CSV file: rows differ in their number of cells (got 3)"]),
    ("id,arrival,lifetime,cpu\n1,0,5,2 dozen\n", ["cpu: 'dozen' is not a unit of cpu (got '2 dozen')", "cores"]),
    ("id,arrival,end,cpu\n1,2026-11-02,2026-11-01 08:00,1\n",
     ["end: ends before it arrives (got '2026-11-02 00:00:00 to 2026-11-01 08:00:00')", "remove it"]),
    ]  # fmt: skip

AGENT = "from binwright.simcore.types import Agent\nclass Mine(Agent):\n"
RULE = """\
from binwright import ScanAgent, cheapest
class Mine(ScanAgent):
    @staticmethod
    @cheapest
    def scan(free, capacity, taken, node):
        {}
"""
# What a file says that should have an agent, Mine, and what the message has.
AGENTS = [
    (AGENT.replace("Mine", "Yours") + "    pass\n", ["there is no Mine in it", "file.py:Class"]),
    (AGENT + "    def __init__(self, k): pass\n    def decide(self, v, r): pass\n", ["agents.0.k: is missing"]),
    ("from binwright import Agent\nclass Other(Agnt):\n    pass\n",
     ["cannot import this agent: name 'Agnt' is not defined (mine.py:2)", "Mend that line"]),
    ("class Mine:\n    def decide(self)\n", ["cannot import this agent: expected ':' (mine.py:2)", "Mend that line"]),
    (RULE.replace(", taken, node", "").format("return 0"),
     ["cannot import this agent: Mine.scan takes 2 arguments, and not (free, cap", "(mine.py:4)"]),
    (RULE.replace("node)", "node, weights)").format("return weights[0]"),
     ["scan of Mine takes 1 array of its own, not 0", "Set self.numbers = (array,) in __init__"]),
    ]  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(TEXT)
    return tmp_path


def check(arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing but the message, which has all the words, and what it keeps from being checked; no new file."""
    before = sorted(Path().rglob("*"))
    assert main(arguments) == MISTAKE
    out, err = capsys.readouterr()
    output = out + err
    for word in words:
        assert word in output
    for internal in ("Traceback", "<class", "pydantic", "binwright_user_", "quanta", "[Errno", "datetime."):
        assert internal not in output
    lines = [line for line in output.rstrip().splitlines() if line != "Fix these first; other checks follow."]
    assert len(lines) <= 2 or "/dev/null" in arguments
    assert [path for path in sorted(Path().rglob("*")) if "__pycache__" not in str(path)] == before


@pytest.mark.parametrize(("old", "new", "words"), YAML, ids=[words[0][:60] for _, _, words in YAML])
def test_a_wrong_value_in_yaml_is_refused_with_its_line(
    old: str, new: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert old in TEXT
    Path("s.yaml").write_text(TEXT.replace(old, new, 1))
    check(["validate", "s.yaml"], words, capsys)


def test_bytes_that_are_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.yaml").write_bytes(TEXT.replace("first", "fïrst").encode("latin-1"))
    check(["validate", "s.yaml"], ["s.yaml:7: this is not UTF-8 text", "Save it as UTF-8."], capsys)
    Path("s.yaml").write_bytes(TEXT.encode("utf-16"))
    check(["validate", "s.yaml"], ["this is not UTF-8 text"], capsys)


TABLE = "cluster: {servers: 2, node: {cpu: 4}}\nworkload: {trace: table, path: t.csv}\nagents: [first-fit]\n"
MINE = TEXT.replace("first-fit, worst-fit", "mine.py:Mine")


@pytest.mark.parametrize(
    ("file", "scenario", "text", "words"),
    [
        pytest.param(file, scenario, text, words, id=words[0])
        for file, scenario, cases in (("t.csv", TABLE, TRACES), ("mine.py", MINE, AGENTS))
        for text, words in cases
    ],
)
def test_a_wrong_file_beside_the_scenario_is_refused_with_its_line(
    file: str, scenario: str, text: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path(file).write_text(text)
    Path("s.yaml").write_text(scenario)
    check(["validate", "s.yaml"], words, capsys)


COMPILED = [
    (
        RULE.format("return helper(free)"),
        ["mine.py:6: Mine.scan cannot be compiled: Untyped global name 'helper'", "@kernel above"],
    ),
    (
        RULE.format("return free[node, 0] + 'a'"),
        ["mine.py:6: Mine.scan cannot be compiled: No impl", "add(int64, L", "numpy"],
    ),
]


@pytest.mark.parametrize(("text", "words"), COMPILED, ids=[words[0] for _, words in COMPILED])
def test_a_rule_that_cannot_be_compiled_is_refused(
    text: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mine.py").write_text(f"{text}def helper(free):\n    return 0\n")
    check(["agents", "check", "mine.py:Mine"], words, capsys)


HEAD = "id,arrival,lifetime,cpu\n"


def table(rows: str) -> str:
    """Write a table, and a scenario that reads it; returns that."""
    Path("t.csv").write_text(HEAD + rows)
    workload = "workload: {trace: table, path: t.csv}"
    text = f"name: t\ncluster: {{servers: 2, node: {{cpu: 4}}}}\n{workload}\nagents: [first-fit]\n"
    Path("t.yaml").write_text(text)
    return text


def test_all_bad_rows_of_a_table_are_listed_with_what_leaves_them_out(capsys: pytest.CaptureFixture[str]) -> None:
    bad = {3: "-1", 5: "-2", 6: "-3"} | dict.fromkeys(range(20, 40), "-4")
    text = table("".join(f"{n},{n},{-5 if n in (8, 9) else 5},{bad.get(n, '1')}\n" for n in range(2, 60)))
    assert main(["validate", "t.yaml"]) == MISTAKE
    output = "".join(capsys.readouterr())
    some = "lines 5, 6, 20, 21, 22, 23, 24, 25, 26, 27, ..."
    assert f"cpu: negative demand, and so in 22 rows more ({some}) (got -1)" in output
    assert "`keep: {cpu: '>= 0'}` leaves such rows out." in output
    assert "lifetime: negative lifetime, and so in 1 row more (line 9) (got '-5 s')" in output
    assert main(["traces", "describe", "t.csv"]) == MISTAKE
    assert "lifetime: negative lifetime, and so in 1 row more (line 9) (got '-5 s')" in capsys.readouterr().err
    Path("t.yaml").write_text(text.replace("t.csv}", "t.csv, keep: {cpu: '>= 0', lifetime: '>= 0'}}"))
    assert main(["validate", "t.yaml"]) == 0
