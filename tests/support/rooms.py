"""Small clusters and a request, for rules of servers."""

from typing import TypeAlias

from hypothesis import strategies as st

from tests.reference.agents import Demand, Room
from tests.support.properties import forms

Case: TypeAlias = tuple[Room, Room, Demand, bool]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Small clusters with small numbers, so that ties are common; a resource may be absent from a node."""
    servers, nodes, resources = draw(st.integers(1, 6)), draw(st.integers(1, 3)), draw(forms(2, 1, 3))
    alike = draw(st.booleans())
    size = draw(st.lists(st.sampled_from([0, 2, 3, 5, 10]), min_size=resources, max_size=resources))
    free: Room = []
    capacity: Room = []
    for _ in range(servers):
        present = [size if alike else [draw(st.sampled_from([0, 2, 3, 5, 10])) for _ in size] for _ in range(nodes)]
        capacity.append([list(node) for node in present])
        free.append([[draw(st.integers(0, c)) for c in node] for node in present])
    demand = tuple(draw(st.integers(0, 6)) for _ in range(resources))
    return free, capacity, demand, draw(st.booleans())
