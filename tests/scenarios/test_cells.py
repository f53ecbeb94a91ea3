"""`cluster.cells` in a scenario: whole runs, and what does not go with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import scenario_from
from binwright.simcore.errors import UserError
from tests.support.long_runs import asked, contents

CELLS = {"cluster.servers": 6, "cluster.cells": {"count": 3, "router": "two-choices", "window": "30 s"}}


@pytest.mark.parametrize(("router", "agent"), [("least-loaded", "random-top"), ("two-choices", "best-fit")])
def test_how_many_cells_go_on_at_a_time_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, router: str, agent: str
) -> None:
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("BINWRIGHT_THREADS", threads)
        form = CELLS | {"cluster.cells": {"count": 3, "router": router, "window": "30 s"}}
        runs = Batch(asked(form, agent), tmp_path / threads).run().runs.drop("seconds", "decision_us")
        assert runs["status"].to_list() == ["done"]
        assert runs["engine"].to_list() == ["compiled"]
        found.append((runs.to_dicts(), contents(tmp_path / threads)))
    assert found[0] == found[1]
    assert 0 < found[0][0][0]["rejected"] < 150


def test_one_cell_comes_to_all_the_metrics_of_none(tmp_path: Path) -> None:
    found: list[Any] = []
    for cells in (None, {"count": 1, "window": "30 s"}, {"count": 1, "window": "1 h"}):
        form = {"cluster.servers": 6} | ({"cluster.cells": cells} if cells else {})
        folder = tmp_path / str(len(found))
        [row] = Batch(asked(form), folder).run().runs.drop("run", "seconds", "decision_us").to_dicts()
        found.append((row, [*contents(folder).values()]))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("form", "key", "said"),
    [
        ({"overflow": "wait"}, "overflow", "does not go with cells"),
        ({"cluster.expansion": [{"at": 5, "by": 1}]}, "cluster.expansion", "does not go with cells"),
        ({"cluster.failures": {"mtbf": 5, "mttr": 1}}, "cluster.failures", "does not go with cells"),
        ({"record": ["states"]}, "record", "does not go with cells"),
        ({"warm_start": {"resource": "cpu", "until": 0.5, "with": "best-fit"}}, "warm_start", "does not go with"),
        ({"cluster.cells": {"count": 7}}, "cluster.cells.count", "more than the servers there are"),
        ({"cluster.cells": {"count": 2, "router": "affinity"}}, "cluster.cells.by", "is missing"),
        ({"cluster.cells": {"count": 2, "by": "tenant"}}, "cluster.cells.by", "is for affinity"),
        ({"cluster.cells": {"count": 2, "router": "nearest"}}, "cluster.cells.router", "nearest"),
    ],
)
def test_what_does_not_go_with_cells_is_refused(form: dict[str, Any], key: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as error:
        asked(CELLS | form)
    assert key in str(error.value)


@pytest.mark.parametrize(
    ("agent", "engine", "said"),
    [("random", "auto", "decides in Python"), ("best-fit", "simpy", "not on SimPy's clock")],
)
def test_what_is_not_one_kernel_is_refused_before_anything_is_written(
    tmp_path: Path, agent: str, engine: Any, said: str
) -> None:
    with pytest.raises(UserError, match=said):
        Batch(asked(CELLS, agent), tmp_path / "out").run(engine=engine)
    assert not (tmp_path / "out").exists()


def test_affinity_goes_by_a_label_that_requests_have(tmp_path: Path) -> None:
    form = CELLS | {"cluster.cells": {"count": 2, "router": "affinity", "by": "tenant"}}
    with pytest.raises(UserError, match="requests have no such label"):
        Batch(asked(form), tmp_path).run()


def test_cells_can_be_swept(tmp_path: Path) -> None:
    data = asked(CELLS).dump() | {"sweep": {"product": {"cluster.cells.count": [1, 2, 3]}}}
    runs = Batch(scenario_from(data), tmp_path).run().runs
    assert runs["cluster.cells.count"].to_list() == [1, 2, 3]
    assert runs["status"].to_list() == ["done"] * 3
