"""Options in a scenario against the constructor that takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from inspect import Parameter, signature
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from scenarios.fields import wrong
from simcore.errors import UserError, suggest

_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def check_options(kind: type, options: object, at: tuple[str | int, ...] = ()) -> dict[str, Any]:
    """The keyword arguments for `kind(...)`, their types as its annotations say; `at` leads to the options."""
    if options is None:
        options = {}
    parameters = {name: parameter for name, parameter in signature(kind).parameters.items() if parameter.kind in _NAMED}
    if not isinstance(options, Mapping):
        raise wrong("must be a mapping of options", f"Options: {', '.join(parameters) or 'none'}.", at)
    takes_any = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in signature(kind).parameters.values())
    # A dataclass's constructor names types of other modules, too: those of the fields of the classes above.
    constructor = kind if is_dataclass(kind) else kind.__init__  # type: ignore[misc]  # not a subclass's
    hints = get_type_hints(constructor, include_extras=True)
    found = {}
    for name, value in options.items():
        if name not in parameters and not takes_any:
            raise wrong("unknown option", suggest(name, parameters), (*at, name))
        try:
            found[name] = TypeAdapter(hints.get(name, Any)).validate_python(value)
        except UserError as error:
            raise wrong(error.problem, error.remedy, (*at, name)) from None
        except ValidationError as error:
            # A union has a finding for each of its members; one item of a list may be named.
            findings = error.errors(include_url=False)
            inner = findings[0]["loc"] if len(findings) == 1 else ()
            said = [finding["msg"].replace("Input", "It").replace("tuple", "list") for finding in findings]
            raise wrong("is a wrong value", f"{', or: '.join(said)}.", (*at, name, *inner)) from None
    for name, parameter in parameters.items():
        if parameter.default is Parameter.empty and name not in options:
            raise wrong("is missing", f"The option {name} has no default: give it.", (*at, name))
    return found
