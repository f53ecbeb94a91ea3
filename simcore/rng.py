"""Random streams: one seed, a named child per use, so that adding a stream moves no other."""

import hashlib

import numpy as np


def stream(seed: int, *name: str | int) -> np.random.Generator:
    """Make the generator of one use, named by words and numbers: `stream(7, "faults", 3)`."""
    digest = hashlib.blake2b("/".join(map(str, name)).encode(), digest_size=8).digest()
    key = (int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:], "little"))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
