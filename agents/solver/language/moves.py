"""Say in the language itself what NOW, MOVES and DRAIN mean, so that whatever evaluates UTILFN and goals knows it.

NOW is also a table with the bin of every ball, -1 for none, and DRAIN one with 1 for every bin that is to be empty.
These words are reserved, so no specification has tables or resources of these names.
"""

from __future__ import annotations

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.errors import At

NOW, MOVES, DRAIN = "NOW", "MOVES", "DRAIN"


def counted(at: At) -> s.Reduce:
    """Count the balls that are in another bin than now: MOVES in a goal."""
    ball = s.Name(at, MOVES)
    return s.Reduce(at, "count", s.Axis(at, MOVES, s.Name(at, "BALLS")), _leaves(at, ball, s.Placed(at, ball)))


def limited(at: At) -> s.Stmt:
    """Count a move of BALL to BIN in the resource MOVES: what a limit adds to UTILFN."""
    one = s.AddTo(at, MOVES, (), 1, s.Number(at, 1, True))
    return s.Branch(at, _leaves(at, s.Name(at, "BALL"), s.Name(at, "BIN")), (one,), ())


def drained(at: At) -> s.Stmt:
    """Reject BALL where BIN is to be empty."""
    closed = s.Index(at, DRAIN, (s.Name(at, "BIN"),))
    return s.Branch(at, s.Binary(at, "!=", closed, s.Number(at, 0, True)), (s.Rejection(at),), ())


def _leaves(at: At, ball: s.Expr, place: s.Expr) -> s.Expr:
    now = s.Index(at, NOW, (ball,))
    return s.Binary(at, "and", s.Binary(at, ">=", now, s.Number(at, 0, True)), s.Binary(at, "!=", place, now))
