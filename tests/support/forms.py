"""Small problems of all forms that the allocation language has."""

from hypothesis import strategies as st

from binwright.agents.solver import problem
from binwright.agents.solver.model.problem import Problem

USES = {
    "zones": "UTIL.C[BIN] += D[BALL] UTIL.Z[BALL % 2, BIN % 2] += 1",
    "pairs": """UTIL.C[BIN] += 1 for o in P[BALL] if ALLOC[o] != NULL and ALLOC[o] != BIN
        UTIL.C[BIN] += D[BALL] * D[o] UTIL.C[ALLOC[o]] += D[BALL] * D[o] UTIL.Z[0, 1] += 1 end end""",
    "hump": """let m = count(o in BALLS except BALL: ALLOC[o] == BIN)
        UTIL.C[BIN] += min(m + 1, 4 - m) - min(m, 5 - m) UTIL.Z[0, BIN % 2] += 1""",
    "reject": """for o in BALLS except BALL if ALLOC[o] == BIN and (D[o] + D[BALL]) % 3 == 2 REJECT end end
        UTIL.C[BIN] += 1""",
    "falls": "UTIL.C[BIN] += D[BALL] UTIL.Z[BALL % 2, BIN % 2] += 1 - BALL % 3",
}


@st.composite
def forms(draw: st.DrawFn) -> Problem:
    """Draw small problems of all kinds, in which the order of balls does not matter."""
    balls, bins = draw(st.integers(3, 9)), draw(st.integers(1, 5))
    demand = draw(st.lists(st.integers(0, 3), min_size=balls, max_size=balls))
    peers: list[list[int]] = [[] for _ in range(balls)]
    for each, other in draw(st.sets(st.tuples(st.integers(0, balls - 1), st.integers(0, balls - 1)), max_size=5)):
        if each < other:
            peers[each].append(other)
            peers[other].append(each)
    lines = [f"TABLE D = {demand} BALLS {balls} BINS {bins}"]
    lines.append(f"RESOURCES C[b in BINS] => {draw(st.integers(1, 6))}, Z[a in 2, z in 2] => {draw(st.integers(1, 5))}")
    if draw(st.booleans()):
        lines.append("SOFT C SHARE 0.6 OVER 0.5")
    for kind in draw(st.lists(st.sampled_from(["FRIENDS", "FOES"]), max_size=3)):
        size = st.lists(st.integers(0, balls - 1), min_size=2, max_size=3, unique=True)
        members = ", ".join(map(str, draw(size)))
        lines.append(f"{kind} {members} WITH {draw(st.sampled_from(['0.5', '1']))}")
    pinned = draw(st.lists(st.integers(0, balls - 1), max_size=2, unique=True))
    lines += [f"PIN {ball} TO {draw(st.integers(0, bins - 1))}" for ball in pinned]
    use = USES[draw(st.sampled_from(list(USES)))]
    return problem(
        f"{' '.join(lines)} procedure UTILFN(BALL, BIN, ALLOC) {use} end", tables={"P": peers} if "P[" in use else None
    )
