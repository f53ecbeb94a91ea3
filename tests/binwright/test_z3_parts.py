"""Z3 on parts of a packing, for Table 4 of Wrasse."""

import numpy as np
import pytest

from binwright.agents.solver.packing.pack import keeps, pack
from binwright.reproduction.publications import z3_parts
from binwright.reproduction.publications.wrasse import packed_by_z3
from binwright.reproduction.publications.z3_parts import pack_parts, place
from binwright.simcore import extras
from binwright.simcore.errors import BinwrightError
from binwright.simcore.types import Ints
from binwright.workloads.offline import machines
from tests.support.packings import needed


@pytest.mark.parametrize("seed", range(3))
def test_z3_finds_what_is_needed(seed: int) -> None:
    pytest.importorskip("z3")
    given = machines("ct1", seed, 8)
    where = place(given.demand, given.capacity, 8, 1, 20)
    assert where is not None
    used, where = np.unique(where, return_inverse=True)
    assert keeps(given.demand, given.capacity, where)
    assert len(used) == needed(given.demand, given.capacity)
    assert place(given.demand, given.capacity, len(used) - 1, 1, 20) is None


def test_z3_packs_every_part_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("z3")
    monkeypatch.setattr(z3_parts, "PART", 9)
    given = machines("ct1", 4, 20)
    where = pack_parts(given.demand, given.capacity, 20)
    assert where is not None
    bins = int(where.max()) + 1
    assert keeps(given.demand, given.capacity, where)
    of_part = [set(part.tolist()) for part in np.array_split(where, 3)]
    assert sum(map(len, of_part)) == bins
    for part, taken in zip(np.array_split(given.demand, 3), of_part, strict=True):
        assert len(taken) == pack(part, given.capacity, "solver", seconds=2).bins


def test_parts_may_need_more_bins_together_than_ffd_prod(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("z3")
    monkeypatch.setattr(z3_parts, "PART", 2)
    demand, capacity = np.array([[6], [6], [4], [4]]), np.array([10])
    where = pack_parts(demand, capacity, 20)
    assert where is not None
    assert set(where.tolist()) == {0, 1, 2}
    assert pack(demand, capacity, "ffd-prod").bins == 2


def test_a_placement_of_z3_that_breaks_the_rules_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(demand: Ints, *given: object) -> Ints:
        return np.zeros(len(demand), np.int64)

    monkeypatch.setattr(z3_parts, "place", wrong)
    with pytest.raises(BinwrightError, match="Z3 answered a placement that breaks the rules"):
        pack_parts(np.array([[2], [2]]), np.array([3]), 1)


def test_table_4_says_why_z3_has_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert str(packed_by_z3(machines("clkbot"), "clkbot", "quick")).startswith("Z3 is left out with --quick")
    monkeypatch.setattr("binwright.reproduction.publications.wrasse.Z3_SECONDS", {"smallest": {"pgrank": 0.0}})
    assert str(packed_by_z3(machines("pgrank"), "pgrank", "smallest")) == "Z3 found no placement in its 0 s."
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    said = str(packed_by_z3(machines("pgrank"), "pgrank", "smallest"))
    assert said.startswith("It cannot be run here: z3 partitioned needs z3, which is not installed.")
    assert "pip install '.[rivals]'" in said
