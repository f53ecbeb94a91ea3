"""What the service lets clients have: limits, and OpenCL devices."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, fields
from math import inf, nan
from typing import Any

from binwright.agents.solver.backends.opencl_devices import Device, chosen, numbers_in
from binwright.simcore.errors import UserError, suggest


@dataclass(frozen=True)
class Limits:
    """`--limit NAME=NUMBER` changes one."""

    time: float = 60.0
    """Seconds that a search may ask for."""
    grace: float = 30.0
    """Seconds, of clock and of CPU, that a job has beyond its search, to compile and to verify."""
    memory: int = 2**30
    """Bytes that a job may take on top of what the compiled solver has."""
    balls: int = 100_000
    """Balls, and bins, of a problem."""
    dims: int = 1_000_000
    """Dimensions of a problem."""
    body: int = 2 * 2**20
    """Bytes of a request."""
    queue: int = 1000
    """Jobs that wait or run."""
    keep: int = 1000
    """Jobs that are over and kept; the oldest go first."""
    streams: int = 100
    """Open streams of progress."""


def changed(changes: Iterable[str]) -> Limits:
    """Change some limits: `memory=2e9`."""
    known: dict[str, Any] = {field.name: field.default for field in fields(Limits)}
    values: dict[str, Any] = {}
    for change in changes:
        name, _, text = change.partition("=")
        if name not in known:
            raise UserError("unknown limit", key=f"--limit {change}", remedy=suggest(name, known))
        try:
            values[name] = type(known[name])(float(text))
        except (ValueError, OverflowError):
            values[name] = nan
        if not 0 < values[name] < inf:
            raise UserError("is not a number above zero", key=f"--limit {change}", remedy=f"Write {name}=NUMBER.")
    return Limits(**values)


def offered(text: str | None) -> list[Device]:
    """Find the devices of `--device`: `opencl`, `opencl:1` or `opencl:0,2-3`; none if there is no such option."""
    if text is None:
        return []
    name, colon, numbers = text.partition(":")
    if name != "opencl":
        remedy = "Write opencl, opencl:1 or opencl:0,2-3; the processor is offered anyway."
        raise UserError("is no OpenCL device", key="--device", value=text, remedy=remedy)
    return chosen(numbers_in(numbers) if colon else ())


def named(device: str, devices: Iterable[Device]) -> str:
    """Name what a submission asks for in one way, by numbers; refuse devices that are not offered."""
    known = [one.number for one in devices]
    name, colon, text = device.partition(":")
    numbers: tuple[int, ...] = ()
    with suppress(UserError):
        numbers = numbers_in(text) if colon else tuple(known[:1])
    if device == "cpu":
        return device
    if name != "opencl" or not numbers or not set(numbers) <= set(known):
        remedy = f"Here are: {', '.join(['cpu', *(f'opencl:{number}' for number in known)])}."
        raise UserError(f"device {device} is not offered by this service", remedy=remedy)
    return f"opencl:{','.join(map(str, numbers))}"
