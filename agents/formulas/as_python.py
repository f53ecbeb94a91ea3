"""Writes a formula as a file with an agent that is compiled, and looks only at what changed where there are many."""

from __future__ import annotations

from binwright.agents.formulas.algebra import expanded, walk, written
from binwright.agents.formulas.parse import UNARY, Term
from binwright.agents.formulas.vocabulary import PLAIN, QUANTITIES, SCOPES, feature_named

FILE = '''\
"""{title}

    {formula}
"""

import numpy as np
from binwright.agents.formulas.feature import feature
from binwright.agents.formulas.vocabulary import {words}
from binwright import ScanAgent, cheapest


class Found(ScanAgent):
    """The place with the highest score."""

    reference = "binwright search"

    @staticmethod
    @cheapest
    def scan(free, capacity, demand, spread, node):
{features}        score = float({score})
        return -score if score == score else np.inf  # what is no number is nowhere
'''
FEATURE = "        {name} = feature(free, capacity, demand, spread, node, {quantity}, {scope}, {resource})\n"
_QUANTITY = [name.upper() for name in (*QUANTITIES, *PLAIN)]
_SCOPE = ["PLACE", *(name.upper() for name in SCOPES[1:])]


def python_of(formula: Term, resources: tuple[str, ...], title: str) -> str:
    """Write a file that has an agent `Found`, which places as the formula does on servers with these resources."""
    words, lines, whole = {"PLACE"}, [], expanded(formula)
    for name in dict.fromkeys(one.name for one in walk(whole) if one.op == "feature"):
        number, scope, resource = feature_named(name, resources)
        quantity = _QUANTITY[number]
        words |= {quantity, _SCOPE[scope]}
        lines.append(FEATURE.format(name=name, quantity=quantity, scope=_SCOPE[scope], resource=resource))
    parts = {"formula": written(formula), "words": ", ".join(sorted(words)), "features": "".join(lines)}
    return FILE.format(title=title, score=_python(whole), **parts)


def _python(one: Term) -> str:
    """Write a formula with every operation in brackets or as a call."""
    if not one.of:
        return one.name or (repr(one.value) if one.value >= 0 else f"({one.value!r})")
    parts = list(map(_python, one.of))
    if one.op in ("/", "min", "max", *UNARY):
        call = {"/": "np.divide", "min": "min", "max": "max"}.get(one.op) or f"np.{one.op}"
        return f"{call}({', '.join(parts)})"
    if one.op == "where":
        return f"({parts[1]} if {parts[0]} != 0 else {parts[2]})"
    if len(parts) == 1:
        return f"({'-' if one.op == 'negative' else 'not '}{parts[0]})"
    return f"({parts[0]} {one.op} {parts[1]})"
