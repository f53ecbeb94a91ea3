"""Updates the networks of double DQN, many times in one compiled call, with gradients by hand.

Each different observation in a batch is valued once, however many decisions it is in, and gradients are added up by
observation before they go backward. Layers are products of float32 matrices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.agents.learned.numa.replay_buffer import CELLS, CHOSEN, DIFFERENT, TAUGHT, TERMINATED, TRUNCATED
from binwright.simcore.jit import kernel, reordering
from binwright.simcore.types import Floats, Ints

Reals = npt.NDArray[np.float32]


class Shape(NamedTuple):
    """Says how many layers with weights the network has, the units between them, and its outputs.

    The weights are of each layer those of the first input, of the second, ..., then the biases. `dueling` outputs are
    advantages less their mean, plus the value of the state, whose weights come last (Wang et al. 2016,
    arXiv:1511.06581).
    """

    layers: int
    width: int
    outputs: int
    dueling: bool


class Learning(NamedTuple):
    """Holds the settings of `binwright.agents.learned.numa.dqn.DQN` that an update needs."""

    rate: float
    discount: float
    returns: int
    huber: bool
    target: int
    tau: float
    averaged: float
    slots: int


@kernel
def returns(
    outcome: npt.NDArray[np.int8], rewards: Floats, rows: Ints, most: int, discount: float
) -> tuple[Floats, Ints, Floats]:
    """Add up the rewards from decisions `rows` [n] on, the next `most` of each if the episode lasts so long.

    Returns the discounted sums, the decisions after them, and the discounts of these: 0 where the episode is over. A
    decision whose outcome is not known is one after them.
    """
    sums, after, discounts = np.zeros(len(rows)), np.empty(len(rows), np.int64), np.ones(len(rows))
    for i, row in enumerate(rows):
        at = row
        while at < row + most and outcome[at] != TRUNCATED:
            sums[i] += discounts[i] * rewards[at]
            discounts[i] *= discount
            if outcome[at] == TERMINATED:
                discounts[i] = 0.0
                break
            at += 1
        after[i] = at
    return sums, after, discounts


@reordering
def forward(theta: Reals, shape: Shape, seen: Reals, hidden: Reals, values: Reals) -> None:
    """Write the outputs for `seen` float32 [n, inputs] to `values` [n, outputs]; each layer's units go to `hidden`."""
    count, at, units = len(seen), 0, seen
    for layer in range(shape.layers - 1):
        inputs, out = units.shape[1], hidden[layer][:count]
        end = at + inputs * shape.width
        np.dot(units, theta[at:end].reshape(inputs, shape.width), out)
        for row in range(count):
            for j in range(shape.width):
                out[row, j] = max(out[row, j] + theta[end + j], np.float32(0))
        at, units = end + shape.width, out
    inputs = units.shape[1]
    end = at + inputs * shape.outputs
    np.dot(units, theta[at:end].reshape(inputs, shape.outputs), values)
    values += theta[end : end + shape.outputs]
    if shape.dueling:
        end += shape.outputs
        for row in range(count):
            state = theta[end + inputs] - values[row].sum() / np.float32(shape.outputs)
            for j in range(inputs):
                state += units[row, j] * theta[end + j]
            values[row] += state


@reordering
def add_rows(rows: Reals, sums: Reals) -> None:
    """Add rows [n, any] to `sums` [any]."""
    for row in range(len(rows)):
        for j in range(len(sums)):
            sums[j] += rows[row, j]


