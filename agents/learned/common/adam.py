"""Saves what Adam remembers as named arrays, for checkpoints, and checks that trained numbers are finite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agents.learned.common.tensors import Tensors, extra


def averages(optimiser: Any, prefix: str = "adam") -> Tensors:
    """Return copies of a torch optimiser's averages, named `prefix`.number of the parameter.name."""
    states = optimiser.state_dict()["state"]
    return {
        f"{prefix}.{number}.{name}": value.cpu().numpy().copy()
        for number, state in states.items()
        for name, value in state.items()
    }


def put_averages(optimiser: Any, tensors: Mapping[str, Any], prefix: str = "adam") -> None:
    """Put the averages of `tensors` that have this prefix into the optimiser, which changes."""
    torch = extra("torch")
    states: dict[int, dict[str, Any]] = {}
    for key, array in tensors.items():
        if key.startswith(f"{prefix}."):
            number, name = key.removeprefix(f"{prefix}.").split(".")
            states.setdefault(int(number), {})[name] = torch.from_numpy(array.copy())
    optimiser.load_state_dict({**optimiser.state_dict(), "state": states})


def finite(parameters: Iterable[Any]) -> bool:
    """Tell whether all numbers of the parameters are finite."""
    return all(bool(part.isfinite().all()) for part in parameters)
