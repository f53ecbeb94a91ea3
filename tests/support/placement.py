"""Small clusters with labels, and rules of placement, drawn."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from hypothesis import strategies as st

from binwright.fabric.ledger import Ledger
from binwright.scenarios.features.placement.book import RuleBook
from binwright.scenarios.features.placement.rules import Apart, AtMost, Drain, Near, Rule, Spread, Together
from binwright.scenarios.features.server_labels import ServerLabels
from binwright.simcore.roles import Role, where_of

GROUPS = ("web", "db", "job")
LABELS = ("zone", "rack")
ROLES = (
    Role(),
    Role("web"),
    Role("web", where_of({"zone": ["a", "b"]})),
    Role("db"),
    Role("db", where_of({"zone": ["a"], "rack": ["0", "2"]}), ("spot",)),
    Role("job", (), ("old", "spot")),
)


def rule_book(labels: ServerLabels, rules: Sequence[Rule]) -> Callable[[Ledger], RuleBook]:
    """Return what makes the book of a ledger that keeps rules."""
    return partial(RuleBook, labels=labels, rules=rules)


@st.composite
def labelled(draw: st.DrawFn, least: int = 1, most: int = 6) -> ServerLabels:
    """Some servers with zones, racks of two, and taints."""
    servers = draw(st.integers(least, most))
    zones = draw(st.lists(st.sampled_from("abc"), min_size=servers, max_size=servers))
    taints = {
        name: np.array(draw(st.lists(st.sampled_from([False, False, True]), min_size=servers, max_size=servers)))
        for name in draw(st.sampled_from([(), ("spot",), ("old", "spot")]))
    }
    racks = (np.arange(servers) // 2).astype(np.str_)
    return ServerLabels(servers, {"zone": np.array(zones), "rack": racks}, taints, {"rack": 2}, servers - 1)


def rule_of(kind: type[Rule], servers: int) -> st.SearchStrategy[Rule]:
    """A rule of a kind, about the groups."""
    group, per = st.sampled_from(GROUPS), st.sampled_from([*LABELS, "server"])
    groups = st.lists(group, min_size=1, max_size=3, unique=True).map(tuple)
    pairs = st.lists(group, min_size=2, max_size=3, unique=True).map(tuple)
    several, start = st.sampled_from([*GROUPS, "*"]), st.sampled_from([0.0, 5.0])
    numbers = st.lists(st.integers(0, servers - 1), min_size=1, max_size=2).map(tuple)
    drawn: dict[type[Rule], st.SearchStrategy[Rule]] = {
        AtMost: st.builds(AtMost, at_most=st.integers(1, 3), of=several, per=per),
        Spread: st.builds(Spread, spread=several, over=per, skew=st.integers(1, 2)),
        Apart: st.builds(Apart, apart=st.one_of(pairs, st.just(("*",))), per=per),
        Together: st.builds(Together, together=st.one_of(groups, st.just(("*",))), per=per),
        Near: st.builds(Near, of=st.just("web"), near=st.sampled_from([("db",), ("db", "job")]), per=per),
        Drain: st.builds(Drain, drain=numbers | st.just({"zone": ["a"]}), at=start, until=st.sampled_from([None, 8.0])),
    }
    return drawn[kind]


def rules(servers: int) -> st.SearchStrategy[list[Rule]]:
    """Some rules about the groups."""
    kinds = [rule_of(kind, servers) for kind in (AtMost, Spread, Apart, Together, Near, Drain)]
    return st.lists(st.one_of(kinds), min_size=1, max_size=4, unique_by=str)
