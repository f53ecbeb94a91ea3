"""Random streams: one seed, a named child per use, so that adding a stream moves no other."""

import hashlib

import numpy as np


def stream(seed: int, *name: str | int) -> np.random.Generator:
    """Make the generator of one use, named by words and numbers: `stream(7, "faults", 3)`."""
    digest = hashlib.blake2b("/".join(map(str, name)).encode(), digest_size=8).digest()
    key = (int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:], "little"))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


class TrackedGenerator(np.random.Generator):
    """A generator that knows whether anything was drawn from it, or from what it spawned."""

    def __init__(self, generator: np.random.Generator) -> None:
        super().__init__(generator.bit_generator)
        self._before = str(self.bit_generator.state)
        self._spawned: list[TrackedGenerator] = []

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        """Make children as numpy does, whose draws count, too."""
        children = [TrackedGenerator(np.random.Generator(bits)) for bits in self.bit_generator.spawn(n_children)]
        self._spawned += children
        return [*children]

    @property
    def drawn(self) -> bool:
        """Whether there was a draw."""
        return str(self.bit_generator.state) != self._before or any(child.drawn for child in self._spawned)
