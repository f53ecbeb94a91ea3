"""Published attempts of the shipped examples give what they gave on 28 November 2026."""

import json
from hashlib import sha256
from pathlib import Path

from binwright.agents.solver.specification.spec import examples, load_problem
from tests.reference import attempts as reference

GOLDEN = Path(__file__).with_name("golden.json")


def digest(name: str) -> str:
    """A digest of allocations and units left: numbers 0 and 1 in every grouping of an example, with seed 1."""
    problem = load_problem(name)
    actual = [
        reference.attempt(problem, 1, group, number) for number in range(2) for group in range(len(problem.groupings))
    ]
    return sha256(json.dumps(actual).encode()).hexdigest()[:16]


def test_attempts_of_examples_are_those_of_earlier_versions() -> None:
    assert {name: digest(name) for name in examples()} == json.loads(GOLDEN.read_text())
