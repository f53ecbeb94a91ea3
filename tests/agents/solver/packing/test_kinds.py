"""The cheapest servers of several kinds: beside exhaustive search, and by the command."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.solver.model.fleet import ENDLESS, Fleet
from binwright.agents.solver.packing.bin_selection import fit, least_cost
from binwright.agents.solver.packing.pack import METHODS, OF_KINDS, keeps, pack
from binwright.agents.solver.packing.runs import Runs
from binwright.cli import main
from binwright.simcore.errors import UserError
from binwright.simcore.types import Ints
from tests.support.packings import cheapest, fleets
from tests.support.properties import scaled


@scaled(0.5)
@given(fleets())
def test_bounds_are_below_the_cheapest_and_heuristics_not(given: tuple[Ints, Fleet]) -> None:
    demand, fleet = given
    best = cheapest(demand, fleet)
    most = int(fleet.price @ np.minimum(fleet.count, len(demand))) + 1
    assert least_cost(demand, fleet) <= (most if best is None else best[0])
    for rule in (False, True):
        found = fit(demand, fleet, rule)
        if found is not None:
            assert keeps(demand, fleet, found)
            assert best is not None
            assert (fleet.cost(found.which), len(found.which)) >= best


@pytest.mark.long
@scaled(0.6)
@given(fleets())
def test_the_solver_finds_the_cheapest(given: tuple[Ints, Fleet]) -> None:
    demand, fleet = given
    best = cheapest(demand, fleet)
    packed = pack(demand, fleet, "solver", seconds=0.5)
    if best is None:
        assert packed.where is None
        return
    assert packed.cost == best[0]
    assert packed.bound <= best[0]
    assert packed.which is not None
    assert int(fleet.price[packed.which].sum()) == packed.cost
    assert (np.bincount(packed.which, minlength=len(fleet.count)) <= fleet.count).all()
    assert packed.where is not None
    used = np.zeros_like(fleet.capacity[packed.which])
    np.add.at(used, packed.where, demand)
    assert (used <= fleet.capacity[packed.which]).all()


@pytest.mark.long
@scaled(1)
@given(fleets(), st.integers(0, 9))
def test_a_run_keeps_the_rules_and_gets_no_dearer(given: tuple[Ints, Fleet], number: int) -> None:
    demand, fleet = given
    begin = fit(demand, fleet, best=False)
    if begin is None:
        return
    run = Runs(demand, fleet, begin, 1, 0).attempt(number, lambda: False)
    again = Runs(demand, fleet, begin, 1, 0).attempt(number, lambda: False)
    assert keeps(demand, fleet, run.bought)
    assert fleet.cost(run.bought.which) == run.left <= fleet.cost(begin.which)
    assert run.bought.where.tolist() == again.bought.where.tolist()
    best = cheapest(demand, fleet)
    assert best is not None
    assert run.left >= best[0]


def test_kinds_that_are_the_same_are_one_and_told_apart_in_the_answer() -> None:
    demand = np.full((5, 1), 4)
    fleet = Fleet(np.array([[5], [9], [5], [9]]), np.array([1, 1, 3, 1]), np.array([2, 3, 2, 3]))
    merged, kind_of = fleet.merged()
    assert (merged.capacity.tolist(), merged.count.tolist(), kind_of.tolist()) == ([[5], [9]], [4, 2], [0, 1, 0, 1])
    for method in ("ffd-prod", "solver"):
        packed = pack(demand, fleet, method, seconds=5)
        assert packed.which is not None
        assert (packed.cost, packed.bound, sorted(packed.which.tolist())) == (8, 8, [0, 1, 3])


def test_equal_bins_have_a_price_too() -> None:
    demand = np.array([[4], [4], [3]])
    packed = pack(demand, Fleet(np.array([[8]]), np.array([ENDLESS]), np.array([7])), "solver", seconds=5)
    assert (packed.cost, packed.bound, packed.bins) == (14, 14, 2)
    with pytest.raises(UserError, match="kind 1 has a price below zero"):
        pack(demand, Fleet(np.array([[8], [9]]), np.array([1, 1]), np.array([7, -1])))


@pytest.mark.long
def test_what_cannot_be_is_proven() -> None:
    demand = np.array([[4], [4], [3]])
    packed = pack(demand, Fleet(np.array([[4], [5]]), np.array([2, 1]), np.array([1, 1])), "solver", seconds=5)
    assert (packed.cost, packed.bound) == (3, 3)
    packed = pack(np.full((3, 1), 3), Fleet(np.array([[5], [4]]), np.ones(2, np.int64), np.array([5, 1])), "solver")
    assert (packed.where, packed.bound) == (None, 7)


MACHINES = "name,cpu,mem\nweb-1,4,8\nweb-2,4,8\ndb,6,48 GB\ncache,2,24\njob-1,8,4\njob-2,8,4\n"
KINDS = "name,cpu,mem,count,price\nsmall,8,16,any,1.00\nlarge,18,64,,1.50\n"
RACKS = "name,cpu,mem\nold,8,32\nnew-1,16,64\nnew-2,16,64\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the files of a small site, and go there."""
    for name, text in (("machines", MACHINES), ("kinds", KINDS), ("racks", RACKS)):
        (tmp_path / f"{name}.csv").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_chooses_kinds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["pack", "machines.csv", "--servers", "kinds.csv", "--with", "ffd-prod,solver"]
    assert main([*command, "--out", "o.csv", "--figure", "f.svg"]) == 0
    shown = capsys.readouterr().out
    assert "6 machines, 2 resources, at least a price of 3" in shown
    assert "solver: 2 x large" in shown
    assert next(line.split() for line in shown.splitlines() if line.startswith(" solver"))[1:4] == ["2", "3", "0"]
    rows = list(csv.DictReader(Path("o.csv").read_text().splitlines()))
    assert {row["solver"] for row in rows} == {"large 1", "large 2"}
    assert main([*command, "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["rows"][1]
    assert (row["cost"], row["bound"], row["bins"], row["kinds"], row["optimal"]) == (3.0, 3.0, 2, {"large": 2}, 1)


def test_the_command_takes_servers_one_by_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["pack", "machines.csv", "--servers", "racks.csv", "--with", "solver", "--time", "1s"]
    assert main([*command, "--out", "o.csv"]) == 0
    assert "solver: old, new-1, new-2" in capsys.readouterr().out
    needs = {"web-1": (4, 8), "web-2": (4, 8), "db": (6, 48), "cache": (2, 24), "job-1": (8, 4), "job-2": (8, 4)}
    used = {"old": np.zeros(2), "new-1": np.zeros(2), "new-2": np.zeros(2)}
    for row in csv.DictReader(Path("o.csv").read_text().splitlines()):
        used[row["solver"]] += needs[row["name"]]
    assert (used["old"] <= (8, 32)).all()
    assert (used["new-1"] <= (16, 64)).all()
    assert (used["new-2"] <= (16, 64)).all()


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(OF_KINDS)))
def test_ways_that_pack_equal_servers_only_say_so(method: str) -> None:
    fleet = Fleet(np.array([[8], [9]]), np.array([1, 1]), np.array([7, 8]))
    with pytest.raises(UserError, match=f"{method} packs equal servers only"):
        pack(np.array([[4]]), fleet, method)


def test_a_price_above_the_bound_is_not_called_optimal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("machines.csv").write_text("cpu,mem\n4,8\n2,4\n4,1\n6,8\n")
    kinds = "small,8,16,any,1.00\nlean,16,16,2,1.60\nlarge,18,64,any,2.50\n"
    Path("servers.csv").write_text(f"name,cpu,mem,count,price\n{kinds}")
    command = ["pack", "machines.csv", "--servers", "servers.csv", "--with", "ffd-prod,solver", "--json"]
    assert main([*command, "--time", "1s"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(one["cost"], one["bound"], one["optimal"]) for one in rows] == [(2, 1.7, 0)] * 2
    assert [one["gap"] for one in rows] == pytest.approx([0.3, 0.3])
