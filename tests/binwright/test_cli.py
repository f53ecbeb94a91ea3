"""The command line as a user meets it: what it prints, what it writes, its exit codes, and no traceback ever."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest

import binwright as bw
from binwright.agents import AGENTS
from binwright.cli import FAILED, INTERRUPTED, MISTAKE, TERMINATED, main
from binwright.parser import KINDS
from binwright.scenarios.schema.load import shipped
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.types import Agent
from tests.support.batches import TEXT
from tests.support.properties import first

SHORT = ("run", "quickstart", "--seeds", "1", "--agents", "first-fit,best-fit", "--set", "workload.requests=200")

SCENARIO = f"{TEXT}replications: 2\n"

TRACE = "vmid,cpu,mem,at,lt\n" + "".join(f"{n},{1 + n % 2},2,{60 * n},{600 if n else 'inf'}\n" for n in range(20))

AGENT = """\
import os
import time

from binwright.simcore.types import Agent


class Mine(Agent):
    def decide(self, view, request):
        {}
        return request.on(0, 0) if (view.free[0, 0] >= request.demand).all() else None
"""


class Answer:
    """What a command said."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def everything(self) -> str:
        return self.out + self.err


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's folder, a terminal of a known width, and no traces."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("BINWRIGHT_TRACES", str(folder / "traces"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (folder / "s.yaml").write_text(SCENARIO)


