"""Offline placement: inputs, heuristics beside slow references, bounds beside exhaustive search, files and command."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from binwright.agents.solver.model.bounds import packing_bound
from binwright.agents.solver.packing import HEURISTICS, pack
from binwright.cli import main
from binwright.fabric.run.play import play
from binwright.scenarios.build.world import build_world
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.errors import UserError
from binwright.simcore.types import Ints
from binwright.workloads.offline import FITTED, NAMES, machines, read_instance
from tests.support.packings import balls, needed
from tests.support.properties import scaled
from tests.support.runs import Plain


def first_fit(demand: Ints, capacity: Ints) -> list[int]:
    """`ffd-prod` as one would write it down."""
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
    """`dot-product` and `norm-greedy` as one would write them down."""
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
def test_heuristics_are_what_they_say(inputs: tuple[Ints, Ints]) -> None:
    demand, capacity = inputs
    topology = {name: pack_by(demand, capacity).tolist() for name, pack_by in HEURISTICS.items()}
    assert topology == {
        "ffd-prod": first_fit(demand, capacity),
        "dot-product": fill(demand, capacity, norm=False),
        "norm-greedy": fill(demand, capacity, norm=True),
    }


@scaled(1)
@given(balls(most=7))
def test_no_bound_is_above_what_is_needed_nor_below_the_plain_one(inputs: tuple[Ints, Ints]) -> None:
    demand, capacity = inputs
    bound = packing_bound(demand, capacity)
    assert bound <= needed(demand, capacity)
    assert bound >= plain(demand, capacity)


def plain(demand: Ints, capacity: Ints) -> int:
    """Totals over capacities, and the balls above half of a bin."""
    filled = [-(-int(total) // int(room)) for total, room in zip(demand.sum(axis=0), capacity, strict=True) if room]
    return max(1, *filled, int((2 * demand > capacity).sum(axis=0).max()))


@pytest.mark.parametrize(("name", "best"), [("pgrank", 88), ("binpack1", 49), ("binpack2", 100)])
def test_bounds_reach_the_optimum_on_inputs_of_the_literature(name: str, best: int) -> None:
    inputs = machines(name)
    assert packing_bound(inputs.demand, inputs.capacity) == best


@pytest.mark.parametrize("bins", [20, 40])
def test_the_bound_of_triplets_that_fill_every_bin_is_their_number(bins: int) -> None:
    rng = np.random.default_rng(1)
    first = rng.integers(380, 490, bins, endpoint=True)
    second = rng.integers(250, (1000 - first) // 2, endpoint=True)
    balls = np.concatenate([first, second, 1000 - first - second])
    assert packing_bound(balls[:, None], np.array([1000])) == bins


@pytest.mark.parametrize("name", NAMES)
def test_inputs_are_determined_by_their_seed_and_every_machine_fits_a_server(name: str) -> None:
    each, same, other = machines(name, 3), machines(name, 3), machines(name, 4)
    assert (each.demand == same.demand).all()
    assert (each.demand != other.demand).any()
    assert each.demand.dtype == each.capacity.dtype == np.int64
    assert each.demand.shape[1:] == each.capacity.shape == (len(each.resources),)
    assert ((each.demand >= 0) & (each.demand <= each.capacity)).all()
    assert each.demand.any(axis=1).all()


@pytest.mark.parametrize(
    ("name", "count", "bound", "used"),
    [
        ("pgrank", 474, 88, (90, 100, 97)),
        ("clkbot", 885, 420, (420, 420, 420)),
        ("imgproc", 2942, 1403, (1406, 1404, 1406)),
    ],
)
def test_fitted_inputs_match_published_averages_bounds_and_counts(
    name: str, count: int, bound: int, used: tuple[int, ...]
) -> None:
    inputs = machines(name)
    assert len(inputs.demand) == count
    mean = inputs.demand.mean(axis=0) / 1e6 * [1, 16, 50, 128, 128]
    np.testing.assert_allclose(mean, FITTED[name]["mean"], rtol=0.01)
    assert packing_bound(inputs.demand, inputs.capacity) == bound
    actual = tuple(int(rule(inputs.demand, inputs.capacity).max()) + 1 for rule in HEURISTICS.values())
    assert actual == used


@pytest.mark.parametrize(
    ("demand", "capacity", "problem"),
    [
        ([[3]], [2], "ball 0 fits no bin"),
        ([[1], [-1]], [2], "ball 1 fits no bin"),
        ([[1, 1]], [2], "there is nothing to pack"),
    ],
)
def test_demands_that_cannot_be_packed_are_refused(demand: object, capacity: list[int], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        pack(np.array(demand), np.array(capacity))
    with pytest.raises(UserError, match="unknown way to pack"):
        pack(np.array([[1]]), np.array([2]), "first-fit")


TABLE = "name,cpu,mem\na,4,8\nb,2,4 GB\nc,4,1\nd,6,8\n"


def test_pack_writes_the_placement_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, target = tmp_path / "machines.csv", tmp_path / "out.csv"
    file.write_text(TABLE)
    command = ["pack", str(file), "--server", "cpu=8,mem=16 GB", "--time", "1s"]
    assert main([*command, "--out", str(target)]) == 0
    shown = capsys.readouterr().out
    assert "4 machines, 2 resources, at least 2 servers" in shown
    rows = [line.split() for line in shown.splitlines()]
    assert [row[0] for row in rows if row[1:3] == ["2", "0"]] == [*HEURISTICS, "published", "solver"]
    lines = [line.split(",") for line in target.read_text().splitlines()]
    assert lines[0] == ["machine", "name", *HEURISTICS, "published", "solver"]
    assert [line.pop(1) for line in lines[1:]] == ["a", "b", "c", "d"]
    demand, capacity = np.array([[4, 8], [2, 4], [4, 1], [6, 8]]), [8, 16]
    for column in np.array(lines[1:], int).T[1:]:
        for target_bin in range(2):
            assert (demand[column == target_bin].sum(axis=0) <= capacity).all()
    assert main([*command, "--json", "--with", "solver"]) == 0
    reported = json.loads(capsys.readouterr().out)
    assert reported["machines"] == 4
    row = reported["rows"][0]
    assert (row["method"], row["bins"], row["gap"]) == ("solver", 2, 0)


@pytest.mark.parametrize("method", ["ffd-prod", "published", "solver"])
def test_a_packing_tells_when_it_was_there(method: str) -> None:
    inputs = machines("binpack1", 3)
    packed = pack(inputs.demand, inputs.capacity, method, seconds=1)
    assert 0 < packed.best_after <= packed.seconds < 3  # within 1 s, on an idle machine


FILES = {
    "NOTHING": "",
    "ONE": "2\n10\n3\n4\n",
    "LONG": "2\n10 3\n4\n7\n",
    "WORD": "2\n1e-9\n",
    "DIGITS": "9" * 5000,
}


def test_files_of_the_literature_are_read(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / f"{name}.txt").write_text(text)
    each = read_instance(tmp_path / "ONE.txt")
    assert (each.demand.tolist(), each.capacity.tolist()) == ([[3_000_000], [4_000_000]], [10_000_000])
    assert main(["pack", str(tmp_path / "ONE.txt"), "--with", "solver"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pgrunk"], "INPUT: unknown offline input (got 'pgrunk')\n  Did you mean 'pgrank'?"),
        (["FILE"], "FILE: --server: the servers are not known"),
        (
            ["FILE", "--server", "disk=1"],
            "FILE:1: missing column disk\n  The file has name, cpu, mem; it needs disk.",
        ),
        (
            ["FILE", "--server", "cpu=5"],
            "FILE:5: cpu: this machine asks for more than a server has: 5 (got '6')\n  Give",
        ),
        (["ONE.txt", "--server", "size=9"], "ONE.txt: --server: goes with a CSV file"),
        (["LONG.txt"], "LONG.txt: has 3 balls, and its first number says 2\n  Formats"),
        (["WORD.txt"], "WORD.txt:2: is no whole number up to 1,000,000 (got '1e-9')"),
        (["DIGITS.txt"], "DIGITS.txt:1: is no whole number up to 1,000,000 (got '999"),
        (["NOTHING.txt"], "NOTHING.txt: has no balls"),
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
    names = {"FILE": "machines.csv"}
    Path("machines.csv").write_text(TABLE)
    for name, text in FILES.items():
        Path(f"{name}.txt").write_text(text)
    assert main(["pack", *(names.get(argument, argument) for argument in arguments)]) == 2
    output = capsys.readouterr().err
    for word, name in names.items():
        message = message.replace(word, name)
    assert output.startswith(f"binwright: {message}")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["machines.csv", *(f"{name}.txt" for name in FILES)]
    )


SCENARIO = """\
cluster: {servers: 1, node: {cpu: 1, mem: 1, disk: 1, net_out: 1, net_in: 1, gpu: 2}}
workload: {offline: pgrank}
overflow: {expand: {by: 1, limit: 200}}
agents: [first-fit]
"""


@pytest.mark.long
def test_a_scenario_meets_an_offline_input_one_machine_after_another(tmp_path: Path) -> None:
    file = tmp_path / "offline.yaml"
    file.write_text(SCENARIO)
    scenario = load_scenario(file)
    workload = build_world(scenario).draw(2)
    inputs = machines("pgrank", 2)
    assert (workload.demand[:, [workload.resources.index(name) for name in inputs.resources]] == inputs.demand).all()
    assert not workload.demand[:, workload.resources.index("gpu")].any()
    assert (workload.arrival == 0).all()
    assert np.isinf(workload.duration).all()
    ledger = build_world(scenario).ledger(0)
    simulation = build_world(scenario).simulation(2, ledger)
    play(simulation, Plain(0))  # no kernel is compiled for so many resources
    free: list[Ints] = []
    for row in inputs.demand:
        target = next((place for place, room in enumerate(free) if (row <= room).all()), len(free))
        if target == len(free):
            free.append(inputs.capacity)
        free[target] = free[target] - row
    assert len(ledger.view.capacity) == len(free)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("workload.offline=pgrunk", "Did you mean 'pgrank'"),
        ("workload.machines=10", "workload.machines"),
    ],
)
def test_a_scenario_with_a_wrong_offline_input(tmp_path: Path, change: str, problem: str) -> None:
    file = tmp_path / "offline.yaml"
    file.write_text(SCENARIO)
    with pytest.raises(UserError) as caught:
        load_scenario(file, [change])
    assert problem in str(caught.value)
