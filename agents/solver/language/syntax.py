"""Define the tree of a specification, as written: its nodes are the alternatives of the grammar in alloc.lark."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from binwright.agents.solver.language.errors import At


@dataclass(frozen=True)
class Node:
    """An alternative of the grammar, as written. Two nodes are equal if they say the same, wherever they stand."""

    kind: str
    """The name of the alternative."""
    at: At = field(compare=False)
    parts: tuple[Any, ...] = ()
    """Nodes, words, numbers and tuples of them in the order of the grammar; None for what is left out."""


Block = tuple[Node, ...]


class Tree(NamedTuple):
    """A whole specification."""

    declarations: tuple[Node, ...]
    body: Block


def name(at: At, word: str) -> Node:
    """Make a name, or BALL, BIN, BALLS, BINS, MOVES, NULL."""
    return Node("name", at, (word,))


def walk(part: object) -> Iterator[Node]:
    """Iterate over all nodes in a part of a tree, those further out first."""
    if isinstance(part, Node):
        yield part
        part = part.parts
    if isinstance(part, tuple):
        for inner in part:
            yield from walk(inner)


def mapped(part: Any, change: Callable[[Any], Any], at: At | None = None) -> Any:
    """Return a part of a tree with nodes and words as `change` makes them; where that is None, what is in them is.

    Nodes that are not changed themselves are `at` this place then, if it is given.
    """
    changed = change(part)
    if changed is not None or part is None:
        return changed
    if isinstance(part, Node):
        return replace(part, at=at or part.at, parts=mapped(part.parts, change, at))
    return tuple(mapped(inner, change, at) for inner in part) if isinstance(part, tuple) else part


def names_in(part: object) -> set[str]:
    """Find the names in a part of a tree, those of tables too."""
    return {node.parts[0] for node in walk(part) if node.kind in ("name", "index")}