@reordering
def backward(theta: Reals, shape: Shape, seen: Reals, hidden: Reals, slopes: Reals, grad: Reals, below: Reals) -> None:
    """Write to `grad` the gradient of sum(slopes * values) of what `forward` computed; changes `slopes`, `below`.

    `slopes` are float32 [n, outputs], `below` float32 [2, n, width].
    """
    count, first = len(seen), seen.shape[1]
    last = hidden[shape.layers - 2][:count] if shape.layers > 1 else seen
    inputs, grad[:] = last.shape[1], 0
    at = (first + 1) * shape.width + (shape.layers - 2) * (shape.width + 1) * shape.width if shape.layers > 1 else 0
    end = at + inputs * shape.outputs
    state = end + shape.outputs
    total = np.zeros(count, np.float32)
    if shape.dueling:
        for row in range(count):
            total[row] = slopes[row].sum()
            slopes[row] -= total[row] / np.float32(shape.outputs)
            grad[state + inputs] += total[row]
            for j in range(inputs):
                grad[state + j] += total[row] * last[row, j]
    np.dot(last.T, slopes, grad[at:end].reshape(inputs, shape.outputs))
    add_rows(slopes, grad[end:state])
    if shape.layers == 1:
        return
    here, there = below[0][:count], below[1][:count]
    np.dot(slopes, theta[at:end].reshape(inputs, shape.outputs).T, here)
    if shape.dueling:
        for row in range(count):
            here[row] += total[row] * theta[state : state + inputs]
    for layer in range(shape.layers - 2, -1, -1):
        out = hidden[layer][:count]
        for row in range(count):
            for j in range(shape.width):
                here[row, j] = here[row, j] if out[row, j] > 0 else np.float32(0)
        units = hidden[layer - 1][:count] if layer > 0 else seen
        inputs = units.shape[1]
        end, at = at, at - (inputs + 1) * shape.width
        np.dot(units.T, here, grad[at : end - shape.width].reshape(inputs, shape.width))
        add_rows(here, grad[end - shape.width : end])
        if layer > 0:
            np.dot(here, theta[at : end - shape.width].reshape(inputs, shape.width).T, there)
            here, there = there, here


@reordering
def meet(
    records: Any, row: int, first: int, last: int, slots: int, outputs: int, met: Ints, count: int, known: Any
) -> int:
    """Add the observations of a record's slots first to last and of its shared cells to met[:count].

    Returns how many there are then. `known` uint8 [any] tells which are there; it changes.
    """
    shared = CELLS + 2 * slots
    for start, end in ((CELLS + first, CELLS + last), (CELLS + slots + first, CELLS + slots + last)):
        for at in range(start, end):
            number = records[row, at] if outputs == 1 else records[row, at] // outputs
            if known[number] == 0:
                known[number], met[count] = 1, number
                count += 1
    for at in range(shared, shared + 2 * records[row, DIFFERENT], 2):
        number = records[row, at] if outputs == 1 else records[row, at] // outputs
        if known[number] == 0:
            known[number], met[count] = 1, number
            count += 1
    return count


@reordering
def best_gain(records: Any, row: int, slots: int, values: Reals, margin: float) -> int:
    """Return the slot that gains most, the first of equals; others than the taught gain `margin` more."""
    best, highest = 0, np.float32(-np.inf)
    for slot in range(slots):
        gain = values[records[row, CELLS + slot]] - values[records[row, CELLS + slots + slot]]
        gain += np.float32(margin * (slot + 1 != records[row, TAUGHT]))
        if records[row, CELLS + slot] > 0 and gain > highest:
            best, highest = slot, gain
    return best


@reordering
def total_of(records: Any, row: int, slots: int, slot: int, values: Reals) -> Any:
    """Return what the choice of a slot is worth, with all shared cells."""
    total = values[records[row, CELLS + slot]] - values[records[row, CELLS + slots + slot]]
    shared = CELLS + 2 * slots
    for at in range(shared, shared + 2 * records[row, DIFFERENT], 2):
        total += values[records[row, at]] * np.float32(records[row, at + 1])
    return total


@reordering
def follow(network: Reals, theta: Reals, share: float) -> None:
    """Move a network's weights to `theta` by a share of the way."""
    for i in range(len(theta)):
        network[i] = theta[i] if share == 1 else network[i] + np.float32(share) * (theta[i] - network[i])


