"""Updates the networks of double DQN, many times in one compiled call, with gradients by hand.

Each different observation in a batch is valued once, and gradients are added up by observation before they go backward.
Kernels here make no arrays, which would take several times as long to compile.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.agents.learned.replay import CELLS, CHOSEN, DIFFERENT, TAUGHT, TERMINATED, TRUNCATED
from binwright.simcore.jit import reordering
from binwright.simcore.types import Floats, Ints

Reals: TypeAlias = npt.NDArray[np.float32]


class Learning(NamedTuple):
    """Holds what an update needs of the network, and of the settings of `binwright.agents.learned.dqn.DQN`.

    The network has so many `layers` with weights, `width` units between them, and `outputs`; its weights are of each
    layer those of the first input, of the second, ..., then the biases. `dueling` outputs are advantages less their
    mean, plus the value of the state, whose weights come last (Wang et al. 2016, arXiv:1511.06581).
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


class Scratch(NamedTuple):
    """Holds arrays that updates write to; `grad` and, but for the first, `known` are 0 between updates."""

    seen: Reals
    hidden: Reals
    outs: Reals
    below: Reals
    total: Reals
    grad: Reals
    later: Reals
    values: Reals
    slopes: Reals
    met: Ints
    known: Any
    rows: Ints
    sums: Floats
    discounts: Floats


def scratch_for(batch: int, how: Learning, records: Any, observations: Reals, weights: int) -> Scratch:
    """Make the arrays that updates by batches of so many decisions need."""
    most, cells = min(len(observations), batch * records.shape[1]), len(observations) * how.outputs

    def reals(*size: int) -> Reals:
        return np.zeros(size, np.float32)

    return Scratch(
        seen=reals(most, observations.shape[1]),
        hidden=reals(how.layers, most, how.width),
        outs=reals(2, most, how.outputs),  # of the target network, and of the network
        below=reals(2, most, how.width),
        total=reals(most),
        grad=reals(weights),
        later=reals(cells),
        values=reals(cells),
        slopes=reals(cells),
        met=np.zeros(most, np.int64),
        known=np.eye(1, len(observations), dtype=np.uint8)[0],
        rows=np.zeros((2, batch), np.int64),  # where decisions lie in the buffer, and those after them
        sums=np.zeros(batch),
        discounts=np.zeros(batch),
    )


@reordering
def forward(theta: Reals, how: Learning, seen: Reals, hidden: Reals, values: Reals) -> None:
    """Write the outputs for `seen` float32 [n, inputs] to `values` [n, outputs]; each layer's units go to `hidden`."""
    count, at, last, inputs = len(seen), 0, seen, 0
    units = seen
    for layer in range(how.layers):
        ends = layer == how.layers - 1
        last, inputs = units, units.shape[1]
        out = values if ends else hidden[layer][:count]
        outputs = out.shape[1]
        end = at + inputs * outputs
        np.dot(units, theta[at:end].reshape(inputs, outputs), out)
        lowest = np.float32(-np.inf) if ends else np.float32(0)
        for row in range(count):
            for j in range(outputs):
                out[row, j] = max(out[row, j] + theta[end + j], lowest)
        at, units = end + outputs, out
    if how.dueling:
        for row in range(count):
            state = theta[at + inputs] - values[row].sum() / np.float32(how.outputs)
            for j in range(inputs):
                state += last[row, j] * theta[at + j]
            for j in range(how.outputs):
                values[row, j] += state


@reordering
def backward(
    theta: Reals, how: Learning, seen: Reals, hidden: Reals, slopes: Reals, grad: Reals, below: Reals, total: Reals
) -> None:
    """Add to `grad` the gradient of sum(slopes * values) of what `forward` computed; changes `slopes` and scratch.

    `slopes` are float32 [n, outputs], `below` float32 [2, n, width], `total` float32 [n].
    """
    count, end = len(seen), len(theta)
    inputs = how.width if how.layers > 1 else seen.shape[1]
    if how.dueling:
        end -= inputs + 1
        last = hidden[how.layers - 2][:count] if how.layers > 1 else seen
        for row in range(count):
            total[row] = slopes[row].sum()
            slopes[row] -= total[row] / np.float32(how.outputs)
            grad[end + inputs] += total[row]
            for j in range(inputs):
                grad[end + j] += total[row] * last[row, j]
    state, gradient = end, slopes
    for layer in range(how.layers - 1, -1, -1):
        units = hidden[layer - 1][:count] if layer > 0 else seen
        inputs, outputs = units.shape[1], gradient.shape[1]
        bias = end - outputs
        at = bias - inputs * outputs
        np.dot(units.T, gradient, grad[at:bias].reshape(inputs, outputs))
        for row in range(count):
            for j in range(outputs):
                grad[bias + j] += gradient[row, j]
        if layer > 0:
            gradient_below = below[layer % 2][:count]
            np.dot(gradient, theta[at:bias].reshape(inputs, outputs).T, gradient_below)
            if how.dueling and layer == how.layers - 1:
                for row in range(count):
                    gradient_below[row] += total[row] * theta[state : state + inputs]
            for row in range(count):
                for j in range(inputs):
                    gradient_below[row, j] = gradient_below[row, j] if units[row, j] > 0 else np.float32(0)
            gradient = gradient_below
        end = at


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
def gather(
    samples: Ints, memory: Any, networks: Reals, how: Learning, imitates: bool, room: Scratch
) -> tuple[int, int]:
    """Value all observations that the decisions `samples` int64 [batch], and those after them, need.

    Adds up the rewards from each decision on, the next `how.returns` of them if the episode lasts so long: `room.sums`
    are discounted, `room.discounts` are of the decisions after them, 0 where the episode is over. A decision whose
    outcome is not known is one after them. Returns how many decisions are taught, and how many observations are of
    the decisions: those have a gradient.
    """
    outcome, rewards, _, records, observations = memory
    # Taking an array out of a tuple counts its holders, which takes as long as ten sums.
    rows, met, known, sums, discounts = room.rows, room.met, room.known, room.sums, room.discounts
    seen, outs, later, values, slopes = room.seen, room.outs, room.later, room.values, room.slopes
    batch = len(samples)
    count = taught = 0
    for b in range(batch):
        row = rows[0, b] = samples[b]
        taught += records[row, TAUGHT] > 0
        first, last = 0, how.slots
        if not imitates:
            first, last = records[row, CHOSEN], records[row, CHOSEN] + 1
        count = meet(records, row, first, last, how.slots, how.outputs, met, known, count)
    current = count
    for b in range(batch):
        row, sums[b], discounts[b] = samples[b], 0.0, 1.0
        end = row + how.returns
        while row < end and outcome[row] != TRUNCATED:
            sums[b] += discounts[b] * rewards[row]
            discounts[b] *= how.discount
            if outcome[row] == TERMINATED:
                discounts[b] = 0.0
                break
            row += 1
        rows[1, b] = row
        if discounts[b] > 0:
            count = meet(records, row, 0, how.slots, how.slots, how.outputs, met, known, count)
    for k in range(count):
        known[met[k]] = 0
        for i in range(seen.shape[1]):
            seen[k, i] = observations[met[k], i]
    for which in range(2):
        forward(networks[which], how, seen[:count], room.hidden, outs[which][:count])
    for k in range(count):
        for j in range(how.outputs):
            cell = met[k] * how.outputs + j
            later[cell], values[cell], slopes[cell] = outs[0, k, j], outs[1, k, j], 0
    return taught, current


