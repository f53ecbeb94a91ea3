"""Values of swept keys as people read them."""

import json

import pytest

from binwright.analysis.results.folder import as_written


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (0.5, "0.5"),
        ("1 h", "1 h"),
        (json.dumps({"make_room": {"moves": 1}}), "make_room: {moves: 1}"),
        (json.dumps({"every": "1 h", "moves": 20}), "every: 1 h, moves: 20"),
        (json.dumps([{"demand": "+20 %"}, 2]), "[{demand: +20 %}, 2]"),
        (json.dumps(None), "null"),
        ("{a", "{a"),
        (None, "None"),
    ],
)
def test_json_is_written_as_in_a_scenario(value: object, text: str) -> None:
    assert as_written(value) == text
