"""Updates the networks of double DQN, many times in one compiled call, with gradients by hand.

Each different observation in a batch is valued once, and gradients are added up by observation before they go backward.
"""

from typing import Any, NamedTuple

import numpy as np

from binwright.agents.learned.replay import CELLS, CHOSEN, DIFFERENT, TERMINATED, TRUNCATED
from binwright.simcore.jit import reordering
from binwright.simcore.types import Floats, Ints, Reals


class Learning(NamedTuple):
    """Holds what an update needs of the network, and of the settings of `binwright.agents.learned.dqn.DQN`.

    The network has so many `layers` with weights, two or more, `width` units between them, and `outputs`; its weights
    are of each layer those of the first input, of the second, ..., then the biases. `dueling` outputs are advantages
    less their mean, plus the value of the state, whose weights come last (Wang et al. 2016, arXiv:1511.06581).
    """

    layers: int
    width: int
    outputs: int
    dueling: bool
    slots: int
    rate: float
    discount: float
    returns: int
    huber: bool
    target: int
    tau: float
    averaged: float


@reordering
def forward(theta: Reals, how: Learning, seen: Reals, hidden: Reals) -> Reals:
    """Compute outputs float32 [n, outputs] for `seen` [n, inputs]; writes units to `hidden` [layers - 1, n, width]."""
    values, units, at = np.empty((len(seen), how.outputs), np.float32), seen, 0
    for layer in range(how.layers):
        ends = layer == how.layers - 1
        out = values if ends else hidden[layer]
        inputs, outputs = units.shape[1], out.shape[1]
        bias = at + inputs * outputs
        np.dot(units, theta[at:bias].reshape(inputs, outputs), out)
        for row in range(len(out)):
            for j in range(outputs):
                total = out[row, j] + theta[bias + j]
                out[row, j] = total if ends else max(total, np.float32(0))
        at, units = bias + outputs, out
    if how.dueling:
        last = hidden[how.layers - 2]
        for row in range(len(values)):
            state = theta[at + how.width] - values[row].sum() / np.float32(how.outputs)
            for j in range(how.width):
                state += last[row, j] * theta[at + j]
            values[row] += state
    return values


@reordering
def backward(theta: Reals, how: Learning, seen: Reals, hidden: Reals, slopes: Reals) -> Reals:
    """Compute the gradient of sum(slopes * values) of what `forward` computed, float32 [weights]; changes `slopes`.

    `slopes` are float32 [n, outputs]. Rows of `hidden` beyond these are of other observations.
    """
    grad, end, count = np.zeros_like(theta), len(theta), len(seen)
    total = np.zeros(count, np.float32)
    if how.dueling:
        end -= how.width + 1
        last = hidden[how.layers - 2]
        for row in range(count):
            total[row] = slopes[row].sum()
            slopes[row] -= total[row] / np.float32(how.outputs)
            grad[end + how.width] += total[row]
            for j in range(how.width):
                grad[end + j] += total[row] * last[row, j]
    state = end
    for layer in range(how.layers - 1, -1, -1):
        units = hidden[layer - 1][:count] if layer > 0 else seen
        inputs, outputs = units.shape[1], slopes.shape[1]
        bias = end - outputs
        end = bias - inputs * outputs
        np.dot(units.T, slopes, grad[end:bias].reshape(inputs, outputs))
        for row in range(count):
            for j in range(outputs):
                grad[bias + j] += slopes[row, j]
        if layer > 0:
            slopes = np.dot(slopes, theta[end:bias].reshape(inputs, outputs).T)
            for row in range(count):
                if how.dueling and layer == how.layers - 1:
                    slopes[row] += total[row] * theta[state : state + inputs]
                for j in range(inputs):
                    slopes[row, j] = slopes[row, j] if units[row, j] > 0 else np.float32(0)
    return grad


@reordering
def meet(
    records: Any, row: int, first: int, last: int, slots: int, outputs: int, met: Ints, known: Any, count: int
) -> int:
    """Add the observations of a record's slots first to last and of its shared cells to met[:count].

    Returns how many there are then; `known`, which tells which are there, changes.
    """
    after = CELLS + slots
    shared = after + slots
    ranges = (
        (CELLS + first, CELLS + last, 1),
        (after + first, after + last, 1),
        (shared, shared + 2 * records[row, DIFFERENT], 2),
    )
    for start, end, step in ranges:
        for at in range(start, end, step):
            number = records[row, at] if outputs == 1 else records[row, at] // outputs
            if known[number] == 0:
                known[number], met[count] = 1, number
                count += 1
    return count


@reordering
def rewards_from(row: int, outcome: Any, rewards: Floats, how: Learning) -> tuple[float, float, int]:
    """Add up the discounted rewards from a decision on, the next `how.returns` if the episode lasts so long.

    Returns the sum, and the discount and row of the decision after them: 0 where the episode is over. A decision whose
    outcome is not known is one after them.
    """
    total, discount, end = 0.0, 1.0, row + how.returns
    while row < end and outcome[row] != TRUNCATED:
        total += discount * rewards[row]
        if outcome[row] == TERMINATED:
            return total, 0.0, row
        discount *= how.discount
        row += 1
    return total, discount, row


