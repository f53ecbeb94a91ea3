"""Read what is given to `solve` besides a specification: parameters, and where balls are."""

from __future__ import annotations

import csv
import json
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binwright.placements import bins, placed
from binwright.simcore.errors import UserError

if TYPE_CHECKING:
    from binwright.agents.solver.model.problem import Problem


def parameters(sets: Iterable[str]) -> dict[str, str]:
    """Read what `--set PARAM=NUMBER` says."""
    given: dict[str, str] = {}
    for name, value in map(_param, sets):
        if given.setdefault(name, value) != value:
            remedy = "Keep one of them."
            raise UserError("is set twice", key=f"--set {name}", value=f"{given[name]}, {value}", remedy=remedy)
    return given


def _param(text: str) -> tuple[str, str]:
    """`RACKS=4`."""
    name, equals, value = text.partition("=")
    if not equals:
        raise UserError("is not a parameter", key=f"--set {text}", remedy="Write --set PARAM=number.")
    return name, value


def problem_of(args: Namespace) -> Problem:
    """Load the problem that a command names, with its `--set`, `--from`, `--moves` and `--drain`."""
    from binwright.agents.solver import load_problem

    where = None if args.now is None else partial(bins_of, Path(args.now))
    make = partial(load_problem, args.file, parameters(args.sets))
    return placed(make, where, args.moves, drain(args))


def drain(args: Namespace) -> list[str]:
    """Read the parts of `--drain`; a comma in a name is between quotation marks."""
    if args.drain is None:
        return []
    return [part.strip() for part in next(csv.reader([args.drain], skipinitialspace=True), [])] or [""]


def bins_of(file: Path, ball_names: Sequence[str] = (), bin_names: Sequence[str] = ()) -> list[int]:
    """Read the bins of an answer, as `--json` or `--csv` printed it; -1 for balls that have none.

    Where balls have names, those that are not in the file are new, and those that are only there are gone.
    """
    from binwright.agents.solver.specification.load import text_of

    try:
        rows = _rows(text_of(file))
        found = dict(rows)
        if len(found) < len(rows):
            raise ValueError("a ball is there twice")
        return bins(found, ball_names, bin_names)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        remedy = "Give what solve --json or solve --csv printed: the columns ball and bin, a row for every ball."
        raise UserError(f"does not say where balls are: {error}", file=file, remedy=remedy) from None


def _rows(text: str) -> list[tuple[str, str | None]]:
    """Read the balls and bins of an answer, by name where they have names."""
    if not text.lstrip().startswith("{"):
        return [(row["ball"], row["bin"] or None) for row in csv.DictReader(text.splitlines())]
    found = json.loads(text)
    ball_name, bin_name = names_in(found, "ball"), names_in(found, "bin")
    places = enumerate(found["alloc"])
    return [(ball_name(ball), None if place is None else bin_name(place)) for ball, place in places]


def names_in(found: dict[str, Any], kind: str) -> Callable[[int], str]:
    """Return what says how a ball or a bin of an answer is called."""
    names: list[str] | None = found.get(f"{kind}_names")
    return str if names is None else names.__getitem__
