"""What an agent remembers of a run: taken from it, and given to another one of its kind that has started the same run.

What an agent remembers are values of attributes that it names (`Agent.remembers`): numbers, text, booleans, `None`,
arrays of numbers or text, and tuples of these. What it can make of the view again, such as a tree over the servers,
need not be named.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter, is_
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from binwright.simcore.errors import AgentError
from binwright.simcore.types import Agent

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]
NUMBERS = "compiled.weights"
"""Where the numbers of a kernel are."""


def named(agent: Agent, of: str = "") -> tuple[str, ...] | None:
    """Return the names of what an agent remembers, as attributes of one that has it as its `of`; None if it says none.

    Of an agent with a kernel (`Agent.compiled`) these are the numbers of the kernel, if it does not say otherwise.
    """
    names = agent.remembers
    if names is None and agent.compiled is not None:
        names = (NUMBERS,)
    if isinstance(names, str):
        names = (names,)  # a comma is forgotten easily
    return None if names is None else tuple(f"{of}.{name}" if of else name for name in names)


def memory(agent: Agent) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays that an agent remembers, not copied, and what it remembers of each name, as JSON has it."""
    arrays: Arrays = {}
    words: dict[str, Any] = {}
    for name in named(agent) or ():
        try:
            value = attrgetter(name)(agent)
        except AttributeError:
            kind = type(agent).__name__
            raise AgentError(f"{kind} remembers {name}, which it does not have once it has started") from None
        words[name] = _noted(agent, name, value, arrays)
    return arrays, words


def recall(agent: Agent, arrays: Mapping[str, npt.NDArray[Any]], words: Mapping[str, Any]) -> None:
    """Have an agent remember what another one did.

    Arrays of the same size are written to, since others may hold them; all else is exchanged.
    """
    for name in named(agent) or ():
        before = attrgetter(name)(agent)
        value = _made(words[name], before, arrays)
        if value is not before:
            of, _, last = name.rpartition(".")
            setattr(attrgetter(of)(agent) if of else agent, last, value)


def _noted(agent: Agent, name: str, value: Any, arrays: Arrays) -> Any:
    """Return how a value is made again, and add what it needs to `arrays`."""
    if isinstance(value, tuple):
        return {"tuple": [_noted(agent, name, part, arrays) for part in value]}
    if isinstance(value, np.generic | np.ndarray) and not value.dtype.hasobject:
        if name.endswith(NUMBERS) and not np.asarray(value).flags.writeable:
            return {"same": True}  # what nobody can write to there is what was learned, and is large
        key = f"memory{len(arrays)}"
        arrays[key] = np.asarray(value)
        return {"array": key, "number": isinstance(value, np.generic)}
    if value is None or isinstance(value, bool | int | float | str):
        return {"value": value}
    said = f"{value!r:.100}: no number, text, array of these or tuple"
    raise AgentError(f"{type(agent).__name__} remembers {name}, which is {said}")


def _made(noted: Mapping[str, Any], before: Any, arrays: Mapping[str, npt.NDArray[Any]]) -> Any:
    """Return a value that was noted: `before` itself, where that can be made equal to it."""
    if "same" in noted:
        return before
    if "value" in noted:
        return noted["value"]
    if "tuple" in noted:
        parts = noted["tuple"]
        known = before if isinstance(before, tuple) and len(before) == len(parts) else (None,) * len(parts)
        made = tuple(_made(part, own, arrays) for part, own in zip(parts, known, strict=True))
        return before if known is before and all(map(is_, made, before)) else made
    array = arrays[noted["array"]]
    if noted["number"]:
        return array[()]
    if isinstance(before, np.ndarray) and before.flags.writeable and _form(before) == _form(array):
        np.copyto(before, array)
        return before
    return array.copy()


def _form(array: npt.NDArray[Any]) -> tuple[object, ...]:
    return array.shape, array.dtype
