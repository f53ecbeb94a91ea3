"""Pydantic's findings as the one message that a user needs, and where in a scenario a mistake is."""

from collections.abc import Mapping

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from binwright.scenarios.schema.yaml_source import Source, dotted
from binwright.simcore.errors import ScenarioError, UserError, combined
from binwright.simcore.fields import Keys, describe_mistake, keys_of
from binwright.simcore.removed import removed


def explain(error: ValidationError, source: Source) -> UserError:
    """Turn findings into mistakes in the file's order, with their places; unknown keys, which explain others, first."""
    result = [(keys_of(detail), detail) for detail in error.errors(include_url=False) if not _follows(detail)]
    result.sort(key=lambda item: (item[1]["msg"] != "unknown key", source.place(item[0]).line or 0))
    mistakes: dict[str, ScenarioError] = {}
    had_gone = set[Keys]()
    for keys, detail in result:
        place = source.place(keys)
        problem, remedy, value = describe_mistake(detail)
        if problem in ("unknown key", "unknown option") and (instead := _instead(keys)):
            problem, remedy = "this key is gone", instead
            had_gone.add(keys[:-1])
        elif problem == "is missing" and keys[:-1] in had_gone:
            continue
        shown = source.value(keys) if value is None else value
        if isinstance(shown, dict) or (isinstance(shown, list) and len(shown) > 3):
            shown = None  # it does not fit into a line
        mistake = ScenarioError(problem, file=place.file, line=place.line, key=dotted(keys), value=shown, remedy=remedy)
        mistakes.setdefault(str(mistake), mistake)
    return combined(mistakes.values())


def _instead(keys: Keys) -> str:
    """Say what to do instead of a key that is gone; "" where there never was one."""
    path = [key for key in keys if isinstance(key, str)]
    names = ".".join(path), ".".join([*path[:-2], "*", *path[-1:]]), " ".join(path[-2:])
    return next((removed()[name] for name in names if name in removed()), "")


def locate(error: UserError, source: Source | None, at: Keys) -> None:
    """Have an error say where these keys were written; a file that it names already goes before the problem."""
    place = source.place(at) if source else None
    if place and place.file:
        if error.file is not None:
            error.problem = f"{error.file}{'' if error.line is None else f':{error.line}'}: {error.problem}"
        error.file, error.line = place


def _follows(detail: ErrorDetails) -> bool:
    """Tell whether it says no more than others: a list too short without its wrong items. Null is no item."""
    value = detail["input"]
    return detail["type"] == "too_short" and detail["ctx"]["min_length"] <= sum(
        item is not None for item in (value.values() if isinstance(value, Mapping) else value)
    )
