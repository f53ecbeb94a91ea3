"""Unions in scenario files. Which form a value has is found out first, so that its mistakes are those of that form."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args

from pydantic import BeforeValidator, Discriminator, GetCoreSchemaHandler, Tag
from pydantic_core import CoreSchema

from binwright.simcore.fields import wrong


class PlainOrMapping:
    """Tells a plain value from a mapping, which the second member of the union reads."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        plain, more = get_args(source)

        def form(value: Any) -> str:
            return "<more>" if isinstance(value, (Mapping, more) if isinstance(more, type) else Mapping) else "<plain>"

        tagged: Any = Annotated[plain, Tag("<plain>")] | Annotated[more, Tag("<more>")]
        return handler.generate_schema(Annotated[tagged, Discriminator(form)])


@dataclass(frozen=True, slots=True)
class ByKey:
    """Tells the models of a union apart by a key that one of them has: their `keys`, in the same order.

    What has none of them is refused with the `problem`, and an `example` of what has one.
    """

    keys: tuple[str, ...]
    problem: str
    example: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        kinds = dict(zip(self.keys, get_args(source), strict=True))

        def form(value: Any) -> str:
            for key, kind in kinds.items():
                if isinstance(value, kind) or (isinstance(value, Mapping) and value.get(key) is not None):
                    return f"<{key}>"
            return "<none>"

        def refuse(value: Any) -> Any:
            raise wrong(self.problem, f"Give one of {', '.join(kinds)}, like {self.example}.")

        members = [Annotated[kind, Tag(f"<{key}>")] for key, kind in kinds.items()]
        none = Annotated[Any, BeforeValidator(refuse), Tag("<none>")]
        return handler.generate_schema(Annotated[Union[(*members, none)], Discriminator(form)])
