"""Pydantic's findings as the one message that a user needs, and where in a scenario a mistake is."""

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from binwright.scenarios.schema.yaml_source import Source, dotted
from binwright.simcore.errors import ScenarioError, UserError, as_one, edits, nearest, suggest
from binwright.simcore.fields import Keys, Model, choices_of, expected
from binwright.simcore.removed import REMOVED

DEPTH = 3
"""So many keys deep another place is looked for."""
_NEAR = re.compile(r"^Did you mean [^?]*\? ")
_REMEDIES = {
    "string_type": "Put it in quotes if it looks like a number or a date.",
    "tuple_type": "Write it like [first, second].",
    "missing": "Write it like [first, second].",
    "dict_type": "Write it like {key: value}.",
}


def explain(error: ValidationError, source: Source) -> UserError:
    """Turn findings into mistakes in the file's order, with their places; unknown keys, which explain others, first."""
    found = [(_keys(detail), detail) for detail in error.errors(include_url=False) if not _follows(detail)]
    found.sort(key=lambda item: (item[1]["msg"] != "unknown key", source.place(item[0]).line or 0))
    mistakes: dict[str, ScenarioError] = {}
    for keys, detail in found:
        place = source.place(keys)
        problem, remedy, value = _say(detail)
        path = [key for key in keys if isinstance(key, str)]
        is_unknown = problem in ("unknown key", "unknown option")
        if is_unknown and (instead := REMOVED.get(".".join(path)) or REMOVED.get(" ".join(path[-2:]))):
            problem, remedy = "this key is gone", instead
        elif problem == "unknown key" and not _is_typo(keys, remedy) and (others := _elsewhere(keys)):
            remedy = f"Did you mean {' or '.join(map(repr, others))}? {_NEAR.sub('', remedy)}"
        mistake = ScenarioError(
            problem,
            file=place.file,
            line=place.line,
            key=dotted(keys),
            value=_scalar(value, source, keys),
            remedy=remedy,
        )
        mistakes.setdefault(str(mistake), mistake)
    return as_one(mistakes.values())


def _is_typo(keys: Keys, remedy: str) -> bool:
    """Tell whether the key that a remedy suggests is this one but for a letter, or one that is known to be meant."""
    near = re.match(r"Did you mean '([^']*)'\?", remedy)
    return near is not None and (edits(str(keys[-1]), near[1]) <= 1 or not nearest(str(keys[-1]), [near[1]]))


def _elsewhere(keys: Keys) -> list[str]:
    """Find keys of the last name at other places of a scenario, the least deep ones, with all that leads to them."""
    from binwright.scenarios.schema.scenario import Scenario

    level: list[tuple[tuple[str, ...], type[Model]]] = [((), Scenario)]
    for _ in range(DEPTH):
        inner = [
            ((*path, key), kind)
            for path, model in level
            for key, field in model.known().items()
            for kind in _models(field.annotation)
        ]
        found = dict.fromkeys((*path, keys[-1]) for path, kind in inner if keys[-1] in kind.known())
        if found.keys() - {keys}:
            return [dotted(one) for one in found if one != keys][:3]
        level = inner
    return []


def _models(annotation: Any) -> list[type[Model]]:
    """List the mappings that a key may have as its value; those in a list have no key of their own."""
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return [annotation]
    if get_origin(annotation) in (tuple, list, dict, Mapping):
        return []
    return [kind for part in get_args(annotation) for kind in _models(part)]


def locate(error: UserError, source: Source | None, at: Keys) -> None:
    """Have an error say where these keys were written; a file that it names already goes before the problem."""
    place = source.place(at) if source else None
    if place and place.file:
        if error.file is not None:
            error.problem = f"{error.file}{'' if error.line is None else f':{error.line}'}: {error.problem}"
        error.file, error.line = place


def _follows(detail: ErrorDetails) -> bool:
    """Whether it says no more than others: a list too short without the items that are wrong. Null is no item."""
    given = detail["input"]
    return detail["type"] == "too_short" and detail["ctx"]["min_length"] <= sum(
        item is not None for item in (given.values() if isinstance(given, Mapping) else given)
    )


def _keys(detail: ErrorDetails) -> Keys:
    """Where the mistake is: without the tags of unions, which stand in <brackets>."""
    keys = tuple(key for key in detail["loc"] if not re.fullmatch(r"<[\w-]+>", str(key)))
    return (*keys, *detail.get("ctx", {}).get("at", ()))


def _say(detail: ErrorDetails) -> tuple[str, str, Any]:
    """Problem, remedy, and the value if it is not simply what stands there."""
    context = detail.get("ctx", {})
    if detail["type"] == "binwright":
        return context["problem"], context["remedy"], context["value"]
    if known := choices_of(detail):
        return "is no known value", suggest(str(detail["input"]), known), None
    if detail["type"] == "string_pattern_mismatch":
        remedy = "Write letters, digits, spaces and . + - _, of which the first is a letter, a digit or _."
        return "is not a name", remedy, None
    if detail["type"] == "tuple_type" and isinstance(given := detail["input"], str):
        return "expected a list", _as_list(given, _keys(detail)), None
    if detail["type"] == "too_short" and isinstance(detail["input"], Mapping):
        return "is empty", f"Give at least {detail['ctx']['min_length']} of them.", None
    return expected(detail), _REMEDIES.get(detail["type"], ""), None


def _as_list(given: str, keys: Keys) -> str:
    """Write a remedy for a text where a list should be: the list of it, or what the list may hold if it is not that."""
    from binwright.scenarios.schema.scenario import Scenario

    field = Scenario.known().get(str(keys[0])) if len(keys) == 1 else None
    choices = [
        str(choice)
        for part in get_args(field and field.annotation)
        if get_origin(part) is Literal
        for choice in get_args(part)
    ]
    remedy = f"Write a list: [{given}]."
    return remedy if not choices or given in choices else f"Write a list. {suggest(given, choices)}"


def _scalar(value: Any, source: Source, keys: Keys) -> Any:
    """Choose what a message shows: a value that fits into a line, not a whole mapping."""
    shown = source.value(keys) if value is None else value
    return None if isinstance(shown, dict) or (isinstance(shown, list) and len(shown) > 3) else shown
