"""CVD-RL (Sheng and others 2025): how many requests servers take before the first that fits nowhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from binwright.agents.learned.common.tensors import SHIPPED
from binwright.reproduction.claims import Published, Value, keys_of, published
from binwright.reproduction.figures import Material, intervals
from binwright.reproduction.measures import Measure, Runs, averaged, gain_of
from binwright.simcore.types import Floats, Ints

if TYPE_CHECKING:
    from binwright.analysis.figures.draw import Figure


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


def starts(scenario: str, servers: int) -> dict[str, Any]:
    """Describe the runs from the program's starts, each with more requests than any episode places."""
    spread = {"fading": "32 GB", "recovering": "10 GB"}[scenario]
    size = BATCHES[scenario][servers]
    overrides = [f"cluster.servers={servers}", f"cluster.spread_above.mem={spread}", "workload.requests=6000"]
    return {"overrides": ["sweep=null", *overrides], "seeds": STARTS // size + size - 1, "quick": size}


NAME = "cvd-rl"
BASE = "best-fit"
OUR_SETTINGS = "cvd-rl, our settings"
"""The agent of the tables has the published settings of training, and beside it is the one with ours."""
GAIN = "% over best-fit"
DRAWN = "50 servers, months drawn anew"


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


def gains(table: str) -> tuple[Published, ...]:
    """Derive from a table by how many percent every agent is above Best-Fit.

    Our settings are held to what is published for cvd-rl, in these and in the printed values.
    """
    rows = [one for one in published(NAME) if one.table == table]
    bases = {(one.condition, one.metric): one.value for one in rows if one.agent == BASE}
    found = []
    for one in rows:
        agents = (one.agent, OUR_SETTINGS) if one.agent == "cvd-rl" else (one.agent,)
        found += [replace(one, agent=agent) for agent in agents[1:]]
        base = bases[one.condition, one.metric]
        if one.agent != BASE and one.metric in ("scheduled", "income") and base and one.value is not None:
            spread = None if one.spread is None else round(100 * one.spread / base, 2)
            gain, metric = f"{100 * (one.value / base - 1):.2f}", f"{one.metric}, {GAIN}"
            found += [replace(one, agent=agent, metric=metric, printed=gain, spread=spread) for agent in agents]
    return tuple(found)


def episode_seconds(runs: Runs, agent: str) -> Value:
    """Measure how long the decisions of a run take together, in seconds."""
    return averaged(runs.values(agent, "decision_us") * (runs.values(agent, "scheduled") + 1) / 1e6)


def by_size(given: Material, measure: Measure, y: str, title: str, agents: Sequence[str]) -> Figure:
    """Draw a measure over the number of servers; a size that an agent is not trained for is left out."""
    from binwright.analysis.figures.lines import Line, Panel, lines

    runs = {servers: given.of("sizes", f"servers={servers}") for servers in (2, 5, 10, 20, 50)}
    found: list[Line] = []
    measured: list[Value] = []
    for agent in agents:
        there = {servers: one for servers, one in runs.items() if agent in one.labels and len(one.of(agent))}
        values = {servers: measure(one, agent) for servers, one in there.items()}
        found.append(Line(agent, [(servers, one.mean, one.low, one.high) for servers, one in values.items()]))
        measured += values.values()
    figure = lines([Panel(found, "servers", y)], title, caption=intervals(measured), logarithmic=True)
    figure.axes[0].set_xticks(list(runs), list(map(str, runs)))
    figure.axes[0].set_xticks([], minor=True)
    return figure


def ablation(given: Material, agents: Sequence[str], title: str) -> Figure:
    """Draw by how many percent agents of the ablation are above Best-Fit, in a row, with their intervals."""
    from binwright.analysis.figures.dots import Dot, Panel, dots

    runs = given.of("ablation", DRAWN)
    found = [Dot(name, *gain_of(BASE, "scheduled")(runs, name)[:3]) for name in (*agents, "internal")]
    caption = "50 servers from a warm start of 50 %, 100 months; 95 % intervals"
    return dots([Panel(found, "requests placed, % over best-fit")], title, caption=caption, width="column")