@reordering
def slope(
    records: Any, baseline: Floats, how: Learning, imitates: bool, taught: int, room: Scratch
) -> tuple[float, float]:
    """Write the slopes of the loss by cell to `room.slopes`; returns the loss and the mean value of the chosen.

    Where it `imitates`, a margin loss to the teacher's choice is added.
    """
    batch, slots, rows, values, slopes = len(room.sums), how.slots, room.rows, room.values, room.slopes
    sums, discounts, later = room.sums, room.discounts, room.later
    margin, shared, loss, mean = 1 - how.discount, CELLS + 2 * how.slots, 0.0, 0.0
    for b in range(batch):
        row, after = rows[0, b], rows[1, b]
        wanted = margin * sums[b] - baseline[row]
        if discounts[b] > 0:
            best = best_gain(records, after, slots, values, 0.0)
            wanted += discounts[b] * total_of(records, after, slots, best, later)
        total = total_of(records, row, slots, records[row, CHOSEN], values)
        error = total - np.float32(wanted)
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
        if imitates and records[row, TAUGHT] > 0:
            best, right = CELLS + best_gain(records, row, slots, values, margin), CELLS + records[row, TAUGHT] - 1
            loss += margin * (best != right) / taught
            for sign, at in ((1, best), (-1, right)):
                loss += sign * (values[records[row, at]] - values[records[row, at + slots]]) / taught
                slopes[records[row, at]] += np.float32(sign / taught)
                slopes[records[row, at + slots]] -= np.float32(sign / taught)
    return loss, mean


@reordering
def follow(network: Reals, theta: Reals, share: float) -> None:
    """Move a network's weights to `theta` by a share of the way."""
    for i in range(len(theta)):
        network[i] = theta[i] if share == 1 else network[i] + np.float32(share) * (theta[i] - network[i])


@reordering
def update(
    samples: Ints, memory: Any, networks: Reals, moments: Reals, how: Learning, imitates: bool, learned: int,
    room: Scratch, metrics: Floats,
) -> int:  # fmt: skip
    """Learn from batches int64 [updates, batch] of decisions in `memory`; returns how many updates there were in all.

    Changes the `networks` float32 [3, weights] (the target network, the network, and its average), and Adam's `moments`
    [2, weights]; writes loss and mean value of the chosen to `metrics` [updates, 2].
    """
    target, theta, average, grad = networks[0], networks[1], networks[2], room.grad
    for number in range(len(samples)):
        taught, current = gather(samples[number], memory, networks, how, imitates, room)
        metrics[number, 0], metrics[number, 1] = slope(memory[3], memory[2], how, imitates, taught, room)
        slopes, cells, met = room.outs[0][:current], room.slopes, room.met
        for k in range(current):
            for j in range(how.outputs):
                slopes[k, j] = cells[met[k] * how.outputs + j]
        backward(theta, how, room.seen[:current], room.hidden, slopes, grad, room.below, room.total)
        learned += 1
        rate, root = np.float32(how.rate / (1 - 0.9**learned)), np.float32(np.sqrt(1 - 0.999**learned))
        for i in range(len(theta)):
            moments[0, i] += (grad[i] - moments[0, i]) * np.float32(0.1)
            moments[1, i] = moments[1, i] * np.float32(0.999) + np.float32(0.001) * grad[i] * grad[i]
            theta[i] -= rate * moments[0, i] / (np.sqrt(moments[1, i]) / root + np.float32(1e-8))
        for i in range(len(theta)):
            grad[i] = 0
        if learned % how.target == 0:
            follow(target, theta, how.tau)
        follow(average, theta, how.averaged)
    return learned