@reordering
def best_gain(records: Any, row: int, slots: int, values: Reals) -> int:
    """Return the slot that gains most, the first of equals."""
    best, highest = 0, np.float32(-np.inf)
    for slot in range(slots):
        gain = values[records[row, CELLS + slot]] - values[records[row, CELLS + slots + slot]]
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
def add_slopes(
    records: Any, rows: Ints, wanted: Floats, how: Learning, values: Reals, slopes: Reals
) -> tuple[float, float]:
    """Add the slopes of the loss by cell to `slopes`; returns the loss and the mean value of the chosen.

    The rows' choices are `wanted` to be worth that.
    """
    batch, slots, loss, mean = len(rows), how.slots, 0.0, 0.0
    shared = CELLS + 2 * slots
    for b, row in enumerate(rows):
        total = total_of(records, row, slots, records[row, CHOSEN], values)
        error = total - np.float32(wanted[b])
        mean += total / batch
        if how.huber:
            loss += (0.5 * error * error if abs(error) < 1 else abs(error) - 0.5) / batch
            error = max(np.float32(-1), min(np.float32(1), error)) / np.float32(2)
        else:
            loss += error * error / batch
        step = 2 * error / np.float32(batch)
        chosen = CELLS + records[row, CHOSEN]
        slopes[records[row, chosen]] += step
        slopes[records[row, chosen + slots]] -= step
        for at in range(shared, shared + 2 * records[row, DIFFERENT], 2):
            slopes[records[row, at]] += step * np.float32(records[row, at + 1])
    return loss, mean


@reordering
def adam(theta: Reals, grad: Reals, moments: Reals, rate: float, learned: int) -> None:
    """Take Adam's step number `learned` down a gradient; changes `theta` and `moments`."""
    step, root = np.float32(rate / (1 - 0.9**learned)), np.float32(np.sqrt(1 - 0.999**learned))
    for i in range(len(theta)):
        moments[0, i] += (grad[i] - moments[0, i]) * np.float32(0.1)
        moments[1, i] = moments[1, i] * np.float32(0.999) + np.float32(0.001) * grad[i] * grad[i]
        theta[i] -= step * moments[0, i] / (np.sqrt(moments[1, i]) / root + np.float32(1e-8))


@reordering
def follow(network: Reals, theta: Reals, share: float) -> None:
    """Move a network's weights to `theta` by a share of the way."""
    for i in range(len(theta)):
        network[i] = theta[i] if share == 1 else network[i] + np.float32(share) * (theta[i] - network[i])


@reordering
def update(
    samples: Ints, memory: Any, networks: Reals, moments: Reals, how: Learning, learned: int, metrics: Floats
) -> int:
    """Learn from batches int64 [updates, batch] of decisions in `memory`; returns how many updates there were in all.

    Changes the `networks` float32 [3, weights] (the target network, the network, and its average), and Adam's `moments`
    [2, weights]; writes loss and mean value of the chosen to `metrics` [updates, 2].
    """
    outcome, rewards, records, observations = memory
    target, theta, average = networks[0], networks[1], networks[2]
    batch, slots, outputs, most = samples.shape[1], how.slots, how.outputs, len(observations)
    met, known = np.empty(most, np.int64), np.zeros(most, np.uint8)
    known[0] = 1  # it stands for none
    by_cell = np.zeros((3, most * outputs), np.float32)
    later, values, slopes = by_cell[0], by_cell[1], by_cell[2]
    after, wanted, discounts = np.empty(batch, np.int64), np.empty(batch), np.empty(batch)
    for number in range(len(samples)):
        rows, current = samples[number], 0
        for row in rows:
            chosen = records[row, CHOSEN]
            current = meet(records, row, chosen, chosen + 1, slots, outputs, met, known, current)
        count = current
        for b in range(batch):
            total, discounts[b], after[b] = rewards_from(rows[b], outcome, rewards, how)
            wanted[b] = (1 - how.discount) * total
            if discounts[b] > 0:
                count = meet(records, after[b], 0, slots, slots, outputs, met, known, count)
        seen = observations[met[:count]]
        hidden = np.empty((how.layers - 1, count, how.width), np.float32)
        outs_later, outs = forward(target, how, seen, hidden), forward(theta, how, seen, hidden)
        for k in range(count):
            known[met[k]] = 0
            for j in range(outputs):
                later[met[k] * outputs + j], values[met[k] * outputs + j] = outs_later[k, j], outs[k, j]
        for b in range(batch):
            if discounts[b] > 0:
                best = best_gain(records, after[b], slots, values)
                wanted[b] += discounts[b] * total_of(records, after[b], slots, best, later)
        metrics[number, 0], metrics[number, 1] = add_slopes(records, rows, wanted, how, values, slopes)
        for k in range(current):
            for j in range(outputs):
                outs[k, j] = slopes[met[k] * outputs + j]
                slopes[met[k] * outputs + j] = 0
        grad = backward(theta, how, seen[:current], hidden, outs[:current])
        learned += 1
        adam(theta, grad, moments, how.rate, learned)
        if learned % how.target == 0:
            follow(target, theta, how.tau)
        follow(average, theta, how.averaged)
    return learned
