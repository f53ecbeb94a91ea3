"""Changes of a workload: how many come, which, and when; the same for the same seed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.scenarios.build.world import build_world
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import ScenarioError, UserError
from binwright.simcore.roles import Roles
from binwright.simcore.types import Workload
from binwright.workloads.changes import Change, changed
from tests.support.properties import scaled
from tests.support.scenarios import random_requests

BASE = {
    "cluster": {"servers": 4, "node": {"cpu": 16, "mem": "64 GB"}},
    "workload": random_requests(
        400,
        "1 min",
        [{"cpu": 1, "mem": "2 GB", "group": "web", "weight": 3}, {"cpu": 4, "mem": "8 GB", "group": "db"}],
        {"fixed": "1 h"},
    ),
    "agents": ["first-fit"],
}


def drawn(*changes: dict[str, Any], seed: int = 0) -> Workload:
    workload = BASE["workload"] | {"changes": list(changes)}  # type: ignore[operator]
    scenario = scenario_from({**BASE, "workload": workload})
    assert scenario_from(scenario.dump()) == scenario
    return build_world(scenario).draw(seed)


def group(asked: Workload, name: str) -> int:
    assert asked.roles is not None
    return sum(asked.roles.all[role].group == name for role in asked.roles.of)


def test_more_and_fewer() -> None:
    before = drawn()
    for by, count in (("+20 %", 480), ("+0%", 400), ("-25 %", 300), ("+150 %", 1000)):
        after = drawn({"demand": by})
        assert len(after) == count
        assert (np.diff(after.arrival) >= 0).all()
        assert set(after.arrival.tolist()) <= set(before.arrival.tolist())
        assert len(set(after.id.tolist())) == count
    more, fewer = {"demand": "+100 %", "of": {"group": "db"}}, {"demand": "-50 %", "of": {"group": "web"}}
    mixed = drawn(more, fewer)
    assert group(mixed, "db") == 2 * group(before, "db")
    assert group(mixed, "web") == pytest.approx(group(before, "web") / 2, abs=1)


def test_every_seed_has_its_own_changes() -> None:
    once, again, other = (drawn({"demand": "+20 %"}, {"demand": "+10 %"}, seed=seed) for seed in (3, 3, 4))
    assert once.arrival.tolist() == again.arrival.tolist()
    assert once.demand.tolist() == again.demand.tolist()
    assert once.arrival.tolist() != other.arrival.tolist()
    # A change that is added moves none before it.
    assert set(drawn({"demand": "+20 %"}, seed=3).id.tolist()) < set(once.id.tolist())


def test_of_a_table_by_its_labels(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,arrival,lifetime,cpu,who\na,0,5,1,acme\nb,1,5,2,beta\nc,2,5,3,acme\n")
    trace = {"trace": "table", "path": str(path), "labels": {"tenant": "who"}}

    def asked(of: dict[str, str]) -> Workload:
        workload = trace | {"changes": [{"demand": "+100 %", "of": of}]}
        return build_world(
            scenario_from({**BASE, "cluster": {"servers": 1, "node": {"cpu": 9}}, "workload": workload})
        ).draw(1)

    found = asked({"tenant": "beta"})
    assert sorted(found.id.tolist()) == ["a", "b", "b+1.1", "c"]
    assert sorted(found.labels["tenant"].tolist()) == ["acme", "acme", "beta", "beta"]
    with pytest.raises(UserError, match=r"the requests have no such label(.|\n)*Known: tenant\."):
        asked({"zone": "a"})
    with pytest.raises(UserError, match="no request is so"):
        asked({"tenant": "gamma"})


WRONG = [
    ({"demand": "20 %"}, "changes.0.demand: does not say how much more or less (got '20 %')"),
    ({"demand": "-100 %"}, "changes.0.demand: does not say how much"),
    ({"more": 3}, "changes.0.more: unknown key"),
]


@pytest.mark.parametrize(("change", "problem"), WRONG)
def test_mistakes(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        drawn(change)
    assert f"workload.{problem}" in str(caught.value)


PERCENT = st.floats(-0.99, 2).map(lambda by: f"{100 * by:+.3f} %")
CHANGES = st.builds(Change, demand=PERCENT, of=st.sampled_from([{}, {"group": ["a"]}]))


@given(st.lists(st.integers(0, 9), min_size=2, max_size=9), st.lists(CHANGES, max_size=3), st.integers(0, 99))
@scaled(0.5)
def test_requests_stay_whole(arrivals: list[int], changes: list[Any], seed: int) -> None:
    """What comes is a request that there was, with all that it has, in order of arrival, under a name of its own."""
    n = len(arrivals)
    place = np.arange(n)
    roles = Roles.of_texts(n, group=np.where(place % 2, "b", "a"))
    demand, labels = (place[:, None] + 1) * 10, {"place": place.astype(np.str_)}
    times = np.sort(np.array(arrivals, np.float64))
    base = Workload(("cpu",), times, (place + 0.5).astype(np.float64), demand, place, roles=roles, labels=labels)
    try:
        found = changed(base, changes, seed)
    except UserError:  # where nothing is left, or nobody meant
        return
    assert (np.diff(found.arrival) >= 0).all()
    assert len(np.unique(found.id)) == len(found)
    was = found.demand[:, 0] // 10 - 1
    assert found.duration.tolist() == (was + 0.5).tolist()
    assert found.labels["place"].tolist() == was.astype(np.str_).tolist()
    assert found.roles is not None
    assert [found.roles.all[role].group for role in found.roles.of] == ["b" if each % 2 else "a" for each in was]
    if not changes:
        assert found is base
