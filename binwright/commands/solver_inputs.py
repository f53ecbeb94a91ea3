"""Read what is given to `solve` besides a specification: parameters, and where balls are."""

from __future__ import annotations

import csv
import json
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binwright.commands.console import pair
from binwright.placements import bins, placed
from binwright.simcore.errors import UserError

if TYPE_CHECKING:
    from binwright.agents.solver.model.problem import Problem


def problem_of(args: Namespace) -> Problem:
    """Load the problem that a command names, with its `--set`, `--from`, `--moves` and `--drain`."""
    from binwright.agents.solver import load_problem

    where = None if args.now is None else partial(bins_of, Path(args.now))
    drain: list[str] = []
    if args.drain is not None:  # a comma in a name is between quotation marks
        parts = next(csv.reader([args.drain], skipinitialspace=True), [])
        drain = [part.strip() for part in parts] or [""]
    return placed(partial(load_problem, args.file, _parameters(args.sets)), where, args.moves, drain)


def _parameters(sets: Iterable[str]) -> dict[str, str]:
    """Read what `--set PARAM=NUMBER` says."""
    values: dict[str, str] = {}
    for text in sets:
        name, value = pair("--set", text)
        if values.setdefault(name, value) != value:
            both = f"{values[name]}, {value}"
            raise UserError("is set twice", key=f"--set {name}", value=both, remedy="Keep one of them.")
    return values


def bins_of(file: Path, ball_names: Sequence[str] = (), bin_names: Sequence[str] = ()) -> list[int]:
    """Read the bins of an answer of `--json`, or of a CSV file with columns ball and bin; -1 for balls that have none.

    Where balls have names, those that are not in the file are new, and those that are only there are gone.
    """
    from binwright.agents.solver.specification.load import text_of

    try:
        text = text_of(file)
        if text.lstrip().startswith("{"):
            answer = json.loads(text)
            ball_name, bin_name = names_in(answer)
            rows = [(ball_name(b), None if at is None else bin_name(at)) for b, at in enumerate(answer["alloc"])]
        else:
            rows = [(row["ball"], row["bin"] or None) for row in csv.DictReader(text.splitlines())]
        if len(dict(rows)) < len(rows):
            raise ValueError("a ball is there twice")
        return bins(dict(rows), ball_names, bin_names)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        remedy = "Give what solve --json printed, or a CSV file with columns ball and bin, a row for every ball."
        raise UserError(f"does not say where balls are: {error}", file=file, remedy=remedy) from None


def names_in(answer: dict[str, Any]) -> list[Callable[[int], str]]:
    """Return what says how a ball, and a bin, of an answer is called."""
    return [called(answer.get(f"{kind}_names")) for kind in ("ball", "bin")]


def called(names: Sequence[str] | None) -> Callable[[int], str]:
    """Return what says how something is called, by its number where there are no names."""
    return names.__getitem__ if names else str
