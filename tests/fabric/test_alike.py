"""Which servers are alike, kept up to date, against sets that are made anew."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fabric.alike import CLASSES, LEFT, RIGHT, Alike, alike, follow
from tests.support.changing import Changing, followed
from tests.support.properties import scaled


def classes_of(kept: Alike) -> dict[int, list[int]]:
    """The servers of each class, in order, by the first one; every heap has its parents below its children."""
    found = {}
    for first in kept.firsts[: kept.counts[CLASSES]].tolist():
        ahead, servers = [first], []
        while ahead:
            server = ahead.pop()
            below = [each for each in kept.heaps[server, [LEFT, RIGHT]].tolist() if each >= 0]
            assert all(server < each for each in below)
            ahead += below
            servers.append(server)
        found[first] = sorted(servers)
    return found


@given(st.integers(1, 150), st.integers(1, 3), st.integers(2, 4), st.integers(1, 3), st.integers(0, 2**32))
@scaled(3)
def test_classes_are_the_sets_of_equal_servers(servers: int, nodes: int, most: int, sizes: int, seed: int) -> None:
    """From none that is like another to all of one class; some changes are more than the log holds."""
    cluster = Changing(servers, nodes, np.random.default_rng(seed), most, sizes)
    for kept in followed(cluster, alike, 40):
        follow(kept, cluster.free, cluster.capacity, cluster.log)
        expected = defaultdict(list)
        for server, state in enumerate(zip(cluster.free.tolist(), cluster.capacity.tolist(), strict=True)):
            expected[str(state)].append(server)
        assert classes_of(kept) == {first: [first, *rest] for first, *rest in expected.values()}
        firsts = kept.firsts[: kept.counts[CLASSES]]
        np.testing.assert_array_equal(kept.states[:, : len(firsts)], [cluster.free[firsts], cluster.capacity[firsts]])
        totals = [cluster.free.sum(axis=(0, 1)), cluster.capacity.sum(axis=(0, 1))]
        np.testing.assert_array_equal(kept.totals, totals)
