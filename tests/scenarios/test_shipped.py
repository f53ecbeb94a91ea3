"""Every scenario that is shipped validates, and runs in a short form."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.learn.training import check_training
from binwright.scenarios.run.check import check_scenario
from binwright.scenarios.schema.load import load_scenario, resolved, scenario_from, shipped
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.trace import Trace
from binwright.scenarios.schema.workload import Tenants
from binwright.scenarios.schema.yaml_source import LIBRARY
from binwright.simcore.errors import WorkloadError
from binwright.workloads.traces.library import FOLDER, find
from tests.support import ROOT

SHARED = ROOT.parent / "shared" / "traces"
FILES = sorted(LIBRARY.rglob("*.yaml"))
LONGEST = 2000
"""Requests of a short form: enough for a warm start."""
CONNECTED = 200
"""Requests in a network, where no scenario starts warm: an agent takes .03 s for one on the largest."""
ALWAYS = ("nara/tuned", "regimes/mixed", "wrasse/solver-numa")
"""One of each kind runs in `make test`, too."""


def cases() -> list[Any]:
    """Every shipped file, by its name in the library."""
    names = {file.relative_to(LIBRARY).as_posix(): file for file in FILES}
    return [
        pytest.param(file, id=name, marks=() if name.removesuffix(".yaml") in ALWAYS else pytest.mark.long)
        for name, file in names.items()
    ]


@pytest.fixture(autouse=True)
def _traces(monkeypatch: pytest.MonkeyPatch) -> None:
    if FOLDER not in os.environ and SHARED.is_dir():
        monkeypatch.setenv(FOLDER, str(SHARED))


def short(file: Path) -> Scenario:
    """One point, one seed, few requests."""
    scenario = load_scenario(file)
    most = CONNECTED if scenario.cluster.network else LONGEST
    if isinstance(scenario.workload, Tenants):
        most = 60
    if isinstance(scenario.workload, Trace) and not scenario.warm_start:
        most //= scenario.workload.superpose
    changes = ["replications=1", "sweep=null"]
    if hasattr(scenario.workload, "requests"):  # offline inputs are whole
        changes.append(f"workload.requests={min(most, scenario.workload.requests or most)}")
    if scenario.warm_start:  # a hundred servers take long to fill
        changes.append("warm_start.until=0.2")
    return load_scenario(file, changes)


def test_there_are_some_and_they_are_found_by_name() -> None:
    assert FILES
    assert sorted(shipped().values()) == FILES
    assert load_scenario("quickstart") == load_scenario(LIBRARY / "quickstart.yaml")


ALIKE = [file for file in FILES if file.parent.name == "regimes" and "-" in file.stem]
"""Their agents are those of large, few and shapes, sixty each."""


@pytest.mark.parametrize(
    "file",
    [pytest.param(file, marks=[pytest.mark.long] * (file in ALIKE)) for file in FILES],
    ids=lambda file: file.relative_to(LIBRARY).as_posix(),
)
def test_shipped_scenario_is_valid_and_described(file: Path, tmp_path: Path) -> None:
    scenario = load_scenario(file)
    assert scenario.description
    assert check_scenario(scenario) > 0
    check_training(scenario)
    assert scenario_from(yaml.safe_load(resolved(scenario, tmp_path))) == scenario
    spec = scenario.workload  # a window leaves out what runs already: so it was published, and so measured
    assert not isinstance(spec, Trace) or spec.start == 0 or spec.running == "drop"


@pytest.mark.parametrize("file", cases())
def test_shipped_scenario_runs(file: Path, tmp_path: Path) -> None:
    scenario = short(file)
    if isinstance(scenario.workload, Trace):
        try:
            find(scenario.workload.trace, scenario.workload.path)
        except WorkloadError as error:
            pytest.skip(str(error))
    results = Batch(scenario, tmp_path / "out").run()
    assert not len(results.failed), results.failed["error"][0]
    assert results.done["agent"].to_list() == [agent.label for agent in scenario.agents]
    assert (results.done["scheduled"] > 0).all()
    # Flavours larger than any server would be a mistake in a scenario of ours.
    assert (results.done["impossible"] == 0).all()
    assert [row.agent for row in results.table().rows] == results.done["agent"].to_list()
