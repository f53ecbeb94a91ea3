"""A feature is a folder and a name: one more is taken up everywhere, and what is left out is gone, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.properties import first

PREPARED = """
import sys
from types import ModuleType

from binwright.scenarios import features
from binwright.scenarios.features.feature import Feature, Model

features.NAMES = tuple(name for name in features.NAMES if name != {without!r})
class Mine(Model):
    mine: int = 0

class Added(Feature):
    key, name, keys = "mine", "mine", {{"": Mine}}
    excludes = {{"pacing": "it has its own pace", "quotas": "they are others'"}}

    def stepped(self, scenario, together):
        return "mine is done in Python"

    def attach(self, point, simulation):
        print("attached", point.scenario.mine, len(simulation.workload))

module = sys.modules["binwright.scenarios.features.mine"] = ModuleType("mine")
module.FEATURE = Added()
features.NAMES += ("mine",)

import binwright as bw

scenario = {{
    "cluster": {{"servers": 2, "node": {{"cpu": 4}}}},
    "workload": {{
        "requests": 9, "arrivals": {{"fixed": {{"every": 1}}}}, "flavours": [{{"cpu": 1}}], "lifetimes": {{"fixed": 5}},
    }},
    "agents": ["first-fit"],
    "mine": 7,
}}
row = bw.run(bw.scenario(scenario), out=sys.argv[1], jobs=1).runs.row(0, named=True)
print(row["status"], row["compiled"], row["offered"])
for more in ({{"pacing": {{"step": 1}}}}, {{"quotas": {{"of": {{"a": {{"nominal": {{"cpu": 1}}}}}}}}}}):
    try:
        bw.scenario({{**scenario, **more}})
    except bw.UserError as error:
        print(error.problem)
"""


@pytest.mark.parametrize("without", first(1, ["quotas", "moves"]))
def test_features_are_added_and_left_out_by_their_names_alone(without: str, tmp_path: Path) -> None:
    code = PREPARED.format(without=without)
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert "attached 7 9" in lines
    assert "done False 9" in lines
    refused = "unknown key" if without == "quotas" else "does not go with mine: they are others'"
    assert "does not go with mine: it has its own pace" in done.stdout
    assert refused in done.stdout