@reordering
def update(
    samples: Ints, memory: Any, theta: Reals, target: Reals, average: Reals, moments: Reals, shape: Shape,
    how: Learning, imitates: bool, learned: int, metrics: Floats,
) -> int:  # fmt: skip
    """Learn from batches int64 [updates, batch] of decisions in `memory`; returns how many updates there were in all.

    Changes the networks `theta`, `target` and `average`, and Adam's `moments` [2, any]; writes loss and mean value of
    the chosen to `metrics` [updates, 2]. Where it `imitates`, a margin loss to the teacher's choice is added.
    """
    outcome, rewards, baseline, records, observations = memory
    batch, outputs, margin, slots = samples.shape[1], shape.outputs, 1 - how.discount, how.slots
    most, shared = min(len(observations), batch * records.shape[1]), CELLS + 2 * slots
    seen, grad = np.empty((most, observations.shape[1]), np.float32), np.empty_like(theta)
    hidden = np.empty((max(shape.layers - 1, 1), most, shape.width), np.float32)
    below, outs = np.empty((2, most, shape.width), np.float32), np.empty((2, most, outputs), np.float32)
    values = np.zeros(len(observations) * outputs, np.float32)  # of each cell, and so are the next two
    later, slopes = np.zeros_like(values), np.zeros_like(values)
    met, known = np.empty(most, np.int64), np.zeros(len(observations), np.uint8)
    known[0] = 1
    near = np.empty((2 * batch, records.shape[1]), records.dtype)  # copies, as memory is slow: decisions, next ones
    for number in range(len(samples)):
        sums, after, discounts = returns(outcome, rewards, samples[number], how.returns, how.discount)
        count = taught = 0
        for b in range(batch):
            row, following = samples[number, b], after[b]
            for i in range(records.shape[1]):
                near[b, i] = records[row, i]
            for i in range(records.shape[1]):
                near[batch + b, i] = records[following, i]
            taught += near[b, TAUGHT] > 0
            first, last = (0, slots) if imitates else (near[b, CHOSEN], near[b, CHOSEN] + 1)
            count = meet(near, b, first, last, slots, outputs, met, count, known)
        current = count  # what comes after them is of next decisions only, and has no gradient
        for row in range(batch, 2 * batch):
            if discounts[row - batch] > 0:
                count = meet(near, row, 0, slots, slots, outputs, met, count, known)
        for k in range(count):
            known[met[k]] = 0
            for i in range(seen.shape[1]):
                seen[k, i] = observations[met[k], i]
        forward(target, shape, seen[:count], hidden, outs[0][:count])
        forward(theta, shape, seen[:count], hidden, outs[1][:count])
        for k in range(count):
            for j in range(outputs):
                cell = met[k] * outputs + j
                later[cell], values[cell], slopes[cell] = outs[0, k, j], outs[1, k, j], 0
        loss = mean = 0.0
        for b in range(batch):
            wanted = margin * sums[b] - baseline[samples[number, b]]
            if discounts[b] > 0:
                best = best_gain(near, batch + b, slots, values, 0.0)
                wanted += discounts[b] * total_of(near, batch + b, slots, best, later)
            total = total_of(near, b, slots, near[b, CHOSEN], values)
            error = total - np.float32(wanted)
            mean += total / batch
            if how.huber:
                loss += (0.5 * error * error if abs(error) < 1 else abs(error) - 0.5) / batch
                error = max(np.float32(-1), min(np.float32(1), error)) / np.float32(2)
            else:
                loss += error * error / batch
            step = 2 * error / np.float32(batch)
            chosen = CELLS + near[b, CHOSEN]
            slopes[near[b, chosen]] += step
            slopes[near[b, chosen + slots]] -= step
            for at in range(shared, shared + 2 * near[b, DIFFERENT], 2):
                slopes[near[b, at]] += step * np.float32(near[b, at + 1])
            if imitates and near[b, TAUGHT] > 0:
                best, right = CELLS + best_gain(near, b, slots, values, margin), CELLS + near[b, TAUGHT] - 1
                loss += margin * (best != right) / taught
                for sign, at in ((1, best), (-1, right)):
                    loss += sign * (values[near[b, at]] - values[near[b, at + slots]]) / taught
                    slopes[near[b, at]] += np.float32(sign / taught)
                    slopes[near[b, at + slots]] -= np.float32(sign / taught)
        for k in range(current):
            for j in range(outputs):
                outs[0, k, j] = slopes[met[k] * outputs + j]
        backward(theta, shape, seen[:current], hidden, outs[0][:current], grad, below)
        learned += 1
        rate, root = np.float32(how.rate / (1 - 0.9**learned)), np.float32(np.sqrt(1 - 0.999**learned))
        for i in range(len(theta)):
            moments[0, i] += (grad[i] - moments[0, i]) * np.float32(0.1)
            moments[1, i] = moments[1, i] * np.float32(0.999) + np.float32(0.001) * grad[i] * grad[i]
            theta[i] -= rate * moments[0, i] / (np.sqrt(moments[1, i]) / root + np.float32(1e-8))
        if learned % how.target == 0:
            follow(target, theta, how.tau)
        follow(average, theta, how.averaged)
        metrics[number, 0], metrics[number, 1] = loss, mean
    return learned
