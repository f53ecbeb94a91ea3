"""What an agent remembers of a run: taken from it, and given to another one of its kind that has started the same run.

What an agent remembers are values of attributes that it names (`Agent.remembers`): numbers, text, booleans, `None`,
arrays, and tuples of arrays. What it can make of the view again, such as a tree over the servers, need not be named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from simcore.errors import AgentError
from simcore.vocabulary import Agent

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]


def named(agent: Agent, of: str = "") -> tuple[str, ...] | None:
    """Return the names of what an agent remembers, as attributes of one that has it as its `of`; None if it says none.

    Of an agent with a kernel (`Agent.compiled`) these are the numbers of the kernel, if it does not say otherwise.
    """
    names = agent.remembers
    if names is None and agent.compiled is not None:
        names = ("compiled.weights",)
    return None if names is None else tuple(f"{of}.{name}" if of else name for name in names)


def memory(agent: Agent) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays that an agent remembers, not copied, and all else, as JSON has it.

    Arrays that cannot be written to stay what they are, and are left out.
    """
    arrays: Arrays = {}
    words: dict[str, Any] = {}
    kind = type(agent).__name__
    for name in named(agent) or ():
        try:
            value = attrgetter(name)(agent)
        except AttributeError:
            raise AgentError(f"{kind} remembers {name}, which it does not have once it has started") from None
        parts = list(_parts(value))
        if isinstance(value, np.generic):
            arrays[f"{name}.0"] = np.array(value)
        elif all(isinstance(part, np.ndarray) for part in parts):
            arrays |= {f"{name}.{number}": part for number, part in enumerate(parts) if part.flags.writeable}
        elif value is None or isinstance(value, bool | int | float | str):
            words[name] = value
        else:
            said = f"{value!r:.100}: no number, text, array or tuple of arrays"
            raise AgentError(f"{kind} remembers {name}, which is {said}")
    return arrays, words


def recall(agent: Agent, arrays: Mapping[str, npt.NDArray[Any]], words: Mapping[str, Any]) -> None:
    """Have an agent remember what another one did.

    Arrays are written to, since others may hold them, but for those that have become larger or smaller, which are
    exchanged; so is all else.
    """
    for name in named(agent) or ():
        before = attrgetter(name)(agent)
        first = arrays.get(f"{name}.0")
        of, _, last = name.rpartition(".")
        owner = attrgetter(of)(agent) if of else agent
        if isinstance(before, tuple):
            for number, part in enumerate(_parts(before)):
                if part.flags.writeable:
                    np.copyto(part, arrays[f"{name}.{number}"].reshape(part.shape))
        elif first is None:
            if name in words:
                setattr(owner, last, words[name])
        elif isinstance(before, np.ndarray) and (before.shape, before.dtype) == (first.shape, first.dtype):
            np.copyto(before, first)
        else:
            setattr(owner, last, first.copy() if first.ndim else first[()])


def _parts(value: Any) -> Iterator[Any]:
    """Yield a value, or what a tuple holds, one after another."""
    if isinstance(value, tuple):
        for part in value:
            yield from _parts(part)
    else:
        yield value
