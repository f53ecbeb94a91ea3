"""Alternatives of the schema that third parties add to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from pydantic import ConfigDict

from binwright.simcore.fields import Model, OneOf, checked, whole, wrong
from binwright.simcore.options import check_options
from binwright.simcore.registry import Registry


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
