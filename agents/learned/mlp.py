"""Keeps networks of plain layers as one array of weights: how many there are, what they begin with, one layer."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.simcore.jit import kernel
from binwright.simcore.types import Floats

# Of every layer [inputs, outputs] the weights of the first input, of the second, ..., then the biases.


def size_of(sizes: Sequence[int]) -> int:
    """Count the numbers of a network whose layers have these inputs and outputs."""
    return sum((inputs + 1) * outputs for inputs, outputs in pairwise(sizes))


def flatten(tensors: Mapping[str, npt.NDArray[Any]], names: Iterable[str]) -> npt.NDArray[Any]:
    """Join tensors with torch's layout, [outputs, inputs], into one array [any] with ours."""
    return np.concatenate([tensors[name].T.ravel() for name in names])


def untrained(sizes: Sequence[int], rng: np.random.Generator) -> Floats:
    """Draw first numbers, float64 [size_of(sizes)]: uniform with variance 2 / inputs (He et al. 2015), no biases.

    The last layer has a hundredth of that, so that the first values are near nothing. As float32 numbers, which is
    what torch goes on with.
    """
    parts = []
    for inputs, outputs in pairwise(sizes):
        most = np.sqrt(6 / inputs)
        parts += [rng.uniform(-most, most, inputs * outputs), np.zeros(outputs)]
    parts[-2] *= 0.01
    return np.concatenate(parts).astype(np.float32).astype(np.float64)


@kernel
def add_products(inputs: Any, count: int, weights: Any, at: int, outputs: Any, width: int) -> int:
    """Add inputs[:count] times the weights that begin at `at` to outputs[:width]; returns where the next ones begin.

    Each output is added up in the order of the inputs, so that the last bits do not depend on the machine.
    """
    # Places are never negative, and the loops three times as fast when the compiler knows.
    for i in range(count):
        x = inputs[i]
        if x != 0.0:
            row = at + i * width
            for j in range(width):
                outputs[np.uint64(j)] += x * weights[np.uint64(row + j)]
    return at + count * width


@kernel
def dense(inputs: Any, count: int, weights: Any, at: int, outputs: Any, width: int, rectified: bool) -> int:
    """Compute one layer, whose numbers begin at `at`, into outputs[:width]; returns where the next layer's begin."""
    bias = at + count * width
    for j in range(width):
        outputs[np.uint64(j)] = weights[np.uint64(bias + j)]
    add_products(inputs, count, weights, at, outputs, width)
    if rectified:
        for j in range(width):
            outputs[j] = max(outputs[j], 0.0)
    return bias + width


@kernel
def forward(count: int, weights: Floats, layers: int, width: int, outputs: int, room: Floats) -> Floats:
    """Return the outputs of a network with `layers` layers of weights, `width` units between them, for room[0, :count].

    They are a part of `room` float64 [2, any], which changes.
    """
    x, y, at = room[0], room[1], 0
    for _ in range(layers - 1):
        at = dense(x, count, weights, at, y, width, True)
        x, y, count = y, x, width
    dense(x, count, weights, at, y, outputs, False)
    values: Floats = y[:outputs]
    return values
