"""Take goals apart: the terms that are added and subtracted, each with its text."""

from __future__ import annotations

import re
from typing import NamedTuple

from agents.solver.language import syntax as s
from agents.solver.language.errors import At

_MARKS = re.compile(r'"[^"\n]*"|#[^\n]*|[()\[\]]')


class Term(NamedTuple):
    """A part of a goal."""

    sign: int
    """1 or -1: it is added, or subtracted."""
    node: s.Expr
    text: str
    """As written, without the sign."""


def terms(goal: s.Goal, text: str) -> list[Term]:
    """List what is added up on the outside of a goal in this text, not within parentheses; one term at least."""
    if goal.said:
        return [Term(1, goal.value, goal.said)]
    begin, end = goal.span
    node, found = goal.value, list[Term]()
    while isinstance(node, s.Binary) and node.op in ("+", "-"):
        place = _offset(text, node.at)
        if _depth(text[begin:place]):
            break
        found.append(Term(1 if node.op == "+" else -1, node.right, _short(text[place + 1 : end])))
        node, end = node.left, place
    return [Term(1, node, _short(text[begin:end])), *reversed(found)]


def _offset(text: str, at: At) -> int:
    """Find the letter at a place."""
    return sum(len(line) + 1 for line in text.split("\n")[: at.line - 1]) + at.column - 1


def _depth(text: str) -> int:
    """Count the parentheses that are open at the end."""
    marks = [one.group() for one in _MARKS.finditer(text)]
    return sum(one in "([" for one in marks) - sum(one in ")]" for one in marks)


def _short(text: str) -> str:
    """Write it in a line."""
    return " ".join(text.split())
