"""Find the declarations that make a specification impossible: a set of which none can be left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from time import monotonic
from typing import NamedTuple

from agents.solver.language import syntax as s
from agents.solver.language.tables import LARGEST
from agents.solver.model.impossible import impossible
from agents.solver.model.problem import Fault, Problem

Declarations = tuple[s.Declaration, ...]


class Limit(NamedTuple):
    """What limits allocations: a declaration, or all rejections in UTILFN."""

    fault: Fault
    node: s.Declaration | s.Rejection
    instead: Declarations = ()
    """What is declared in its place where it is left out."""


def at_fault(
    tree: s.Tree, own_lines: int, problem: Callable[[s.Tree], Problem], until: float
) -> tuple[tuple[Fault, ...], str]:
    """Find declarations that together are plainly impossible, and of which none can be left out; and say why.

    Nothing is found if all together are not plainly impossible, or if `monotonic()` is `until` before that is known.
    The number of balls and of bins is never at fault. The text itself has `own_lines`, and `problem` makes the problem
    of another tree.
    """
    kept = list(_limits(tree, own_lines))
    every = {id(one.node): one for one in kept}

    def still(kept: Iterable[Limit]) -> str:
        gone = every.keys() - {id(one.node) for one in kept}
        each = (every[id(one)].instead if id(one) in gone else (one,) for one in tree.declarations)
        accepts = any(isinstance(every[one].node, s.Rejection) for one in gone)
        body = _accepting(tree.body) if accepts else tree.body
        return impossible(problem(replace(tree, declarations=tuple(one for some in each for one in some), body=body)))

    why = still(kept)
    for same in (True, False):  # a smaller set may be found without what the first reason needs, but for its rest
        untried = [kept] if kept else []
        while untried:
            if monotonic() > until or not why:
                return (), ""
            some = untried.pop()
            tried = {id(one.node) for one in some}
            others = [one for one in kept if id(one.node) not in tried]
            then = still(others)
            if then == why or (then and not same):
                kept, why = others, then
            elif len(some) > 1:  # so thousands of declarations, of which few are at fault, take few tries
                half = len(some) // 2
                untried += [some[half:], some[:half]]
    return tuple(one.fault for one in kept), why


def _limits(tree: s.Tree, own_lines: int) -> Iterator[Limit]:
    """Iterate over what limits allocations, the most particular first."""

    def fault(what: str, node: s.Node) -> Fault:
        return Fault(what, node.at.line if node.at.line <= own_lines else None)

    for kind in (s.Moves, s.Pin, s.Least, s.Company, s.Resource):
        for node in tree.declarations:
            if not isinstance(node, kind) or (isinstance(node, s.Company) and node.kind == "GROUPS"):
                continue
            if isinstance(node, s.Resource):
                endless = replace(node, capacity=s.Number(node.at, LARGEST, True))
                yield Limit(fault(f"RESOURCES {node.name}", node), node, (endless,))
            else:
                what = node.kind if isinstance(node, s.Company) else type(node).__name__.upper()
                what = "AT LEAST" if isinstance(node, s.Least) else what
                yield Limit(fault(what, node), node)
    rejections = [node for node in s.walk(tree.body) if isinstance(node, s.Rejection)]
    if rejections:
        yield Limit(fault("REJECT", rejections[0]), rejections[0])


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
