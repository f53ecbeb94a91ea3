"""Batches: resuming, failures, what is written, and that every run is determined by its scenario, agent and seed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.analysis.results_api import Results
from binwright.scenarios.batch.batch import Batch, line_of, rows_of
from binwright.scenarios.build.plan import Run
from binwright.scenarios.run.execute import execute
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.errors import ResultsError, UserError
from binwright.simcore.record import OUTCOMES
from tests.support.batches import agent, data, numbers, plain, same, scenario, tree
from tests.support.kinds import ON_SERVERS
from tests.support.properties import first, scaled

MODES: list[Any] = ["drop", "wait", "stop", {"expand": {"by": 1, "limit": 4}}]


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs that are really computed."""
    names: list[str] = []

    def counted(run: Run, *more: Any) -> dict[str, Any]:
        names.append(run.name)
        return execute(run, *more)

    monkeypatch.setattr("binwright.scenarios.batch.attempt.execute", counted)
    return names


class CtrlC:
    """A `finished` that interrupts after some rows."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.rows: list[dict[str, Any]] = []

    def __call__(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        if len(self.rows) == self.after:
            raise KeyboardInterrupt


def interrupted(batch: Batch, after: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        batch.run(finished=CtrlC(after))


# -- resuming ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", [1, 5])
def test_interrupted_and_resumed_is_the_same_as_uninterrupted(tmp_path: Path, executed: list[str], after: int) -> None:
    whole = Batch(scenario(), tmp_path / "whole").run()
    assert len(executed) == 6
    executed.clear()
    batch = Batch(scenario(), tmp_path / "broken")
    interrupted(batch, after)
    assert executed == [run.name for run in batch.runs[:after]]
    assert Results(tmp_path / "broken").runs["run"].to_list() == executed
    executed.clear()
    rows: list[dict[str, Any]] = []
    resumed = Batch(scenario(), tmp_path / "broken").run(finished=rows.append)
    assert executed == [run.name for run in batch.runs[after:]]
    assert same(resumed, whole)
    assert [row["run"] for row in rows] == [run.name for run in batch.runs]
    executed.clear()
    Batch(scenario(), tmp_path / "broken").run()
    assert executed == []


def test_fresh_runs_everything_again(tmp_path: Path, executed: list[str]) -> None:
    first = Batch(scenario(), tmp_path).run()
    again = Batch(scenario(), tmp_path).run(done={})
    assert len(executed) == 12
    assert same(again, first)
    executed.clear()
    assert len(Batch(scenario(), tmp_path).run().runs) == 6
    assert executed == []


def test_a_batch_computes_only_the_runs_it_lacks(tmp_path: Path, executed: list[str]) -> None:
    Batch(scenario(replications=2), tmp_path).run()
    executed.clear()
    results = Batch(scenario(replications=3, agents=["best-fit", "first-fit", "worst-fit"]), tmp_path).run()
    assert len(executed) == 2 + 3
    assert len(results.runs) == 9
    executed.clear()
    results = Batch(scenario(replications=1, agents=["worst-fit"]), tmp_path).run()  # fewer again: nothing runs
    assert executed == []
    assert len(results.runs) == 1
    assert len(Batch(scenario(replications=3, agents=["best-fit", "first-fit", "worst-fit"]), tmp_path).done()) == 9


# -- code of the user's own --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("if request.index == 7: raise ValueError('cannot think')", ["Mine", "ValueError('cannot think')"]),
        ("if request.index == 7: view.free[0, 0, 0] = 0", ["read-only"]),
        (
            "if request.index >= 7: return request.on(0, 0)",
            ["does not fit on node 0 of server 0, which has ", " GB mem, at "],
        ),
    ],
)
def test_an_agent_that_errs_fails_alone(tmp_path: Path, line: str, words: list[str]) -> None:
    name = agent(tmp_path, line)
    results = Batch(plain(agents=["first-fit", name, "worst-fit"]), tmp_path / "out").run()
    assert results.runs["status"].to_list() == ["done", "failed", "done"] * 3
    assert set(results.failed["agent"]) == {"mine.py:Mine"}
    for error in results.failed["error"]:
        assert "request 7 (" in error or (">= 7" in line and "request " in error)
        assert "quanta" not in error
        assert "Traceback" not in error
        for word in words:
            assert word in error
    alone = Batch(plain(agents=["first-fit", "worst-fit"]), tmp_path / "alone").run()
    assert numbers(results.done).equals(numbers(alone))
    assert results.failed["acceptance"].null_count() == 3


def test_a_failed_run_is_tried_again_and_a_finished_one_is_not(tmp_path: Path, executed: list[str]) -> None:
    name = agent(tmp_path, "raise ValueError")
    Batch(plain(agents=["first-fit", name]), tmp_path / "out").run()
    executed.clear()
    results = Batch(plain(agents=["first-fit", name]), tmp_path / "out").run()
    assert len(executed) == 3
    assert len(results.failed) == 3
    assert len(results.runs) == 6


def test_saved_scenario_of_files_runs_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    agent(folder, "pass")
    (folder / "trace.csv").write_text("vmid,cpu,mem,at,lt\n" + "".join(f"{n},2,4,{n},9\n" for n in range(30)))
    (folder / "s.yaml").write_text(
        "cluster: {servers: 2, node: {cpu: 8, mem: 16 GB}}\n"
        "workload: {trace: huawei-east-1, path: trace.csv}\n"
        "agents: [first-fit, 'mine.py:Mine']\n"
    )
    monkeypatch.chdir(folder)
    first = Batch(load_scenario("s.yaml"), "out").run()
    assert not len(first.failed), first.failed["error"][0]
    saved = folder.absolute() / "out" / "scenario.yaml"
    runs = first.runs
    monkeypatch.chdir(tmp_path)
    assert numbers(Batch(load_scenario(saved), tmp_path / "again").run()).equals(numbers(runs))
    moved = folder.rename(tmp_path / "moved") / "out"
    assert str(tmp_path) not in (moved / "scenario.yaml").read_text()
    batch = Batch(load_scenario(moved / "scenario.yaml"), moved)
    assert len(batch.done()) == len(runs), "the folder is moved with the files beside it"


# -- details -----------------------------------------------------------------------------------------------------------

REQUESTS = {
    "row": pl.Int64, "id": pl.Int64, "arrival": pl.Float64, "duration": pl.Float64, "cpu": pl.Float64,
    "mem": pl.Float64, "outcome": pl.Enum, "decided": pl.Float64, "wait": pl.Float64, "end": pl.Float64,
    "server": pl.Int32, "node": pl.Int8, "reason": pl.Enum, "origin": pl.Int32, "warm": pl.Boolean,
}  # fmt: skip


def test_requests_agree_with_the_metrics(tmp_path: Path) -> None:
    results = Batch(scenario(record=["requests", "samples"], replications=2), tmp_path).run()
    for metrics in results.runs.to_dicts():
        rows = results.requests(metrics["run"])
        assert {name: kind.base_type() for name, kind in rows.schema.items()} == REQUESTS
        assert rows["outcome"].dtype == pl.Enum(OUTCOMES)
        assert rows["row"].to_list() == list(range(60))
        assert (rows["outcome"] == "placed").sum() == metrics["scheduled"] > 0
        assert (rows["outcome"] == "rejected").sum() == metrics["rejected"] > 0
        placed = rows.filter(pl.col("outcome") == "placed")
        rejected = rows.filter(pl.col("outcome") == "rejected")
        assert (placed["server"] >= 0).all()
        assert placed["reason"].null_count() == len(placed)
        assert (placed["end"] == placed["decided"] + placed["duration"]).all()
        assert (placed["wait"] == placed["decided"] - placed["arrival"]).all()
        assert (rejected["server"] == -1).all()
        assert rejected["wait"].is_nan().all()
        assert rejected["end"].is_nan().all()
        assert rejected["reason"].null_count() == 0
        assert set(rejected["reason"]) <= {
            "fits no single node", "no server has enough cpu", "no server has enough mem",
            "no server has enough of everything at once",
        }  # fmt: skip
        # 6 GB is more than 4 GB: on both nodes.
        assert ((placed["node"] == -1) == (placed["mem"] > 4)).all()
        assert set(rows.select("cpu", "mem").unique().rows()) == {(1.0, 2.0), (2.0, 6.0), (3.0, 1.0)}


# -- determinism -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", first(1, MODES), ids=["drop", "wait", "stop", "expand"])
@pytest.mark.parametrize("name", ON_SERVERS)
def test_runs_with_the_same_seed_give_the_same_bytes(tmp_path: Path, name: str, mode: Any) -> None:
    """For everything registered, with failures and a warm start; another seed gives others."""
    cluster = data()["cluster"] | {"failures": {"mtbf": "10 min", "mttr": "1 min", "on_failure": "requeue"}}
    options = {
        "cluster": cluster,
        "agents": [name],
        "overflow": mode,
        "knowledge": {"lifetimes": {"predicted": {"noise": {"sigma": 1}}}},
        "record": ["requests", "samples"],
        "warm_start": {"until": "25 %", "with": "random"},
    }
    first = Batch(scenario(**options, replications=2), tmp_path / "first").run()
    # Alone, after others and as the first of its seeds: neither matters.
    second = Batch(scenario(**options, replications=1, seed=1), tmp_path / "second").run()
    assert not len(first.failed), first.failed["error"][0]
    assert tree(second.folder / "details").items() < tree(first.folder / "details").items()
    frame, other = (first.requests(run) for run in first.runs["run"])
    assert not frame.equals(other)


# -- comparison --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", first(1, MODES), ids=["drop", "wait", "stop", "expand"])
def test_all_agents_meet_the_same_requests_and_the_same_start(tmp_path: Path, mode: Any) -> None:
    options: dict[str, Any] = {
        "agents": ON_SERVERS, "overflow": mode, "knowledge": {"lifetimes": "known"},
        "record": ["requests", "samples"], "warm_start": {"until": "40 %", "with": "random"}, "replications": 2,
    }  # fmt: skip
    results = Batch(scenario(**options), tmp_path).run()
    assert not len(results.failed)
    differs = False
    for seed in (0, 1):
        names = results.runs.filter(pl.col("seed") == seed)["run"].to_list()
        frames = [results.requests(name) for name in names]
        looks = [results.samples(name) for name in names]
        shortest = min(map(len, frames))
        asked_for = [frame.head(shortest).select("row", "id", "arrival", "duration", "cpu", "mem") for frame in frames]
        warm = [frame.filter("warm") for frame in frames]
        assert 0 < len(warm[0]) < shortest
        for k in range(1, len(frames)):
            assert asked_for[k].equals(asked_for[0])
            assert warm[k].equals(warm[0])
            assert looks[k].head(1).equals(looks[0].head(1))
            differs |= not frames[k].equals(frames[0])
        used = looks[0]["used_cpu"][0] / (4 * 2 * 2)
        assert used >= 0.4
        last = warm[0].filter(pl.col("outcome") == "placed").tail(1)
        assert used - last["cpu"][0] / 16 < 0.4, "it stops as soon as it is reached"
    assert differs


def test_a_start_that_is_never_reached_is_a_failed_run_that_says_so(tmp_path: Path) -> None:
    results = Batch(scenario(warm_start={"until": "100 %", "with": "first-fit"}), tmp_path).run()
    assert len(results.failed) == 6
    for error in results.failed["error"]:
        assert "never reached 100 % of cpu" in error
        assert "60 requests were offered" in error
        assert "Traceback" not in error


# -- what the user must mend -------------------------------------------------------------------------------------------


def nothing_is_written(tmp_path: Path, build: Callable[[], Batch], problem: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError, match=problem):
        build().run()
    assert sorted(tmp_path.rglob("*")) == before


def test_nothing_is_written_when_the_trace_is_missing_or_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINWRIGHT_TRACES", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    out = tmp_path / "out"
    workload = {"trace": "huawei-east-1", "requests": 10}
    nothing_is_written(tmp_path, lambda: Batch(scenario(workload=workload), out), "was not found")
    workload["path"] = str(tmp_path / "no.csv")
    nothing_is_written(tmp_path, lambda: Batch(scenario(workload=workload), out), "there is no such file")
    (tmp_path / "no.csv").write_text("vmid,cpu,mem,at,lt\n1,1,1,0,1\n")
    nothing_is_written(tmp_path, lambda: Batch(scenario(workload=workload), out), "the window leaves the trace")


def test_nothing_is_computed_when_results_cannot_be_written(tmp_path: Path, executed: list[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(
            ResultsError, match=r"cannot be written: .*\n  Make room there, move away what is in the way"
        ) as error:
            Batch(scenario(), out).run()
        assert str(out) in str(error.value)
    assert executed == []
    assert tree(tmp_path) == {"file": b"in the way"}


def test_a_point_of_a_sweep_that_cannot_be_stops_no_other(tmp_path: Path) -> None:
    """Only the first point's workload is read before the runs begin."""
    (tmp_path / "t.csv").write_text("vmid,cpu,mem,at,lt\n" + "".join(f"{n},1,1,{n},5\n" for n in range(9)))
    workload = {"trace": "huawei-east-1", "path": str(tmp_path / "t.csv"), "requests": 5}
    sweep = {"product": {"workload.start": [0, 7, 4]}}
    results = Batch(scenario(workload=workload, sweep=sweep, replications=1), tmp_path / "out").run()
    assert results.runs["status"].to_list() == ["done", "done", "failed", "failed", "done", "done"]
    assert "the window leaves the trace" in results.failed["error"][0]
    assert "Traceback" not in results.failed["error"][0]


# -- folders that are in use -------------------------------------------------------------------------------------------


def test_two_commands_do_not_write_into_one_folder(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    results = Batch(scenario(replications=1), tmp_path).run()
    before = tree(tmp_path)
    with (tmp_path / "journal.jsonl").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ResultsError, match="another run is writing here"):
            Batch(scenario(replications=2), tmp_path).run()
    assert tree(tmp_path) == before
    assert len(Batch(scenario(replications=2), tmp_path).run().runs) == 2 * len(results.runs)


def test_a_scenario_of_the_users_own_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "scenario.yaml").write_text("# mine\n", "utf-8")
    with pytest.raises(ResultsError, match="it would be overwritten"):
        Batch(scenario(), tmp_path).run()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"scenario.yaml": "# mine\n"}


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


@pytest.mark.parametrize("damage", ["emptied", "cut short", "one bit", "gone"])
def test_a_run_whose_details_are_damaged_is_done_again(tmp_path: Path, damage: str) -> None:
    requested = scenario(record=["requests", "samples"])
    Batch(requested, tmp_path).run()
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
    batch = Batch(requested, tmp_path)
    assert len(batch.done()) == 5
    batch.run()
    assert tree(tmp_path / "details") == before
