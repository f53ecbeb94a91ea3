"""CVD-RL (Sheng and others 2025): how many requests servers take before the first that fits nowhere."""

from __future__ import annotations

import json

import numpy as np

from binwright.agents.learned.common.tensors import SHIPPED
from binwright.reproduction.claims import Value, keys_of
from binwright.reproduction.measures import Measure, Runs
from binwright.simcore.types import Floats, Ints

STARTS = 1000
"""Starts in the program's list. It plays 1000 / P batches of P: starts 0 to P - 1, then 1 to P, and so on."""
BATCHES = {"fading": {5: 5, 20: 5, 50: 50}, "recovering": {5: 5, 20: 50, 50: 50}}
"""How many episodes the program played at once on so many servers; with these, its spreads come out."""


def batches(count: int, size: int) -> Ints:
    """List the runs of every batch, int64 [batches, runs], of so many runs: each begins one start after the last."""
    size = min(size, count)
    number = min(max(1, STARTS // size), count - size + 1)
    return np.arange(number)[:, None] + np.arange(size)


def length(runs: Runs, agent: str, size: int) -> Value:
    """Average the lengths of batches."""
    values = runs.values(agent, "scheduled")
    return _of(values[batches(len(values), size)].mean(axis=1), values)


def rate(runs: Runs, agent: str, size: int, servers: int, column: str) -> Value:
    """Average, over batches, what is allocated at the end of their longest episode, in percent.

    What is free is divided by what as many servers have as there are episodes in a batch.
    """
    lengths, rates = runs.values(agent, "scheduled"), runs.values(agent, column)
    found = batches(len(lengths), size)
    longest = found[np.arange(len(found)), lengths[found].argmax(axis=1)]
    return _of(100 * (1 - (1 - rates[longest]) * servers / size), lengths)


def _of(each: Floats, runs: Floats) -> Value:
    """Make a value of those of the batches. It has no interval: the starts are the program's own."""
    return Value(float(each.mean()), None, None, len(runs))


def by_condition(column: str = "") -> Measure:
    """Measure with the size of the batches and the servers of the condition: the rate of a column, or the length."""

    def measured(runs: Runs, agent: str) -> Value:
        where = keys_of(runs.condition)
        servers = int(where["servers"])
        size = BATCHES[where["scenario"]][servers]
        return rate(runs, agent, size, servers, column) if column else length(runs, agent, size)

    return measured


def epochs() -> str:
    """Say how many epochs the shipped weights had that were trained with the published settings."""
    notes = json.loads((SHIPPED / "cvd-rl-published.json").read_text("utf-8"))
    had, done = notes["trained"]["step"], notes.get("iterations", 0)
    best = f" (trained {done}, best at {had})" if done > had else ""
    return f"{had} of 3,000 epochs{best}"


def trained() -> str:
    """Say that these weights are nearly untrained."""
    return f"cvd-rl, with the published settings, has had {epochs()}, and is nearly untrained"


def said(text: str) -> str:
    """Fill in how little these weights were trained."""
    return text.format(epochs=epochs(), trained=trained())
