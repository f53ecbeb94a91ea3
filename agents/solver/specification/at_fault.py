"""Find the declarations that make a specification impossible: a set of which none can be left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from time import monotonic

from agents.solver.language import syntax as s
from agents.solver.language.errors import At
from agents.solver.language.tables import LARGEST
from agents.solver.model.impossible import impossible
from agents.solver.model.problem import Fault, Problem

Change = Callable[[s.Tree], s.Tree]
"""Leaves a declaration out of a tree."""


def at_fault(
    tree: s.Tree, own_lines: int, problem: Callable[[s.Tree], Problem], until: float
) -> tuple[tuple[Fault, ...], str]:
    """Find declarations that together are plainly impossible, and of which none can be left out; and say why.

    Nothing is found if all together are not plainly impossible, or if `monotonic()` is `until` before that is known.
    The number of balls and of bins is never at fault. The text itself has `own_lines`, and `problem` makes the problem
    of another tree.
    """
    limits = list(_limits(tree, own_lines))

    def still(kept: Iterable[int]) -> str:
        smaller = tree
        for one in set(range(len(limits))).difference(kept):
            smaller = limits[one][1](smaller)
        return impossible(problem(smaller))

    kept = list(range(len(limits)))
    why = still(kept)
    for same in (True, False):  # a smaller set may be found without what the first reason needs, but for its rest
        for number in kept.copy():
            if monotonic() > until or not why:
                return (), ""
            others = [one for one in kept if one != number]
            then = still(others)
            if then == why or (then and not same):
                kept, why = others, then
    return tuple(limits[one][0] for one in kept), why


def _limits(tree: s.Tree, own_lines: int) -> Iterator[tuple[Fault, Change]]:
    """Iterate over what limits allocations, each with what leaves it out, the most particular first."""

    def found(what: str, at: At, leave_out: Change) -> tuple[Fault, Change]:
        return Fault(what, at.line if at.line <= own_lines else None), leave_out

    def without(node: s.Declaration, *instead: s.Declaration) -> Change:
        def leave_out(tree: s.Tree) -> s.Tree:
            each = ((one,) if one is not node else instead for one in tree.declarations)
            return replace(tree, declarations=tuple(one for some in each for one in some))

        return leave_out

    order = (s.Moves, s.Pin, s.Company, s.Resource)
    for kind in order:
        for node in tree.declarations:
            if isinstance(node, kind):
                if isinstance(node, s.Resource):
                    endless = replace(node, capacity=s.Number(node.at, LARGEST, True))
                    yield found(f"RESOURCES {node.name}", node.at, without(node, endless))
                elif not (isinstance(node, s.Company) and node.kind == "GROUPS"):
                    what = node.kind if isinstance(node, s.Company) else type(node).__name__.upper()
                    yield found(what, node.at, without(node))
    rejections = [node for node in s.walk(tree.body) if isinstance(node, s.Rejection)]
    if rejections:
        yield found("REJECT", rejections[0].at, lambda tree: replace(tree, body=_accepting(tree.body)))


def _accepting(body: s.Block) -> s.Block:
    """Leave REJECT out of statements."""
    found: list[s.Stmt] = []
    for one in body:
        if isinstance(one, s.Branch):
            found.append(replace(one, then=_accepting(one.then), other=_accepting(one.other)))
        elif isinstance(one, s.Loop):
            found.append(replace(one, body=_accepting(one.body)))
        elif not isinstance(one, s.Rejection):
            found.append(one)
    return tuple(found)
