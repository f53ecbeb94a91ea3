"""What agents see of servers whose peaks are predicted: either book, beside the same in plain Python."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents import AGENTS
from binwright.agents.nested_agent import make
from binwright.simcore.errors import UserError
from binwright.simcore.rng import stream
from tests.reference.agents import RULES, Demand, Room, feasible
from tests.support.properties import scaled
from tests.support.rooms import Case, cases
from tests.support.views import ask, view_of


def asked_book(free: Room, asked: Room, capacity: Room, demand: Demand, spread: bool) -> tuple[Room, Room]:
    """What is free and what is there by what is asked for, place by place."""
    fits, nodes = feasible(free, demand, spread), len(free[0])
    times = [1.0] * len(demand)
    places = [(s, n) for s in range(len(free)) for n in range(nodes)]

    def there(s: int, n: int) -> bool:
        return (s, 0 if spread else n) in fits

    def wanted(s: int, n: int, r: int) -> int:
        own = demand[r] // nodes + (n < demand[r] % nodes) if spread else demand[r]
        return asked[s][n][r] + (own if there(s, n) else 0)

    for s, n in places:
        for r in range(len(demand)):
            times[r] = max(times[r], wanted(s, n, r) / max(1, capacity[s][n][r]))
    most = [[[0] * len(demand) for _ in range(nodes)] for _ in free]
    left = [[[0] * len(demand) for _ in range(nodes)] for _ in free]
    for s, n in places:
        for r in range(len(demand)):
            most[s][n][r] = max(round(capacity[s][n][r] * times[r]), wanted(s, n, r))
            left[s][n][r] = most[s][n][r] - asked[s][n][r] if there(s, n) else 0
    return left, most


@pytest.mark.parametrize("name", ["best-fit", "worst-fit", "internal", "first-fit"])
@given(case=cases(), more=st.integers(0, 2**30))
@scaled(4)
def test_a_rule_goes_by_the_book_that_it_is_told(name: str, case: Case, more: int) -> None:
    free, capacity, demand, spread = case
    drawn = np.random.default_rng(more)
    sizes = np.array(capacity)
    asked = (sizes - np.array(free)) * 2 ** drawn.integers(0, 3) + drawn.integers(0, 3, sizes.shape) * (sizes > 0)
    view = replace(view_of(free, capacity), asked=asked)
    kind = AGENTS.load(name)
    agents = {book: make(kind, {"by": book}) for book in ("asked", "predicted")}
    for agent in agents.values():
        agent.start(view, stream(0, "agent"))
    assert ask(agents["predicted"], view, demand, spread) == RULES[name](free, capacity, demand, spread)
    left, most = asked_book(free, asked.tolist(), capacity, demand, spread)
    found = RULES[name](left, most, demand, spread) if feasible(free, demand, spread) else None
    assert ask(agents["asked"], view, demand, spread) == found


def test_requested_and_predicted_use_lead_fits_to_opposite_servers() -> None:
    """All servers are oversold: the first uses most, of the third most is asked."""
    view = view_of([[[3]], [[6]], [[9]]], [[[10]]] * 3)
    view = replace(view, asked=np.array([[[12]], [[20]], [[30]]]))
    found = {}
    for name in ("best-fit", "worst-fit"):
        for book in ("asked", "predicted"):
            agent = make(AGENTS.load(name), {"by": book})
            agent.start(view, stream(0, "agent"))
            found[name, book] = ask(agent, view, (4,), False)
    assert found == {
        ("best-fit", "asked"): (2, 0), ("best-fit", "predicted"): (1, 0),
        ("worst-fit", "asked"): (1, 0), ("worst-fit", "predicted"): (2, 0),
    }  # fmt: skip
    agent = make(AGENTS.load("worst-fit"), {"by": "asked"})
    agent.start(view, stream(0, "agent"))
    assert ask(agent, view, (3,), False) == (0, 0)  # of which least is asked


def test_there_is_one_book_where_nothing_is_predicted() -> None:
    with pytest.raises(UserError, match="no peaks are predicted"):
        make(AGENTS.load("best-fit"), {"by": "asked"}).start(view_of([[[1]]], [[[1]]]), stream(0, "agent"))
