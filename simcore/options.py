"""Options in a scenario against the constructor that takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import lru_cache, partial
from inspect import Parameter, signature
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import ErrorDetails

from binwright.simcore.errors import UserError, suggest
from binwright.simcore.fields import choices_of, expected, together, whole, wrong

_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


@lru_cache(maxsize=256)
def _parameters(kind: Any) -> dict[str, Parameter]:
    """List what the constructor takes by name."""
    return {name: parameter for name, parameter in signature(kind).parameters.items() if parameter.kind in _NAMED}


def takes_any(kind: Any) -> bool:
    """Whether the constructor takes names that it does not list."""
    return any(parameter.kind is Parameter.VAR_KEYWORD for parameter in signature(kind).parameters.values())


@lru_cache(maxsize=256)
def _hints(kind: Any) -> dict[str, Any]:
    """Find the types of what a constructor or a function takes."""
    if isinstance(kind, partial):
        kind = kind.func
    # A dataclass's constructor names types of other modules, too: those of the fields of the classes above.
    plain = is_dataclass(kind) or not isinstance(kind, type)
    try:
        return get_type_hints(kind if plain else kind.__init__, include_extras=True)
    except NameError:  # a type that only a type checker imports: then nothing is known of any
        return {}


def check_options(kind: Any, options: object, at: tuple[str | int, ...] = ()) -> dict[str, Any]:
    """Check the keyword arguments for `kind(...)` against its annotations; `at` leads to the options."""
    if options is None:
        options = {}
    parameters = _parameters(kind)
    if not isinstance(options, Mapping):
        raise wrong("must be a mapping of options", f"Options: {', '.join(parameters) or 'none'}.", at)
    hints = _hints(kind)
    options_checked = {}

    def check_value(name: str, value: object) -> None:
        if name not in parameters and not takes_any(kind):
            raise wrong("unknown option", suggest(name, parameters), (*at, name))
        try:
            options_checked[name] = TypeAdapter(hints.get(name, Any)).validate_json(_plain(value), strict=True)
        except PydanticUserError:  # a type that no YAML can be
            options_checked[name] = value
        except UserError as error:
            raise wrong(error.problem, error.remedy, (*at, name)) from None
        except ValidationError as error:
            # A union has a finding for each of its members; one item of a list may be named.
            found_in = error.errors(include_url=False)
            ours = next((each for each in found_in if each["type"] == "binwright"), None)
            below = (*at, name, *(_keys(ours or found_in[0]) if ours or len(found_in) == 1 else ()))
            if ours:  # our own mistake, which knows its place below this option
                context = ours["ctx"]
                raise wrong(context["problem"], context["remedy"], (*below, *context["at"]), context["value"]) from None
            if len(found_in) == 1 and (known := choices_of(found_in[0])):
                raise wrong("is no known value", suggest(str(found_in[0]["input"]), known), below) from None
            texts = dict.fromkeys(expected(each).removeprefix("expected ") for each in found_in)
            raise wrong(f"expected {' or '.join(texts)}", "", below) from None

    def check_present(name: str) -> None:
        if name not in options:
            raise wrong("is missing", f"The option {name} has no default: give it.", (*at, name))

    needed = [name for name, parameter in parameters.items() if parameter.default is Parameter.empty]
    together(
        *(partial(check_value, *item) for item in options.items()), *(partial(check_present, name) for name in needed)
    )
    return options_checked


def _keys(detail: ErrorDetails) -> tuple[int | str, ...]:
    """Say where a mistake is, without what names the forms of a union."""
    return tuple(part for part in detail["loc"] if not str(part).startswith("<"))


def _plain(value: Any) -> str:
    """Write a value as JSON, whose types are taken as they are: the text '4' is not a number, and `yes` is not 1."""
    try:
        return json.dumps(whole(value))
    except TypeError:
        raise UserError("expected text", remedy="Put it in quotes if it looks like a date.") from None
