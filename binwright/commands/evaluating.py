"""`evaluate`: scores one policy beside a baseline, in memory."""

from __future__ import annotations

import json
from argparse import Namespace
from math import isnan
from typing import Any

import yaml

from binwright.cli import FAILED
from binwright.commands.console import new_table, out, print_line
from binwright.simcore.errors import UserError


def evaluate(args: Namespace) -> int:
    """`binwright evaluate POLICY --scenario FILE`."""
    from binwright.scenarios.evaluation.evaluator import Evaluator
    from binwright.scenarios.schema.load import load_scenario

    baseline = None if args.baseline is None else _policy(args.baseline)
    how = {"seeds": args.seeds, "validation": args.seeds, "test": args.seeds}
    given = load_scenario(args.scenario, args.sets)
    with Evaluator(given, metric=args.metric, baseline=baseline, **how) as evaluator:
        found = evaluator(_policy(args.policy), on=args.on)
    if args.json:
        print_line(json.dumps(found.as_json(), allow_nan=False))
    elif isnan(found.score):
        print_line(f"{found.policy}: {found.reason}")
    else:
        print_line(found.policy)  # of any length, so that no column cuts it
        table = new_table(f">{found.metric}", ">more than the baseline", ">95 % interval", ">ms")
        interval = f"[{found.interval[0]:+.4f}, {found.interval[1]:+.4f}]"
        row = (f"{found.score:.4f}", f"{found.difference:+.4f}", interval, f"{1e3 * found.seconds:.0f}")
        table.add_row(*row)
        out.print(table)
        if found.reason:
            print_line(f"Refused: {found.reason}")
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
