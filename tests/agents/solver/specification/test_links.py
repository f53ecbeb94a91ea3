"""HOSE and PIPE add what is otherwise written by hand: the same to every dimension, whatever is placed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.solver import examples, load_problem, problem
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.program import MICRO, NULL
from binwright.agents.solver.model.verify import utilisation
from tests.reference.utilisation import evaluate
from tests.support.properties import scaled


def without(example: str, begin: str, declarations: str) -> Problem:
    """Read an example with declarations in the place of its UTILFN from `begin` on."""
    text = examples()[example]
    return problem(f"{text[: text.index(begin)]}end\n{declarations}")


BY_HAND = {
    "oktopus": without(
        "oktopus",
        "    let c = TENANT",
        """TABLE FIRST[c in len(SIZE)] = sum(d in c: SIZE[d])
        HOSE FIRST[c] .. FIRST[c] + SIZE[c] RATE RATE[c] OVER LINK[BIN], UPLINK[BIN // PER_RACK] for c in len(SIZE)""",
    ),
    "network": without(
        "network",
        "    let rack =",
        "PIPE i, o RATE TRAFFIC[i, o] OVER LINK[BIN], UPLINK[BIN // PER_RACK] for i in BALLS, o in BALLS",
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
@scaled(1)
@given(data=st.data())
def test_a_declaration_adds_what_is_written_by_hand(name: str, data: st.DataObject) -> None:
    hand, declared = load_problem(name), BY_HAND[name]
    places = st.integers(NULL, hand.bins - 1)
    alloc = data.draw(st.lists(places, min_size=hand.balls, max_size=hand.balls))
    assert utilisation(declared, alloc) == utilisation(hand, alloc) == evaluate(declared, alloc)


SETS = st.lists(st.tuples(st.sets(st.integers(0, 4), min_size=2, max_size=5), st.sampled_from([0, 1, 2.5])), max_size=4)
PAIRS = st.lists(
    st.tuples(st.sets(st.integers(0, 4), min_size=2, max_size=2), st.sampled_from([0, 1, 0.5])), max_size=5
)
TREE = "RESOURCES S[b in BINS] => 9, L[b in BINS] => 99, U[r in 2, x in 2] => 99 TABLE RACK = [0, 0, 1, 1]"


@scaled(1)
@given(SETS, PAIRS, st.lists(st.integers(0, 3), min_size=5, max_size=5))
def test_links_carry_what_hoses_and_pipes_need(
    hoses: list[tuple[set[int], float]], pipes: list[tuple[set[int], float]], alloc: list[int]
) -> None:
    lines = [f"HOSE {', '.join(map(str, some))} RATE {rate} OVER L[BIN], U[RACK[BIN], 1]" for some, rate in hoses]
    lines += [f"PIPE {', '.join(map(str, some))} RATE {rate} OVER L[BIN], U[RACK[BIN], 1]" for some, rate in pipes]
    text = f"BALLS 5 BINS 4 {TREE} {' '.join(lines)} procedure UTILFN(BALL, BIN, ALLOC) UTIL.S[BIN] += 1 end"
    result = problem(text)
    used = utilisation(result, alloc)[0]
    assert (used, []) == evaluate(result, alloc)
    for link, below in [(4 + b, {b}) for b in range(4)] + [(8 + 2 * r + 1, {2 * r, 2 * r + 1}) for r in range(2)]:
        expected = 0.0
        for some, rate in [*hoses, *pipes]:
            m = sum(alloc[ball] in below for ball in some)
            expected += min(m, len(some) - m) * rate
        assert used[link] == expected * MICRO
    assert used[8] == used[10] == 0
