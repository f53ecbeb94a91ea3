"""`evaluate`: scores one policy beside a baseline, in memory."""

from __future__ import annotations

import json
from argparse import Namespace
from math import isnan
from typing import Any

import yaml

from binwright.cli import FAILED
from binwright.commands.console import new_table, out, show
from binwright.simcore.errors import UserError


def evaluate(asked: Namespace) -> int:
    """`binwright evaluate POLICY --scenario FILE`."""
    from binwright.scenarios.evaluation.evaluator import Evaluator
    from binwright.scenarios.schema.load import load_scenario

    baseline = None if asked.baseline is None else _policy(asked.baseline)
    how = {"seeds": asked.seeds, "validation": asked.seeds, "test": asked.seeds}
    limits = {"seconds": asked.seconds, "memory": asked.memory}
    given = load_scenario(asked.scenario, asked.sets)
    with Evaluator(given, metric=asked.metric, baseline=baseline, **how, **limits) as evaluator:
        found = evaluator(_policy(asked.policy), on=asked.on)
    if asked.json:
        show(json.dumps(found.as_json(), allow_nan=False))
    elif isnan(found.score):
        show(f"{found.policy}: {found.reason}")
    else:
        show(found.policy)  # of any length, so that no column cuts it
        table = new_table(f">{found.metric}", ">more than the baseline", ">95 % interval", ">ms")
        interval = f"[{found.interval[0]:+.4f}, {found.interval[1]:+.4f}]"
        row = (f"{found.score:.4f}", f"{found.difference:+.4f}", interval, f"{1e3 * found.seconds:.0f}")
        table.add_row(*row)
        out.print(table)
        if found.reason:
            show(f"Refused: {found.reason}")
    return FAILED if isnan(found.score) else 0


def _policy(text: str) -> Any:
    """Read a policy: an agent with options is a mapping in YAML."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        remedy = "Write an expression, FILE.py:function, a name, or '{name: {option: value}}'."
        raise UserError("is not a policy", value=text, remedy=remedy) from None
