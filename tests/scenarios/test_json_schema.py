"""The JSON schema takes what `validate` takes, and refuses what it refuses: all shipped files, and their mutations."""

import copy
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import yaml
from jsonschema import Draft202012Validator

from binwright.scenarios.schema.load import load_scenario, shipped
from binwright.scenarios.schema.reference import json_schema
from binwright.scenarios.schema.yaml_source import LIBRARY
from binwright.simcore.errors import ScenarioError

BEYOND = (
    "no server has this", "workload.lublin.", "names no agent to train", "is above the peak", "no distribution has",
    "is below a day", "of a kWh", "says no latency", "goes by a label of requests",
    "has its home twice", "no site draws anything", "is missing for the router",
    "compares with a value that is neither a number nor a date", "teacher: unknown agent", "servers have no such label",
    "says nothing of the servers", "no request is of this group", "names a group twice", "the groups before it have",
    "the cluster has no such resource", "is not a price of the cluster's resources", "has the same label",
    "is below the servers there are", "is above what any link has", "no single link of the network",
    "asks for nothing", "has nothing on it", "is an empty range", "have no weight above zero", "has no lifetimes",
    "needs a network", "virtual networks", "a machine", "must ascend", "is swept twice", "make them equally long",
    "are as many as we build", "is more than any server has", "is more than any link has", "is smaller than `least`",
    "must be a list of", "an even number of ports", "the unit of the trace's", "cannot import",
    "against: unknown agent", "no weights of that name", "does not go with", "is neither a resource of the cluster",
    "in what unit the column", "is an empty time", "is not a unit of time", "extends itself", "there is no such",
    "Only groups are", "there are no servers of this kind", "and other servers have one", "there is no power to pay",
    "the servers are of one kind",
)  # fmt: skip
"""What a JSON schema cannot say: how things that are written in different places go together."""


@cache
def validator() -> Draft202012Validator:
    schema = json_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def outcome(data: Any, folder: Path, file: Path) -> tuple[bool, str]:
    """Whether our own validation takes it, and what it says if not."""
    file.write_text(json.dumps(data))
    try:
        load_scenario(file)
    except ScenarioError as error:
        return False, f"{error.key}: {error.problem} {error.remedy}"
    return True, ""


def mutations(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every single change of one value or key, named."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in list(items):
        here = (*at, key)
        name = ".".join(map(str, here))
        others: list[Any] = [None, -1, 0, 3, 2.5, True, "", "words", "3 parsecs", "12 %", [], {}, [1, 2], {"words": 1}]
        if isinstance(value, str):
            others += [value.upper(), f"{value}x", f" {value}"]
        elif isinstance(value, bool):
            pass
        elif isinstance(value, int | float):
            others += [-value, str(value), float(value), f"{value} GB", f"{value} h", f"{value}:1", 1e12]
        elif isinstance(value, list):
            others += [value * 2, [*value, None], value[:1]]
        elif isinstance(value, dict):
            others += [[value], {**value, "wrods": 1}, {**value, "wrods": None}]
        for other in others:
            if other != value or type(other) is not type(value):
                yield f"{name} = {other!r:.60}", _with(data, key, other)
        if isinstance(data, dict):
            yield f"{name} left out", {one: kept for one, kept in data.items() if one != key}
            yield f"{name} misspelt", {(f"{one}s" if one == key else one): kept for one, kept in data.items()}
        for text, changed in mutations(value, here):
            yield text, _with(data, key, changed)


def _with(data: Any, key: Any, value: Any) -> Any:
    changed = copy.copy(data)
    changed[key] = value
    return changed


def absolute(data: Any, file: Path) -> Any:
    """What it extends, from wherever it is written to."""
    if "extends" in data and (file.parent / data["extends"]).is_file():
        return {**data, "extends": str(file.parent / data["extends"])}
    return data


@pytest.mark.parametrize("name", shipped())
def test_json_schema_accepts_all_shipped_scenarios(name: str) -> None:
    data = yaml.safe_load(shipped()[name].read_text())
    assert [error.message for error in validator().iter_errors(data)] == []


CASES = ("quickstart", "cvd/table2", "nara/table1", "wrasse/oktopus", "wrasse/secondnet", "nara/train-alpha")


SOME, MORE = 20, 30
"""Mutations of each of these cases that `make test` tries, and those of every file that `make test-all` does."""


@pytest.mark.parametrize(
    ("name", "most"),
    [*((name, SOME) for name in CASES), *(pytest.param(name, MORE, marks=pytest.mark.long) for name in shipped())],
)
def test_json_schema_agrees_with_validate_on_mutations(name: str, most: int, tmp_path: Path) -> None:
    file = LIBRARY / f"{name}.yaml"
    data = absolute(yaml.safe_load(file.read_text()), file)
    wrong: list[str] = []
    beyond_it = (*BEYOND, "is missing", "needs one", "has more than one") if "extends" in data else BEYOND
    found = list(mutations(data))
    every = max(1, len(found) // most)
    for text, changed in found[crc32(name.encode()) % every :: every]:  # other ones in files that are alike
        valid, said = outcome(changed, tmp_path, tmp_path / "s.yaml")
        taken = validator().is_valid(changed)
        if valid and not taken:
            wrong.append(f"{text}: valid, and not taken")
        elif text == f"{said.partition(':')[0]} left out" and "unknown key" in said and "extends" in data:
            continue  # the key is that of the file that is extended, which the schema does not see
        elif taken and not valid and not any(beyond in said for beyond in beyond_it):
            wrong.append(f"{text}: taken, but {said}")
    assert wrong == []


@pytest.mark.parametrize(("numbering", "fits"), [("given", True), ("drawn", False), ("fgd", False)])
def test_a_topology_numbers_its_servers(numbering: str, fits: bool, tmp_path: Path) -> None:
    data = {
        "name": "numbers",
        "cluster": {"network": {"topology": "alpha"}, "node": {"cpu": 10, "mem": 10}, "numbering": numbering},
        "workload": {"requests": 9, "holding": 9, "demand": "uniform"},
        "agents": ["tetris"],
    }
    valid, said = outcome(data, tmp_path, tmp_path / "s.yaml")
    assert validator().is_valid(data) == valid == fits
    assert fits or "cluster.numbering: does not go with a network" in said


@pytest.mark.parametrize(
    ("name", "keys", "values"),
    [
        ("cvd/train-cvd-rl", ("train", "agent", "cvd-rl", "teacher", "value-es", "weights"), ("huawei-10", [1, 2])),
        ("gangs/training", ("workload", "flavours", 1, "parts"), (2, "words")),
        ("gangs/training", ("workload", "flavours", 1, "parts"), ({"number": 2}, {"by": "words"})),
    ],
)
def test_json_schema_knows_options_of_teachers_and_parts_by_trace(
    name: str, keys: tuple[Any, ...], values: tuple[Any, Any], tmp_path: Path
) -> None:
    file = LIBRARY / f"{name}.yaml"
    for value, taken in zip(values, (True, False), strict=True):
        data = at = absolute(yaml.safe_load(file.read_text()), file)
        for key in keys[:-1]:
            at = at[key]
        at[keys[-1]] = value
        assert validator().is_valid(data) == outcome(data, tmp_path, tmp_path / "s.yaml")[0] == taken
