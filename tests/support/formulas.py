"""Formulas in small clusters."""

from hypothesis import strategies as st

from binwright.agents.formulas.program import features
from binwright.simcore.rng import stream
from binwright.simcore.types import Agent
from tests.reference.agents import Where
from tests.support.rooms import Case
from tests.support.views import ask, view_of

UNIT = 500_000
NAMES = sorted(features(("a",)))
NUMBERS = st.sampled_from(["0", "1", "2", "0.5", "-1", "3.25", "1e300"])


@st.composite
def expressions(draw: st.DrawFn, depth: int = 4) -> str:
    """Any expression over the features of one resource; division by zero, overflow and no number are common."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.one_of(st.sampled_from(NAMES), st.sampled_from(NAMES), NUMBERS))
    part = expressions(depth - 1)
    kind = draw(st.integers(0, 5))
    if kind == 0:
        called = draw(st.sampled_from(["abs", "exp", "log", "sqrt", "floor", "ceil", "-", "not ", "lost"]))
        return f"{called}({draw(part)})"
    if kind == 1:
        return f"{draw(st.sampled_from(['min', 'max']))}({draw(part)}, {draw(part)})"
    if kind == 2:
        return f"where({draw(part)}, {draw(part)}, {draw(part)})"
    if kind == 3:
        return f"({draw(part)} if {draw(part)} else {draw(part)})"
    if kind == 4:
        return (
            f"(({draw(part)}) {draw(st.sampled_from(['and', 'or', '<', '<=', '==', '!=', '>', '>=']))} ({draw(part)}))"
        )
    return f"(({draw(part)}) {draw(st.sampled_from(['+', '-', '*', '/', '/', '**']))} ({draw(part)}))"


def played(agent: Agent, case: Case) -> Where | None:
    """Where an agent puts the request of a case whose amounts are half units."""
    free, capacity, demand, spread = in_units(case)
    view = view_of(free, capacity)
    agent.start(view, stream(0, "agent"))
    return ask(agent, view, demand, spread)


def in_units(case: Case) -> Case:
    """Multiply the amounts of a case, and give it a second resource if it has one: kernels are compiled for two."""
    free, capacity, demand, spread = case
    more = (0,) * (2 - len(demand))
    rooms = [
        [[[amount * UNIT for amount in (*node, *more)] for node in server] for server in room]
        for room in (free, capacity)
    ]
    return rooms[0], rooms[1], tuple(amount * UNIT for amount in (*demand, *more)), spread
