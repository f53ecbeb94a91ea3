"""Says what requests are to the rules of placement: their group, where they may lie, and which taints they tolerate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from binwright.simcore.errors import UserError


class Role(NamedTuple):
    """Names a request's group, empty for none, the labels that its server must have, and the taints it tolerates.

    `where` has, in order of the labels, pairs of a label and the values of which the server must have one. `priority`
    has classes of priorities, or numbers as text, each with its weight: every request draws one of them.
    """

    group: str = ""
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()
    tolerates: tuple[str, ...] = ()
    priority: tuple[tuple[str, float], ...] = ()


NO_ROLE = Role()
"""That of requests which say nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Roles:
    """Gives every request of a workload its role: `of` int64 [n] is a place in `all`."""

    all: tuple[Role, ...]
    of: npt.NDArray[np.int64]

    def filled(self, other: Role) -> Roles:
        """Have another role say what the roles do not."""
        filled = (
            Role(*(own or others for own, others in zip(role, other, strict=True)))  # type: ignore[arg-type]
            for role in self.all
        )
        return Roles(tuple(filled), self.of)

    def take(self, rows: Any) -> Roles:
        """Return the roles of these requests, in this order."""
        return Roles(self.all, self.of[rows])

    @classmethod
    def of_texts(cls, rows: int, group: Any = None, where: Any = None, tolerates: Any = None) -> Roles:
        """Read the roles of so many requests from columns of text, str [rows], or one text for all.

        `where` reads `zone=a|b;kind=large`, and `tolerates` `spot|gpu`; an empty text, as None, says nothing.
        """
        columns = [
            np.broadcast_to(np.asarray(text or "" if text is None else text, np.str_), rows).tolist()
            for text in (group, where, tolerates)
        ]
        texts = list(zip(*columns, strict=True))
        place = {each: number for number, each in enumerate(sorted(set(texts)))}
        roles = [Role(group, read_where(where), read_names(tolerates)) for group, where, tolerates in place]
        return cls(tuple(roles) or (NO_ROLE,), np.array([place[each] for each in texts], np.int64))


def where_of(wanted: Mapping[str, Iterable[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Put labels and the values allowed of each into the order of a `Role`."""
    return tuple((label, tuple(sorted(set(values)))) for label, values in sorted(wanted.items()))


def read_names(text: str) -> tuple[str, ...]:
    """Read names as in `spot|gpu`."""
    return tuple(sorted({name.strip() for name in text.split("|")} - {""}))


def read_where(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Read labels and values as in `zone=a|b;kind=large`."""
    where: dict[str, tuple[str, ...]] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        label, equals, values = part.partition("=")
        names = read_names(values)
        if not (label.strip() and equals and names) or label.strip() in where:
            raise UserError("does not say labels and values", key="where", value=text, remedy="Write zone=a|b;rack=r1.")
        where[label.strip()] = names
    return where_of(where)
