"""Files that somebody or something has damaged."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T", str, bytes)


def mangled(content: T, odd: Sequence[T], drawn: Random) -> T:
    """Change a file here and there: put in what is odd, drop, repeat and move pieces."""
    for _ in range(drawn.randint(1, 6)):
        at, end = sorted(drawn.randint(0, len(content)) for _ in range(2))
        end = min(end, at + drawn.choice((1, 5, 60)))
        what = drawn.randrange(4)
        if what == 0:
            content = content[:at] + drawn.choice(odd) * drawn.choice((1, 1, 1, 150)) + content[at:]
        elif what == 1:
            content = content[:at] + content[end:]
        elif what == 2:
            content = content[:end] + content[at:end] + content[end:]
        else:
            to = drawn.randint(0, len(content))
            content = content[:to] + content[at:end] + content[to:]
    return content
