"""Which numbers of bins are tried, and when the search ends."""

from hypothesis import given
from hypothesis import strategies as st

from binwright.agents.solver.search.bin_count import fewest, rounds


@given(
    least=st.integers(1, 12), below=st.integers(0, 4), beyond=st.integers(0, 4),
    luck=st.lists(st.booleans(), max_size=20), proofs=st.lists(st.integers(0, 2), max_size=20), knows=st.booleans(),
)  # fmt: skip
def test_search_for_the_fewest_bins_ends_at_the_optimum(
    least: int, below: int, beyond: int, luck: list[bool], proofs: list[int], knows: bool
) -> None:
    """Also where proofs raise the bound beside the attempts, and an attempt then reaches it."""
    bound, most = max(1, least - below), least + beyond
    known = most if knows else None
    tried = 0

    def attempt(bins: int, attempts: range) -> int | None:
        nonlocal bound, known, tried
        assert bound <= bins <= most
        assert known is None or bins < known
        if bins >= least and (tried >= len(luck) or luck[tried]):
            known = bins
        bound = min(least, bound + proofs[tried]) if tried < len(proofs) else least
        tried += 1
        assert tried < 1_000
        return known

    fewest(lambda: bound, most, known, rounds(1, 1 << 60), attempt)
    assert known == bound == least
