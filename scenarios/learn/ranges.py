"""The numeric options of an agent that a search varies, and the values that it tries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from math import isfinite, log
from typing import Any, TypeAlias, get_type_hints

import numpy as np
from pydantic import TypeAdapter, ValidationError

from agents import AGENTS
from scenarios.build.world import build_agent
from scenarios.schema.agent import AgentSpec
from simcore.errors import UserError, suggest
from simcore.types import Floats

Between: TypeAlias = str | tuple[float, float]
"""`"0..4"`, `"0.01..2:log"`, or (low, high)."""
DIGITS = 4
"""Significant digits of what is tried."""
_RANGE = re.compile(r"(.+?)\.\.(.+?)(:log)?")


@dataclass(frozen=True, slots=True)
class Range:
    """The values that an option may take, tried evenly in their `log` or as they are; perhaps `whole` numbers only."""

    name: str
    low: float
    high: float
    log: bool
    whole: bool

    def at(self, place: float) -> float:
        """Find the value at a place from 0 to 1, with few digits; beyond, the nearest end."""
        place = min(max(place, 0.0), 1.0)
        value = self.low * (self.high / self.low) ** place if self.log else self.low + (self.high - self.low) * place
        value = round(value) if self.whole else float(f"{value:.{DIGITS}g}")
        return min(max(value, self.low), self.high)

    def place(self, value: float) -> float:
        """Find where a value is, from 0 to 1."""
        value = min(max(value, self.low), self.high)
        if self.log:
            return log(value / self.low) / log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def ranges_of(spec: AgentSpec, params: Mapping[str, Between]) -> list[Range]:
    """Read the ranges to search; refuses what the agent does not take."""
    if not params:
        raise UserError("there is nothing to tune", key="param", remedy="Name an option and its range: stranded=0..4.")
    kind = AGENTS.load(spec.name)
    options, hints = list(signature(kind).parameters), get_type_hints(kind.__init__)
    ranges = []
    for name, between in params.items():
        if name not in options:
            raise UserError("unknown option", key=f"param {name}", remedy=suggest(name, options))
        low, high, logarithmic = _ends(name, between)
        number = _number(hints.get(name, float))
        if number is None:
            raise UserError("this option is not a number", key=f"param {name}", remedy="Tune options that are numbers.")
        ranges.append(Range(name, low, high, logarithmic, isinstance(number, int)))
    for place in (0.0, 1.0):
        build_agent(candidate(spec, ranges, np.full(len(ranges), place)))  # it may refuse them
    return ranges


def _ends(name: str, between: Between) -> tuple[float, float, bool]:
    parts = _RANGE.fullmatch(between) if isinstance(between, str) else None
    try:
        low, high = map(float, parts.groups()[:2] if parts else between)
    except (TypeError, ValueError):
        remedy = f"Write {name}=0..4, or {name}=0.01..4:log."
        raise UserError("is not a range", key=f"param {name}", value=between, remedy=remedy) from None
    logarithmic = bool(parts and parts[3])
    if not (isfinite(low) and isfinite(high) and low < high):
        remedy = "Give two numbers, the smaller one first."
        raise UserError("this range is empty", key=f"param {name}", value=between, remedy=remedy)
    if logarithmic and low <= 0:
        remedy = "Begin above 0, or leave :log away."
        raise UserError("0 and less have no logarithm", key=f"param {name}", value=between, remedy=remedy)
    return low, high, logarithmic


def _number(hint: Any) -> int | float | None:
    """Turn a fraction, or else a whole number, into what an annotation takes; `None` if it takes no number."""
    for trial in (0.5, 1):
        try:
            value = TypeAdapter(hint).validate_python(trial)
        except ValidationError:
            continue
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
    return None


def start_of(spec: AgentSpec, option: Range) -> float:
    """Find where the search begins: at the option's value as it is, or in the middle where that is not a number."""
    value = spec.options.get(option.name, signature(AGENTS.load(spec.name)).parameters[option.name].default)
    return option.place(value) if isinstance(value, int | float) else 0.5


def candidate(spec: AgentSpec, ranges: Sequence[Range], point: Floats) -> AgentSpec:
    """Make the agent with the options at these places."""
    found = {each.name: each.at(place) for each, place in zip(ranges, point.tolist(), strict=True)}
    return AgentSpec.model_validate({spec.name: {**spec.options, **found}})
