"""Writes a formula as a file with an agent that is compiled, and looks only at what changed where there are many."""

from __future__ import annotations

from agents.formulas import vocabulary
from agents.formulas.algebra import walk, written
from agents.formulas.parse import UNARY, Term
from agents.formulas.vocabulary import PLAIN, QUANTITIES, SCOPES, feature_named

HEAD = '''\
"""{title}

    {formula}
"""

import numpy as np
from agents.formulas.feature import {helpers}
{names}from binwright import ScanAgent, cheapest


class Found(ScanAgent):
    """The place with the highest score."""

    reference = "binwright search"

    @staticmethod
    @cheapest
    def scan(free, capacity, demand, spread, node):
'''
FEATURE = "        {name} = feature(free, capacity, demand, spread, node, {quantity}, {scope}, {resource})\n"
TAIL = """\
        score = float({score})
        return -score if score == score else np.inf  # what is no number is nowhere
"""
_CALLED = {"/": "over", "min": "smaller", "max": "larger"}
_QUANTITY = [*(name.upper() for name in QUANTITIES), *(name.upper() for name in PLAIN)]
_SCOPE = ["PLACE", *(name.upper() for name in SCOPES[1:])]


def python_of(formula: Term, resources: tuple[str, ...], title: str) -> str:
    """Write a file that has an agent `Found`, which places as the formula does on servers with these resources."""
    parts = list(walk(formula))
    features = dict.fromkeys(one.name for one in parts if one.op == "feature")
    known = {name: feature_named(name, resources) for name in features}
    words = {_QUANTITY[one.quantity] for one in known.values()} | {_SCOPE[one.scope] for one in known.values()}
    assert all(hasattr(vocabulary, word) for word in words)
    helpers = {_CALLED[one.op] for one in parts if one.op in _CALLED} | ({"feature"} if known else set())
    imported = f"from agents.formulas.vocabulary import {', '.join(sorted(words))}\n" if words else ""
    head = HEAD.format(title=title, formula=written(formula), helpers=", ".join(sorted(helpers)), names=imported)
    if not helpers:
        head = head.replace("from agents.formulas.feature import \n", "")
    lines = [
        FEATURE.format(name=name, quantity=_QUANTITY[one.quantity], scope=_SCOPE[one.scope], resource=one.resource)
        for name, one in known.items()
    ]
    return head + "".join(lines) + TAIL.format(score=_python(formula))


def _python(one: Term) -> str:
    """Write a formula with every operation in brackets or as a call."""
    if one.op == "constant":
        return repr(one.value) if one.value >= 0 else f"({one.value!r})"
    if one.op == "feature":
        return one.name
    parts = list(map(_python, one.of))
    if one.op in _CALLED:
        return f"{_CALLED[one.op]}({', '.join(parts)})"
    if one.op in UNARY:
        return f"np.{one.op}({parts[0]})"
    if one.op == "where":
        return f"({parts[1]} if {parts[0]} != 0 else {parts[2]})"
    if one.op in ("negative", "not"):
        return f"({'-' if one.op == 'negative' else 'not '}{parts[0]})"
    return f"({parts[0]} {one.op} {parts[1]})"
