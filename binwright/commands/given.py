"""Read what is given to `solve` and `explain` besides a specification: parameters, and where balls are."""

from __future__ import annotations

import csv
import json
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simcore.errors import UserError, suggest

if TYPE_CHECKING:
    from agents.solver.model.problem import Problem


def parameters(sets: Iterable[str]) -> dict[str, str]:
    """Read what `--set PARAM=NUMBER` says."""
    return dict(map(_param, sets))


def _param(text: str) -> tuple[str, str]:
    """`RACKS=4`."""
    name, equals, value = text.partition("=")
    if not equals:
        raise UserError("is not a parameter", key=f"--set {text}", remedy="Write --set PARAM=number.")
    return name, value


def problem_of(asked: Namespace) -> Problem:
    """Load the problem that a command names, with its `--set`, `--from`, `--moves` and `--drain`."""
    from agents.solver import changed, load_problem

    params = parameters(asked.sets)
    given = load_problem(asked.file, params, None if asked.now is None else ())  # its goals may want NOW
    now, moves, drain = change(asked, given.ball_names, given.bin_names)
    return changed(given if now is None else load_problem(asked.file, params, now), None, moves, drain)


def change(
    asked: Namespace, ball_names: Sequence[str] = (), bin_names: Sequence[str] = ()
) -> tuple[list[int] | None, int | None, list[int]]:
    """Read what `--from`, `--moves` and `--drain` say: the bins of all balls, the number, and the bins."""
    now = None if asked.now is None else bins_of(Path(asked.now), ball_names, bin_names)
    return now, asked.moves, [] if asked.drain is None else list(_drained(asked.drain, bin_names))


def _drained(text: str, names: Sequence[str]) -> Iterator[int]:
    """Read 3,5-7, or names of bins, a comma in one of which is between quotation marks."""
    parts = next(csv.reader([text], skipinitialspace=True)) or [""]
    for part in map(str.strip, parts):
        low, dash, high = part.partition("-")
        if part in names:
            yield names.index(part)
        elif names:
            raise UserError("there is no such bin", key="--drain", value=part, remedy=suggest(part, names))
        elif low.isdecimal() and (not dash or high.isdecimal()) and int(low) <= int(high or low):
            yield from range(int(low), int(high or low) + 1)
        else:
            raise UserError("is no list of bins", key="--drain", value=text, remedy="Write numbers and ranges: 3,5-7.")


def bins_of(file: Path, ball_names: Sequence[str] = (), bin_names: Sequence[str] = ()) -> list[int]:
    """Read the bins of an answer, as `--json` or `--csv` printed it; -1 for balls that have none.

    Where balls have names, those that are not in the file are new, and those that are only there are gone.
    """
    from agents.solver.specification.load import text_of

    try:
        rows = _rows(text_of(file))
        bins = dict(rows)
        if len(bins) < len(rows):
            raise ValueError("a ball is there twice")
        if ball_names and bins.keys().isdisjoint(ball_names):
            raise ValueError("none of its balls is here")
        if not ball_names and bins.keys() != {str(ball) for ball in range(len(rows))}:
            raise ValueError("balls are not 0, 1, 2, ...")
        places = [bins.get(name) for name in ball_names or map(str, range(len(rows)))]
        numbers = {name: number for number, name in enumerate(bin_names)}
        if bin_names and (unknown := {place for place in places if place is not None} - numbers.keys()):
            raise ValueError(f"{min(unknown)} is no bin here. Leave the bin of its balls empty: they are nowhere then")
        return [-1 if place is None else numbers[place] if bin_names else int(place) for place in places]
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
