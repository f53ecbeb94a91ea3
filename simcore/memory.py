"""What an agent remembers of a run: taken from it, and given to another one of its kind that has started the same run.

What an agent remembers are values of attributes that it names (`Agent.remembers`): numbers, text, booleans, `None`,
arrays, and tuples of arrays. What it can make of the view again, such as a tree over the servers, need not be named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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


def memory(agent: Agent) -> tuple[Arrays, list[Any]]:
    """Return the arrays that an agent remembers, not copied, and all else, as JSON has it.

    Arrays that cannot be written to stay what they are, and are left out.
    """
    arrays: Arrays = {}
    words = []
    for name in named(agent) or ():
        value = attrgetter(name)(agent)
        several = list(_parts(value))
        if all(isinstance(part, np.ndarray) for part in several):
            arrays |= {f"{name}.{number}": part for number, part in enumerate(several) if part.flags.writeable}
        elif value is None or isinstance(value, bool | int | float | str):
            words.append(value)
        else:
            kind = type(agent).__name__
            raise AgentError(
                f"{kind} remembers {name}, which is {value!r:.100}: no number, text, array or tuple of arrays"
            )
    return arrays, words


def recall(agent: Agent, arrays: Mapping[str, npt.NDArray[Any]], words: Sequence[Any]) -> None:
    """Have an agent remember what another one did: arrays are written to, other attributes set."""
    for name, array in memory(agent)[0].items():
        array[...] = arrays[name]
    left = iter(words)
    for name in named(agent) or ():
        before = attrgetter(name)(agent)
        if not isinstance(before, tuple | np.ndarray):
            of, _, last = name.rpartition(".")
            setattr(attrgetter(of)(agent) if of else agent, last, next(left))


def _parts(value: Any) -> Iterator[Any]:
    """Yield a value, or what a tuple holds, one after another."""
    if isinstance(value, tuple):
        for part in value:
            yield from _parts(part)
    else:
        yield value