class Asker:
    """Calls the command line in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Answer:
        self._capsys.readouterr()
        try:
            code = main(arguments)
        except SystemExit as end:  # argparse
            code = end.code if isinstance(end.code, int) else 1
        out, err = self._capsys.readouterr()
        return Answer(code, out, err)


@pytest.fixture
def binwright(capsys: pytest.CaptureFixture[str]) -> Asker:
    return Asker(capsys)


def process(*arguments: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "binwright", *arguments]
    return subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True)


def files() -> set[str]:
    return {str(path) for path in Path().rglob("*") if path.is_file()} - {"s.yaml"}


# -- run ---------------------------------------------------------------------------------------------------------------


def test_run_prints_a_table_and_says_where_the_files_are(binwright: Asker) -> None:
    output = binwright(*SHORT)
    assert output.code == 0, output.everything
    for word in ("first-fit", "best-fit", "accepted", "cpu", "mem", "income"):
        assert word in output.out
    assert "Results: results/quickstart/runs.parquet\n" in output.out
    assert "Figure:  results/quickstart/figures/differences.png\n" in output.out
    states = {name for name in files() if name.endswith(".states.parquet")}
    assert len(states) == len(bw.load("results/quickstart").runs)
    assert files() - states == {
        f"results/quickstart/{name}"
        for name in ("runs.parquet", "scenario.yaml", "journal.jsonl", "figures/differences.png")
    }
    runs = pl.read_parquet("results/quickstart/runs.parquet")
    assert runs.select("agent", "seed", "offered").rows() == [("first-fit", 0, 200), ("best-fit", 0, 200)]
    assert Path("results/quickstart/figures/differences.png").read_bytes().startswith(b"\x89PNG")


def test_a_dry_run_writes_nothing(binwright: Asker) -> None:
    output = binwright(*SHORT, "--dry-run")
    assert output.code == 0
    assert files() == set()
    assert not Path("results").exists()
    assert "2 runs, 0 of them done already, into results/quickstart" in output.out
    binwright(*SHORT)
    before = files()
    output = binwright(*SHORT, "--dry-run", "--seeds", "2")
    assert "4 runs, 2 of them done already" in output.out
    assert files() == before


def test_a_dry_run_of_several_checks_each_once(binwright: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []

    def check(scenario: Scenario, **how: list[str]) -> None:
        checked.append(scenario.name)
        how["doubts"].append("too large.")

    monkeypatch.setattr("binwright.scenarios.run.check.check_scenario", check)
    assert binwright("run", "s.yaml", "quickstart", "--dry-run").out.count("Warning: too large.\n") == 2
    assert checked == ["s", "quickstart"]


def test_a_failed_run_is_exit_code_1(binwright: Asker) -> None:
    Path("mine.py").write_text(AGENT.format("if request.index == 3: raise ValueError('no idea')"))
    output = binwright("run", "s.yaml", "--agents", "first-fit,mine.py:Mine")
    assert output.code == FAILED
    assert "ValueError('no idea')" in " ".join(output.out.split())
    where = "mine.py:9 for request 3 (1 cpu, 2 GB mem, at 30 s)"
    assert where.replace(" ", "") in "".join(output.out.split()), "wherever the lines are broken"
    assert "first-fit" in output.out
    assert "0/2" in output.out
    assert "Traceback" not in output.everything
    output = binwright("run", "s.yaml", "--agents", "mine.py:Mine", "--out", "all-failed", "--seeds", "22")
    assert output.code == FAILED
    assert "Traceback" not in output.everything
    assert output.out.count("no idea") == 1
    assert "22 runs failed:\nmine.py:Mine, seed 0, and 21 runs more: Mine raised ValueError('no idea') at" in output.out
    errors = Path("all-failed/errors.txt").read_text()
    assert errors.count("ValueError('no idea')") == 22
    assert errors.startswith("mine.py:Mine, seed 0\nMine raised")
    assert "all-failed/errors.txt says why in full" in output.out
    Path("mine.py").write_text(AGENT.format("pass"))
    assert binwright("run", "s.yaml", "--agents", "mine.py:Mine", "--out", "all-failed", "--seeds", "22").code == 0
    assert not Path("all-failed/errors.txt").exists()


def test_only_commands_that_resume_say_so_when_interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(args: Namespace) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("binwright.commands.learning.search", interrupted)
    monkeypatch.setattr("binwright.commands.sizing.size", interrupted)
    errors = {}
    for command in ("search", "size"):
        assert main([command, "any"]) == INTERRUPTED
        errors[command] = capsys.readouterr().err
    again = "binwright: Interrupted. Run the same command to resume.\n"
    assert errors == {"search": "binwright: Interrupted.\n", "size": again}


def test_sigterm_is_heard_once_and_only_while_a_command_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = []

    def command(requested: Namespace) -> int:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(10)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            ended.append("in order")
        return 0

    before = signal.getsignal(signal.SIGTERM)
    assert main(["list", "movers"]) == 0
    assert signal.getsignal(signal.SIGTERM) is before
    monkeypatch.setattr("binwright.commands.training.train", command)
    try:
        assert main(["train", "any"]) == TERMINATED
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended == ["in order"]
    assert capsys.readouterr().err == "binwright: Interrupted. Run the same command to resume.\n"
    with ThreadPoolExecutor(1) as pool:  # where no signal is heard
        assert pool.submit(main, ["list", "movers"]).result() == 0


# -- mistakes ----------------------------------------------------------------------------------------------------------

WORD_OF = {
    "agents": "Start with these\nfirst-fit  ",
    "figures": "needs: ",
    "metrics": "acceptance  ",
    "movers": "make-room  ",
    "scenarios": "quickstart  ",
    "schema": '"$defs"',
    "topology": "fat-tree  ",
    "traces": "huawei-east-1  ",
    "workloads": "poisson  ",
}

BAD = SCENARIO.replace("servers: 2", "sevrers: 2")

MISTAKES: list[tuple[str, list[str]]] = [
    ("run no.yaml", ["no.yaml", "there is no such file", f"`binwright list scenarios` lists all {len(shipped())}."]),
    ("run bad.yaml", ["bad.yaml:1: cluster.sevrers: unknown key", "Did you mean 'servers'?"]),
    ("run s.yaml --set 'replications: 3'", ["is not an override", "Write key.of.the.scenario=value."]),
    ("run s.yaml --seeds abc", ["run: argument --seeds: invalid int value: 'abc'", "binwright run --help"]),
    ("run s.yaml --out file/below", ["cannot be written", "--out"]),
    ("run missing.yaml", ["was not found", "huawei-east-1", "Get it from github.com", "Licence: CC BY-NC 4.0"]),
    ("run quickstart --sede 3", ["there is no such option or argument: --sede 3", "Did you mean '--seeds'?"]),
    ("traces", ["the following arguments are required: describe", "binwright traces --help"]),
    ("agents", ["the following arguments are required: check", "binwright agents --help"]),
    ("pack binpack1 --servers kinds.csv", ["there is no such option or argument: --servers kinds.csv", "'--server'?"]),
    ("list agent", ["list: argument KIND: invalid choice: 'agent' (choose from "]),
    ("run s.yaml --agents mine.py", ["agents.0: unknown agent", "Name the class in it, too: mine.py:Class."]),
    ("figures results --format pdf", ["no such option or argument: --format pdf", "`--kind NAME --out FILE.pdf`"]),
    ("list movers quickstart", ["movers: takes no name"]),
    ("traces describe words.csv", ["words.csv:1: no column says when requests arrive", "Its columns: a, b."]),
    (
        "traces describe dates.csv",
        ["dates.csv:1: start: is no time and no date (got '31.12.2026')", "begin with a year"],
    ),
    ("size s.yaml --until acceptance=99", ['Write a metric, >= or <=, and a number: "acceptance >= 99 %"']),
    ("solve vm-placement --ball 3", ["--ball: which answer?"]),
    ("", ["usage"]),
]


@pytest.fixture
def _mistaken() -> None:
    for name, text in {
        "bad.yaml": BAD,
        "missing.yaml": SCENARIO.partition("workload")[0] + "workload: {trace: huawei-east-1}\nagents: [first-fit]\n",
        "file": "in the way",
        "t.csv": TRACE,
        "words.csv": "a,b\n1,2\n",
        "dates.csv": "start,cpu\n31.12.2026,2\n",
    }.items():
        Path(name).write_text(text)


@pytest.mark.usefixtures("_mistaken")
@pytest.mark.parametrize(("command", "words"), MISTAKES, ids=[command for command, _ in MISTAKES])
def test_a_mistake_is_a_message(binwright: Asker, command: str, words: list[str]) -> None:
    before = files()
    output = binwright(*shlex.split(command))
    assert output.code == MISTAKE, output.everything
    assert "Traceback" not in output.everything
    for word in words:
        assert word in output.everything
    assert {name for name in files() if "__pycache__" not in name} == before, "nothing is half-written"


@pytest.mark.parametrize("file", first(1, ["scenario.yaml", "journal.jsonl", "runs.parquet"]))
def test_results_do_not_overwrite_themselves(binwright: Asker, file: str) -> None:
    assert binwright("run", "s.yaml", "--out", "out", "--set", "record=[requests]").code == 0
    before = {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}
    output = binwright("report", "out", "--out", f"out/{file}")
    assert output.code == MISTAKE
    assert "does not end in .html" in output.err
    assert before == {path: path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}


# -- the other commands ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_mistaken")
def test_validate_looks_at_every_file(binwright: Asker) -> None:
    output = binwright("validate", "s.yaml")
    assert (output.code, output.out) == (0, "valid  s.yaml: 4 runs\n")
    output = binwright("validate", "bad.yaml", "s.yaml", "no.yaml", "quickstart")
    assert output.code == 2
    assert [line.split()[0] for line in output.out.splitlines() if line.startswith(("valid", "wrong"))] == [
        "wrong", "valid", "wrong", "valid",
    ]  # fmt: skip
    assert f"wrong  {Path('bad.yaml').absolute()}:1: cluster.sevrers: unknown key" in output.out
    assert output.out.count("Fix these first; other checks follow.") == 2
    assert binwright("validate", "s.yaml", "--set", "replications=3").out == "valid  s.yaml: 6 runs\n"
    assert "sevrers: unknown key" in binwright("validate", "s.yaml", "--set", "cluster.sevrers=3").out
    answer = binwright("validate", "s.yaml", "--set", "replications=1", "--set", "agents=[random]")
    assert "valid  s.yaml: 1 run\n" in answer.out
    absent = binwright("validate", "missing.yaml", "s.yaml")
    assert absent.code == MISTAKE
    assert absent.out.startswith(
        f"cannot run: trace missing  {Path('missing.yaml').absolute()}:2: workload.trace: the file of this"
    )
    assert "Get it from github.com" in absent.out
    assert "valid  s.yaml: 4 runs" in absent.out
    two = binwright("validate", "s.yaml", "--set", "agents=[nulb, sched-rl]", "--set", "replications=3")
    assert two.code == MISTAKE
    wrong = [line.split(":")[1].split()[0] for line in two.out.splitlines() if line.startswith("wrong")]
    assert wrong == ["agents.0", "agents.1"]
    assert files() >= {"bad.yaml"}
    assert not Path("results").exists()


def test_agents_are_listed_with_their_references(binwright: Asker) -> None:
    output = binwright("list", "agents")
    assert output.code == 0
    text = " ".join(output.out.split())
    for name in AGENTS:
        kind = AGENTS.load(name)
        assert issubclass(kind, Agent)
        assert kind.__doc__
        assert f"{name} {kind.__doc__.splitlines()[0]}" in text
        assert kind.reference
        assert kind.reference in text
    assert "node: tight | loose" in text
    assert ": ," not in text, "what is empty is said to be so"
    assert "filter: none | {best-fit | internal: int}" in text
    assert "typing" not in text


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "devices"])
def test_each_kind_is_listed(binwright: Asker, kind: str) -> None:
    output = binwright("list", kind)
    assert output.code == 0
    assert WORD_OF[kind] in output.out


def test_list_alone_lists_the_kinds(binwright: Asker) -> None:
    output = binwright("list")
    assert output.code == 0
    assert re.findall(r"^(\w+)  (?:List|Print) ", output.out, re.M) == [*KINDS]
    assert output.out.endswith("`binwright list KIND` lists them.\n")


def test_one_agent_is_listed_by_its_name(binwright: Asker) -> None:
    output = binwright("list", "agents", "best-fit")
    assert output.out.startswith("best-fit  ")
    assert "options: node: tight | loose" in output.out
    assert "first-fit" not in output.out
    Path("mine.py").write_text("from binwright import Agent\nclass Mine(Agent):\n    pass\n")
    assert binwright("list", "agents", "mine.py:Mine").out.startswith("mine.py:Mine  \n")


def test_a_topology_is_listed_with_its_tiers_and_links(binwright: Asker) -> None:
    output = binwright("list", "topology", "{fat-tree: {k: 4}}")
    assert "fat-tree: 16 servers, 8 racks, 20 switches, 48 links" in output.out
    assert "link 0: " in output.out
    assert "switch 19: " in output.out


# -- what it costs, and being one of many in a pipe --------------------------------------------------------------------


def test_help_and_version(binwright: Asker) -> None:
    for arguments in ((), ("run",), ("traces",), ("traces", "describe"), ("list",)):
        output = binwright(*arguments, "--help")
        assert output.code == 0
        assert output.out.startswith(" ".join(("usage: binwright", *arguments)))
    assert "begins with a minus stands last, after --" in " ".join(binwright("evaluate", "--help").out.split())
    output = binwright("--version")
    assert output.code == 0
    assert output.out.startswith("binwright ")


@pytest.mark.long
@pytest.mark.parametrize("arguments", [("list", "schema"), ("list", "agents"), ("list", "traces")])
def test_a_reader_that_goes_away_is_no_mistake(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    requested = process(*arguments, stdout=writing)
    os.close(writing)
    _, err = requested.communicate(timeout=30)
    assert err == ""
    assert requested.returncode == 0
