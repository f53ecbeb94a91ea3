"""Places by what every server is worth: the agent that value-es and hindsight both are, with weights of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from binwright.agents.learned.common.tensors import Tensors, fitting, read
from binwright.agents.learned.common.training_conditions import Learned, noted
from binwright.agents.learned.numa.remaining_fits import PER_SIZE, SIZE_COLUMNS, beginning_of, known_sizes, sizes_of
from binwright.agents.learned.numa.settings import NODES, check_servers
from binwright.agents.learned.numa.value import HIDDEN, KNOWN, SIZE, beginning, table_of, value_es, value_es_by_table
from binwright.agents.rules.scan import ScanAgent
from binwright.agents.world import World
from binwright.simcore.errors import UserError
from binwright.simcore.types import Compiled, Floats, Ints, View


class ValueAgent(Learned, ScanAgent):
    """Takes the place that costs its server least of its worth, by the weights in a file, or by the known terms alone.

    `untrained` has the weights with which the training of the file began. Subclasses have a `name`, by which their
    weights are known.
    """

    name: ClassVar[str]
    scan = staticmethod(value_es)

    def __init__(self, file: Path | None, untrained: bool = False) -> None:
        self._file, self._untrained = file, untrained
        self.numbers = value_of(begun(np.zeros((0, SIZE_COLUMNS))), np.zeros((0, SIZE_COLUMNS))).weights

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Load the weights."""
        check_servers(view, self.name)
        if self._file is not None:
            weights, sizes = self._found(view, self._file)
            self.numbers = value_of(begun(sizes) if self._untrained else weights, sizes).weights
        self.get_ready(view)

    def _found(self, view: View, file: Path) -> tuple[Floats, Floats]:
        """Read the weights, and the sizes of requests that they know."""
        tensors, notes = read(file)
        count = len(tensors["sizes"]) if "sizes" in tensors and tensors["sizes"].ndim else 0
        shapes: dict[str, tuple[int, ...]] = {"weights": (SIZE + PER_SIZE * count,)}
        if count:
            shapes["sizes"] = count, SIZE_COLUMNS
        found = fitting(file, shapes, described(view, self.name))
        self.regime = noted(notes)
        sizes = found["sizes"].astype(np.float64) if count else np.zeros((0, SIZE_COLUMNS))
        if not (sizes[:, :2] >= 1).all():
            raise UserError("has sizes of requests below 1", file=file, remedy="Train some: `binwright train`.")
        return found["weights"].astype(np.float64), sizes


def value_of(weights: Floats, sizes: Floats) -> Compiled:
    """Return the rule with these weights, float64 [SIZE + PER_SIZE * k], of shares and of `sizes` float64 [k, 4]."""
    return Compiled(value_es, (weights[:SIZE].copy(), known_sizes(sizes, weights[SIZE:])))


def by_table(rule: Compiled, capacity: Ints, grains: Ints | None) -> Compiled:
    """Return what decides as a rule of `value_of` does, in less time, if there are `grains_of` the requests.

    All servers have this capacity, int64 [2 nodes, 2 resources].
    """
    if grains is None:
        return rule
    weights, known = rule.weights
    return Compiled(value_es_by_table, (table_of(weights, known, capacity, grains),))


def begun(sizes: Floats) -> Floats:
    """Return the weights with which training begins: the room for `sizes`, or without any the known terms."""
    weights = np.zeros(SIZE)
    if not len(sizes):
        weights[: len(KNOWN)] = KNOWN
    first, scale = beginning_of(sizes)
    return np.concatenate([weights, first * scale])


def first_of(
    training: World, seeds: Sequence[int], most: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Return the sizes that a training knows, `most` at most, where it begins, and its scale; see `beginning`.

    The sizes float64 [k, 4] are those of the training requests of some seeds.
    """
    sizes = np.zeros((0, SIZE_COLUMNS))
    if most:
        sizes = sizes_of(map(training.draw, seeds), training.ledger(0), most)
    parts = beginning(rng, not most), beginning_of(sizes)
    mean, scale = (np.concatenate(part) for part in zip(*parts, strict=True))
    return sizes, mean, scale


def described(view: View, agent: str) -> dict[str, Any]:
    """Return what the notes beside an agent's weights say they were trained for."""
    return {"agent": agent, "resources": list(view.resources), "nodes": NODES, "hidden": HIDDEN}


def tensors_of(weights: Floats, sizes: Floats) -> Tensors:
    """Return what is kept of weights and the sizes of requests that they know."""
    return {"weights": weights, "sizes": sizes} if len(sizes) else {"weights": weights}
