"""Rules of placement, and the same written in the allocation language: both allow the same allocations."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.verify import faults
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.ledger import Ledger
from binwright.fabric.placement.rules import Apart, AtMost, Drain, Near, Rule, ServerLabels, Spread, Together
from binwright.simcore.errors import InfeasiblePlacement
from binwright.simcore.roles import Role, Roles, where_of
from binwright.simcore.types import QUANTUM, Request, Workload
from tests.support.placement import labelled, rule_of, rules
from tests.support.properties import scaled
from tests.support.solving import problem, stated

KINDS = (
    Role("web"),
    Role("db", where_of({"zone": ["a", "b"]}), ("spot",)),
    Role("job", (), ("old",)),
    Role("", where_of({"rack": ["0"]})),
)
CORES = 3
PROCEDURE = """
procedure UTILFN(BALL, BIN, ALLOC)
    if MAY[KIND[BALL], BIN] == 0
        REJECT
    end
    UTIL.CPU[BIN] += NEEDS[BALL]
    {rest}
end
"""


def specification(labels: ServerLabels, written: Sequence[Rule], kinds: list[int], needs: list[int]) -> Problem:
    """Write down which servers requests of these kinds may have, whatever the order in which they came.

    FRIENDS and FOES say what holds per server; families of resources say how many a domain takes, and how many more
    than another; per rack or zone, UTILFN looks at who is there.
    """
    servers, groups = labels.servers, [KINDS[kind].group for kind in kinds]
    may = [labels.matching(role.where) & labels.tolerated(role.tolerates) for role in KINDS]
    drained = [s for rule in written if isinstance(rule, Drain) for s in np.flatnonzero(rule.of(labels)).tolist()]
    live = [np.where(np.isin(np.arange(servers), drained), False, open) for open in may]
    tables: dict[str, Any] = {"MAY": np.array(may, int), "KIND": kinds, "NEEDS": needs}
    resources: dict[str, float | str] = {"CPU[s in BINS]": CORES}
    friends: list[list[int]] = []
    foes: list[list[int]] = []
    rest: list[str] = []

    def of(*names: str) -> list[int]:
        return [ball for ball, group in enumerate(groups) if group in names]

    def table(name: str, values: Any) -> str:
        tables[name] = np.array(values, int)
        return name

    for n, rule in enumerate(written):
        every = ["web", "db", "job"]
        match rule:
            case AtMost(count, group, per):
                for name in every if group == "*" else [group]:
                    at = table(f"AT_{n}_{name}", labels.domains(per)[0])
                    ours = table(f"IN_{n}_{name}", [g == name for g in groups])
                    resources[f"COUNT_{n}_{name}[d in {max(tables[at]) + 1}]"] = count
                    rest.append(f"UTIL.COUNT_{n}_{name}[{at}[BIN]] += {ours}[BALL]")
            case Spread(group, over, skew):
                for name in every if group == "*" else [group]:
                    places = labels.domains(over)[0]
                    at, ours = table(f"AT_{n}_{name}", places), table(f"IN_{n}_{name}", [g == name for g in groups])
                    domains = int(places.max()) + 1
                    kind = next(number for number, role in enumerate(KINDS) if role.group == name)
                    lives = table(f"LIVE_{n}_{name}", [(live[kind] & (places == d)).any() for d in range(domains)])
                    # By how many a domain has more than another one, which only counts if anybody could go there.
                    resources[f"MORE_{n}_{name}[d in {domains}, e in {domains}]"] = (
                        f"if {lives}[e] == 1 and d != e then {skew} else {len(groups) + 1}"
                    )
                    for sign, pair in (("+=", f"{at}[BIN], e"), ("-=", f"e, {at}[BIN]")):
                        rest.append(f"for e in {domains} UTIL.MORE_{n}_{name}[{pair}] {sign} {ours}[BALL] end")
            case Apart(names, per):
                named = every if names == ("*",) else names
                pairs = [list(pair) for one, two in combinations(named, 2) for pair in _pairs(of(one), of(two))]
                if per == "server":
                    foes += pairs
                elif pairs:
                    rest.append(_meet(table(f"FOE_{n}", pairs), table(f"AT_{n}", labels.domains(per)[0]), "=="))
            case Together(names, per):
                for some in ([name] for name in every) if names == ("*",) else [list(names)]:
                    balls = of(*some)
                    if len(balls) > 1 and per == "server":
                        friends.append(balls)
                    elif len(balls) > 1:
                        pairs = [list(pair) for pair in combinations(balls, 2)]
                        key = f"{n}_{some[0]}"
                        at = table(f"AT_{key}", labels.domains(per)[0])
                        rest.append(_meet(table(f"KIN_{key}", pairs), at, "!="))
    text = PROCEDURE.format(rest="\n    ".join(rest))
    text += f" {stated('FRIENDS', friends)} {stated('FOES', foes)} {stated('DRAIN', [[bin_] for bin_ in set(drained)])}"
    return problem(text, balls=len(kinds), bins=servers, resources=resources, tables=tables)


def _pairs(ones: list[int], others: list[int]) -> list[tuple[int, int]]:
    return [(one, other) for one in ones for other in others]


def _meet(pairs: str, at: str, compared: str) -> str:
    """Reject a ball that meets one of its pairs in a domain, or does not."""
    lines = []
    for mine, other in ((0, 1), (1, 0)):
        lines.append(f"for i in len({pairs}) if {pairs}[i, {mine}] == BALL")
        lines.append(f"let o = ALLOC[{pairs}[i, {other}]]")
        lines.append(f"if o != NULL if {at}[o] {compared} {at}[BIN] REJECT end end end end")
    return "\n    ".join(lines)


def accepted(
    labels: ServerLabels, written: Sequence[Rule], kinds: list[int], needs: list[int], where: list[int]
) -> bool:
    """Does the ledger take the requests on these servers, in some order?"""
    capacity = np.full((labels.servers, 1, 1), CORES * QUANTUM)
    cluster = Cluster(("cpu",), capacity, (NEVER,), capacity[0])
    asked = Workload.of_units([0.0], 1.0, {"cpu": 1})
    ledger = Ledger(cluster, labels, written)
    ledger.roles_of(replace(asked, roles=Roles(KINDS, np.zeros(1, np.int64))))
    for order in permutations(range(len(kinds))):
        placed = []
        try:
            for row in order:
                request = Request(row, 0.0, 1.0, (needs[row] * QUANTUM,), False, role=kinds[row])
                ledger.apply(request, request.on(where[row], 0))
                placed.append(row)
        except InfeasiblePlacement:
            pass
        for row in placed:
            ledger.release(row)
        if len(placed) == len(kinds):
            return True
    return False


@pytest.mark.long
@pytest.mark.parametrize("kind", [AtMost, Spread, Apart, Together, Drain])
@given(labelled(2), st.data())
@scaled(0.5)
def test_both_allow_the_same(kind: type[Rule], labels: ServerLabels, data: st.DataObject) -> None:
    drawn = [data.draw(rule_of(kind, labels.servers)), *data.draw(rules(labels.servers))]
    # Who is near depends on who came first, and what is emptied later on when: neither is a snapshot.
    written = [rule for rule in drawn[:2] if not isinstance(rule, Near) and not (isinstance(rule, Drain) and rule.at)]
    written = list({str(rule): rule for rule in written}.values())
    kinds = data.draw(st.lists(st.sampled_from([0, 0, 1, 2, 3]), min_size=2, max_size=4))
    needs = data.draw(st.lists(st.sampled_from([1, 1, 2]), min_size=len(kinds), max_size=len(kinds)))
    spec = specification(labels, written, kinds, needs)
    may = [np.flatnonzero(labels.matching(role.where) & labels.tolerated(role.tolerates)).tolist() for role in KINDS]
    for _ in range(6):
        where = [data.draw(st.sampled_from(may[kind] or [0])) for kind in kinds]
        assert accepted(labels, written, kinds, needs, where) == (not faults(spec, where)), faults(spec, where)
