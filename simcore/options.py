"""What third parties add to the schema: things by their names, and options against the constructor that takes them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from functools import lru_cache, partial
from inspect import Parameter, signature
from typing import Any, ClassVar, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticCustomError

from binwright.simcore.errors import UserError, suggest
from binwright.simcore.fields import Model, OneOf, checked, expected, findings, together, whole, wrong
from binwright.simcore.registry import Registry

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
            mistakes = findings(error)
            ours = [mistake for mistake in mistakes if isinstance(mistake["type"], PydanticCustomError)]
            if len(mistakes) > 1 and not ours:  # a union has one for each of its members
                texts = dict.fromkeys(expected(each).removeprefix("expected ") for each in error.errors())
                raise wrong(f"expected {' or '.join(texts)}", "", (*at, name)) from None
            mistake = [*ours, *mistakes][0]
            mistake["loc"] = (*at, name, *mistake.get("loc", ()))
            raise ValidationError.from_exception_data("options", [mistake]) from None

    def check_present(name: str) -> None:
        if name not in options:
            raise wrong("is missing", f"The option {name} has no default: give it.", (*at, name))

    needed = [name for name, parameter in parameters.items() if parameter.default is Parameter.empty]
    together(
        *(partial(check_value, *item) for item in options.items()), *(partial(check_present, name) for name in needed)
    )
    return options_checked


def _plain(value: Any) -> str:
    """Write a value as JSON, whose types are taken as they are: the text '4' is not a number, and `yes` is not 1."""
    try:
        return json.dumps(whole(value))
    except TypeError:
        raise UserError("expected text", remedy="Put it in quotes if it looks like a date.") from None


class Registered(OneOf):
    """One of the fields below, or a name that somebody registered, with its options."""

    model_config = ConfigDict(extra="allow")
    registry: ClassVar[Registry]
    by_word: ClassVar[bool] = False
    """Whether a name alone stands for the name without options."""
    base: ClassVar[type] = object
    """What every class in the registry derives from, of the same name as it has in `binwright`."""

    @classmethod
    def prepare(cls, data: Any) -> Any:
        return {data: {}} if cls.by_word and isinstance(data, str) else data

    @classmethod
    def more(cls, data: Mapping[str, Any]) -> Iterable[str]:
        return cls.registry

    @classmethod
    def takes(cls, key: str, data: Mapping[str, Any]) -> bool:
        return key in cls.registry or ":" in key

    @classmethod
    def parse_more(cls, data: dict[str, Any]) -> dict[str, Any]:
        data = super().parse_more(data)
        [(name, options)] = data.items()
        if name in cls.known():
            return data
        options = whole(options)
        cls.check(name, options)
        return {name: options}

    @classmethod
    def check(cls, name: str, options: Any) -> None:
        """Refuse what is of another kind, and options that the thing of this name does not take."""
        target = checked(cls.registry.load, (name,))(name)
        if cls.base is not object and not (isinstance(target, type) and issubclass(target, cls.base)):
            raise wrong(f"is not a {cls.what}", f"Name a subclass of binwright.{cls.base.__name__}.", (name,))
        check_options(target, options, (name,))

    def build(self) -> Any:
        """Make the object behind the name, with its options."""
        name, options = self.chosen
        if isinstance(options, Model):  # a copy, because the scenario is reused and a predictor learns
            return options.model_copy()
        kind = self.registry.load(name)
        return kind(**check_options(kind, options)) if isinstance(options, dict) else kind(options)
