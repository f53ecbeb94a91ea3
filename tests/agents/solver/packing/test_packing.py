"""Offline placement: inputs, heuristics beside slow references, bounds beside exhaustive search, files and command."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents import AGENTS
from agents.solver.model.packing_bound import lower_bound
from agents.solver.packing import heuristics
from agents.solver.packing.pack import HEURISTICS, pack
from binwright.cli import main
from scenarios.build.world import build_world
from scenarios.schema.load import load_scenario
from simcore.engine import play
from simcore.errors import UserError, WorkloadError
from simcore.vocabulary import Ints
from tests.support.properties import scaled
from workloads.offline import CLASSES, FITTED, NAMES, machines

SHAPES = st.tuples(st.integers(1, 12), st.integers(1, 3))


@st.composite
def balls(draw: st.DrawFn, most: int = 12) -> tuple[Ints, Ints]:
    """Small numbers, so that ties abound; every ball fits an empty bin, some need nothing."""
    count, dims = draw(st.integers(1, most)), draw(st.integers(1, 3))
    capacity = np.array(draw(st.lists(st.integers(0, 8), min_size=dims, max_size=dims)))
    rows = [[draw(st.integers(0, int(room))) for room in capacity] for _ in range(count)]
    return np.array(rows, np.int64), capacity


def first_fit(demand: Ints, capacity: Ints) -> list[int]:
    """`ffd_prod` as one would write it down."""
    share = [[x / max(of, 1) for x, of in zip(row, capacity, strict=True)] for row in demand.tolist()]
    order = sorted(range(len(demand)), key=lambda ball: -float(np.prod(share[ball])))
    free: list[Ints] = []
    where = [0] * len(demand)
    for ball in order:
        for target in range(len(free) + 1):
            if target == len(free):
                free.append(capacity.copy())
            if (demand[ball] <= free[target]).all():
                free[target] -= demand[ball]
                where[ball] = target
                break
    return where


def fill(demand: Ints, capacity: Ints, norm: bool) -> list[int]:
    """`dot_product` and `norm_greedy` as one would write them down."""
    of = [max(float(room), 1.0) for room in capacity]
    weight = (demand / np.array(of)).mean(axis=0).tolist()
    left, where, target = list(range(len(demand))), [0] * len(demand), 0
    while left:
        free = capacity.tolist()
        while fitting := [ball for ball in left if all(d <= f for d, f in zip(demand[ball], free, strict=True))]:

            def score(ball: int, free: list[int] = free) -> float:
                total = 0.0
                for w, amount, room, scale in zip(weight, demand[ball].tolist(), free, of, strict=True):
                    x, r = amount / scale, room / scale
                    total += -(w * (x - r) * (x - r)) if norm else w * x * r
                return total

            best = max(fitting, key=score)
            free = [f - d for f, d in zip(free, demand[best].tolist(), strict=True)]
            where[best] = target
            left.remove(best)
        target += 1
    return where


@scaled(1.5)
@given(balls())
def test_heuristics_are_what_they_say(given: tuple[Ints, Ints]) -> None:
    demand, capacity = given
    assert heuristics.ffd_prod(demand, capacity).tolist() == first_fit(demand, capacity)
    assert heuristics.dot_product(demand, capacity).tolist() == fill(demand, capacity, norm=False)
    assert heuristics.norm_greedy(demand, capacity).tolist() == fill(demand, capacity, norm=True)


def needed(demand: Ints, capacity: Ints) -> int:
    """The fewest bins, by trying everything."""
    best = len(demand)

    def place(ball: int, free: list[Ints]) -> None:
        nonlocal best
        if len(free) >= best:
            return
        if ball == len(demand):
            best = len(free)
            return
        for target in range(len(free)):
            if (demand[ball] <= free[target]).all():
                place(ball + 1, [*free[:target], free[target] - demand[ball], *free[target + 1 :]])
        place(ball + 1, [*free, capacity - demand[ball]])

    place(0, [])
    return best


@scaled(1)
@given(balls(most=7))
def test_no_bound_is_above_what_is_needed_nor_below_the_plain_one(given: tuple[Ints, Ints]) -> None:
    demand, capacity = given
    bound = lower_bound(demand, capacity)
    assert bound <= needed(demand, capacity)
    assert bound >= plain(demand, capacity)


def plain(demand: Ints, capacity: Ints) -> int:
    """Totals over capacities, and the balls above half of a bin."""
    filled = [-(-int(total) // int(room)) for total, room in zip(demand.sum(axis=0), capacity, strict=True) if room]
    return max(1, *filled, int((2 * demand > capacity).sum(axis=0).max()))


def test_a_bound_by_thresholds_sees_what_totals_and_halves_do_not() -> None:
    demand, capacity = np.array([[7], [7], [4], [4], [4]]), np.array([10])
    assert plain(demand, capacity) == 3
    assert lower_bound(demand, capacity) == needed(demand, capacity) == 4


def test_a_bound_by_count_sees_what_no_single_resource_does() -> None:
    demand, capacity = np.array([[4, 1], [1, 4], [2, 3], [3, 2]] * 2), np.array([7, 7])
    assert lower_bound(demand, capacity) == needed(demand, capacity) == 4


@pytest.mark.parametrize("name", NAMES)
def test_inputs_are_determined_by_their_seed_and_every_machine_fits_a_server(name: str) -> None:
    one, same, other = machines(name, 3), machines(name, 3), machines(name, 4)
    assert (one.demand == same.demand).all()
    assert (one.demand != other.demand).any()
    assert one.demand.dtype == one.capacity.dtype == np.int64
    assert one.demand.shape[1:] == one.capacity.shape == (len(one.resources),)
    assert ((one.demand >= 0) & (one.demand <= one.capacity)).all()
    assert one.demand.any(axis=1).all()


@pytest.mark.parametrize(
    ("name", "count", "bound", "used"),
    [
        ("pgrank", 474, 88, (90, 100, 97)),
        ("clkbot", 885, 420, (420, 420, 420)),
        ("imgproc", 2942, 1403, (1406, 1404, 1406)),
    ],
)
def test_the_fitted_inputs_have_the_published_averages_and_come_near_the_published_counts(
    name: str, count: int, bound: int, used: tuple[int, ...]
) -> None:
    given = machines(name)
    assert len(given.demand) == count
    mean = given.demand.mean(axis=0) / 1e6 * [1, 16, 50, 128, 128]
    np.testing.assert_allclose(mean, FITTED[name].mean, rtol=0.01)
    assert lower_bound(given.demand, given.capacity) == bound
    found = tuple(int(rule(given.demand, given.capacity).max()) + 1 for rule in HEURISTICS.values())
    assert found == used


def test_classes_are_as_wide_as_they_say_and_planted_servers_are_full() -> None:
    for name in CLASSES:
        assert len(machines(name, count=60).demand) == 60
    alike, opposed = machines("ct7").demand // 10**6, machines("ct8").demand // 10**6
    assert (np.abs(alike[:, 0] - alike[:, 1]) <= 10).all()
    assert (np.abs(opposed.sum(axis=1) - 120) <= 10).all()
    planted = machines("planted", count=23)
    assert (planted.demand.sum(axis=0) == 5 * planted.capacity).all()
    assert (planted.demand > 0).all()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("pgrunk",), "Did you mean 'pgrank'"),
        (("pgrank", -1), "is not a seed"),
        (("pgrank", 1, 10), "pgrank has 474 machines"),
        (("ct1", 1, 0), "is not a count of machines"),
    ],
)
def test_inputs_that_are_none(arguments: tuple[str, int, int], problem: str) -> None:
    with pytest.raises(WorkloadError) as caught:
        machines(*arguments)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("demand", "capacity", "problem"),
    [
        ([[3]], [2], "ball 0: a ball fits no bin"),
        ([[1], [-1]], [2], "ball 1: a demand is below zero"),
        ([[10**13]], [10**14], "ball 0: a demand is above 1000000"),
        ([[1, 1]], [2], "there is nothing to pack"),
        (np.empty((0, 1), np.int64), [2], "there is nothing to pack"),
    ],
)
def test_what_cannot_be_packed(demand: object, capacity: list[int], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        pack(np.array(demand), np.array(capacity))


TABLE = "name,cpu,mem\na,4,8\nb,2,4 GB\nc,4,1\nd,6,8\n"


def test_the_command_packs_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, target = tmp_path / "machines.csv", tmp_path / "out.csv"
    file.write_text(TABLE)
    command = ["pack", str(file), "--server", "cpu=8,mem=16 GB", "--time", "1s"]
    assert main([*command, "--out", str(target)]) == 0
    shown = capsys.readouterr().out
    assert "4 machines, 2 resources, at least 2 servers" in shown
    assert [line.split()[0] for line in shown.splitlines() if " yes" in line] == [*HEURISTICS, "published", "solver"]
    lines = [line.split(",") for line in target.read_text().splitlines()]
    assert lines[0] == ["machine", *HEURISTICS, "published", "solver"]
    demand, capacity = np.array([[4, 8], [2, 4], [4, 1], [6, 8]]), [8, 16]
    for column in np.array(lines[1:], int).T[1:]:
        for target_bin in range(2):
            assert (demand[column == target_bin].sum(axis=0) <= capacity).all()
    assert main([*command, "--json", "--with", "solver", "--seeds", "2", "--out", str(tmp_path / "o.json")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["machines"] == 4
    row = told["rows"][0]
    assert (row["method"], row["bins"], row["worst"], row["gap"], row["seeds"], row["optimal"]) == (
        "solver",
        2,
        2,
        0,
        2,
        2,
    )
    assert len(json.loads((tmp_path / "o.json").read_text())["solver"]) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pgrunk"], "INPUT: unknown offline input (got 'pgrunk')\n  Give a CSV file, or one of pgrank, clkbot"),
        (["pgrank", "--server", "cpu=1"], "--server: pgrank has its own servers"),
        (
            ["pgrank", "--with", "solver,ffd-pro"],
            "with: unknown way to pack (got 'ffd-pro')\n  Did you mean 'ffd-prod'?",
        ),
        (["pgrank", "--seeds", "0"], "seeds: is not a count of seeds"),
        (["pgrank", "--time", "soon"], "--time: is not a valid time (got 'soon')"),
        (["pgrank", "--out", "x.txt"], "x.txt: is neither CSV nor JSON"),
        (["pgrank", "--out", "nowhere/x.csv"], "nowhere/x.csv: has no folder"),
        (["FILE"], "FILE: --server: the servers are not known"),
        (["FILE", "--server", "cpu"], "server: is not a capacity (got 'cpu')"),
        (["FILE", "--server", "cpu=1,cpu=2"], "server: is not a capacity (got 'cpu=2')"),
        (["FILE", "--server", "cpu=-1"], "server: must not be negative (got '-1')"),
        (["FILE", "--server", "disk=1"], "FILE:1: server: has no column disk\n  Its columns: name, cpu, mem."),
        (["FILE", "--server", "name=1"], "FILE:2: name: is not a valid amount (got 'a')"),
        (["FILE", "--server", "cpu=5"], "ball 3: a ball fits no bin (got [6.0])\n  One bin has [5.0]."),
        (["missing.csv", "--server", "cpu=5"], "missing.csv: cannot be read"),
        (["EMPTY", "--server", "cpu=5"], "EMPTY: has no machines"),
    ],
)
def test_a_users_mistakes(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"FILE": "machines.csv", "EMPTY": "empty.csv"}
    Path("machines.csv").write_text(TABLE)
    Path("empty.csv").write_text("cpu\n")
    assert main(["pack", *(names.get(argument, argument) for argument in arguments)]) == 2
    said = capsys.readouterr().err
    for word, name in names.items():
        message = message.replace(word, name)
    assert said.startswith(f"binwright: {message}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.csv", "machines.csv"]


def test_the_product_of_everything_small_is_packed_by_every_heuristic() -> None:
    """Exhaustively: three balls of up to 3 in bins of 3; no heuristic needs more than twice the optimum here."""
    for row in product(range(4), repeat=3):
        demand, capacity = np.array(row, np.int64)[:, None], np.array([3])
        for name in HEURISTICS:
            packed = pack(demand, capacity, name)
            assert needed(demand, capacity) <= (packed.bins or 0) <= 2 * needed(demand, capacity)


SCENARIO = """\
cluster: {servers: 1, node: {cpu: 1, mem: 1, disk: 1, net_out: 1, net_in: 1, gpu: 2}}
workload: {offline: pgrank}
overflow: {expand: {by: 1, limit: 200}}
agents: [first-fit]
"""


def test_a_scenario_meets_an_offline_input_one_machine_after_another(tmp_path: Path) -> None:
    file = tmp_path / "offline.yaml"
    file.write_text(SCENARIO)
    scenario = load_scenario(file)
    workload = build_world(scenario).draw(2)
    given = machines("pgrank", 2)
    assert (workload.demand[:, [workload.resources.index(name) for name in given.resources]] == given.demand).all()
    assert not workload.demand[:, workload.resources.index("gpu")].any()
    assert (workload.arrival == 0).all()
    assert np.isinf(workload.duration).all()
    ledger = build_world(scenario).ledger()
    simulation = build_world(scenario).simulation(2, ledger)
    play(simulation, AGENTS.load("first-fit")())
    free: list[Ints] = []
    for row in given.demand:
        target = next((place for place, room in enumerate(free) if (row <= room).all()), len(free))
        if target == len(free):
            free.append(given.capacity)
        free[target] = free[target] - row
    assert len(ledger.view.capacity) == len(free)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("workload.offline=pgrunk", "Did you mean 'pgrank'"),
        ("workload.machines=10", "workload.machines"),
        ("workload={offline: ct1, requests: 20000}", "workload.requests: is too many"),
    ],
)
def test_a_scenario_with_a_wrong_offline_input(tmp_path: Path, change: str, problem: str) -> None:
    file = tmp_path / "offline.yaml"
    file.write_text(SCENARIO)
    with pytest.raises(UserError) as caught:
        load_scenario(file, [change])
    assert problem in str(caught.value)


def test_servers_that_lack_a_resource_of_an_offline_input(tmp_path: Path) -> None:
    file = tmp_path / "offline.yaml"
    file.write_text(SCENARIO.replace("disk: 1, ", ""))
    with pytest.raises(UserError, match="pgrank asks for disk"):
        build_world(load_scenario(file)).draw(1)
