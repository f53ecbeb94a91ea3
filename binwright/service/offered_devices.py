"""The OpenCL devices that jobs may ask for, as the service was told when it started."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from binwright.agents.solver.backends.opencl_devices import Device, chosen, numbers_in
from binwright.simcore.errors import UserError

CPU = "cpu"


def offered(text: str | None) -> list[Device]:
    """Find the devices of `--device`: `opencl`, `opencl:1` or `opencl:0,2-3`; none if there is no such option."""
    if text is None:
        return []
    name, colon, numbers = text.partition(":")
    if name != "opencl":
        remedy = "Write opencl, opencl:1 or opencl:0,2-3; the processor is offered anyway."
        raise UserError("is no OpenCL device", key="--device", value=text, remedy=remedy)
    return chosen(numbers_in(numbers) if colon else ())


def named(asked: str, devices: Iterable[Device]) -> str:
    """Name what a submission asks for in one way, by numbers; refuse devices that are not offered."""
    known = [one.number for one in devices]
    if asked == CPU:
        return CPU
    name, colon, text = asked.partition(":")
    numbers: tuple[int, ...] = ()
    with suppress(UserError):
        numbers = numbers_in(text) if colon else tuple(known[:1])
    if name != "opencl" or not numbers or not set(numbers) <= set(known):
        remedy = f"Here are: {', '.join([CPU, *(f'opencl:{number}' for number in known)])}."
        raise UserError(f"device {asked} is not offered by this service", remedy=remedy)
    return f"opencl:{','.join(map(str, numbers))}"
