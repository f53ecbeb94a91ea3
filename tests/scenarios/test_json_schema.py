"""The JSON schema for editors: it takes all shipped files, knows every key, and refuses those that there are not."""

from functools import cache
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from binwright.scenarios.schema.json_schema import json_schema
from binwright.scenarios.schema.load import shipped
from binwright.scenarios.schema.scenario import Scenario
from tests.support.batches import changed, data


@cache
def validator() -> Draft202012Validator:
    schema = json_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.parametrize("name", shipped())
def test_json_schema_accepts_all_shipped_scenarios(name: str) -> None:
    data = yaml.safe_load(shipped()[name].read_text())
    assert [error.message for error in validator().iter_errors(data)] == []


def test_json_schema_describes_every_key(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = json_schema()["$defs"]
    assert problem["Scenario"]["properties"].keys() == Scenario.known().keys()
    assert all(key["description"] for model in problem.values() for key in model["properties"].values())
    assert problem["Trace"]["properties"]["running"]["enum"] == ["keep", "drop", None]
    monkeypatch.setattr("inspect.getdoc", lambda kind: None)  # as under `python -OO`
    assert all(model["description"] == "" for model in json_schema()["$defs"].values())


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("agnets",), []),
        (("cluster", "sevrers"), 3),
        (("cluster", "network"), {"topology": "alpha", "pahts": 3}),
        (("train",), {"validation": {"evry": 2}}),
        (("cluster", "groups"), [{"cuont": 1}]),
        (("train",), {"device": "tpu"}),
    ],
)
def test_json_schema_refuses_what_is_misspelt(keys: tuple[str, ...], value: Any) -> None:
    base = {**data(), "workload": {"trace": "swf"}}
    assert validator().is_valid(base)
    assert not validator().is_valid(changed(base, *keys, to=value))
