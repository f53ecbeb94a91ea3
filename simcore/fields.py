"""What the schema's models are made of: a base that explains mistakes, and fields with units."""

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from inspect import getsource
from itertools import pairwise
from math import inf
from operator import gt, lt
from typing import Annotated, Any, ClassVar, Self, TypeAlias, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ModelWrapValidatorHandler,
    PlainSerializer,
    ValidationError,
    model_validator,
)
from pydantic_core import CoreSchema, ErrorDetails, InitErrorDetails, PydanticCustomError
from pydantic_core.core_schema import (
    no_info_before_validator_function,
    plain_serializer_function_ser_schema,
    str_schema,
)

from binwright.simcore.errors import UserError, nearest, suggest
from binwright.simcore.units import ENERGY, POWER, RATE, SHARE, TIME, Measure

T = TypeVar("T")
Keys: TypeAlias = tuple[str | int, ...]
"""Where something stands in a scenario, from the top on."""
KINDS = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a smaller number",
    "float_type": "a number",
    "string_type": "text",
    "tuple_type": "a list",
    "missing": "a list of two",
    "dict_type": "a mapping of keys",
    "bool_type": "true or false",
}
"""What is to stand where pydantic finds something else."""
REMEDIES = {
    "string_type": "Put it in quotes if it looks like a number or a date.",
    "tuple_type": "Write it like [first, second].",
    "missing": "Write it like [first, second].",
    "dict_type": "Write it like {key: value}.",
}


@dataclass(frozen=True, slots=True, eq=False)  # typing takes one type for another that is equal
class Shown:
    """How the reference names a type."""

    text: str


def wrong(problem: str, remedy: str, at: Iterable[str | int] = (), value: object = None) -> PydanticCustomError:
    """Make a mistake below the value being validated, in the form that `explain` turns into a `ScenarioError`."""
    return PydanticCustomError(
        "binwright", "{problem}", {"problem": problem, "remedy": remedy, "at": tuple(at), "value": value}
    )


def checked(parse: Callable[[Any], T], at: tuple[str, ...] = ()) -> Callable[[Any], T]:
    """Make a parser whose `UserError` becomes a mistake that pydantic locates."""

    def validate(value: Any) -> T:
        try:
            return parse(value)
        except UserError as error:
            raise wrong(error.problem, error.remedy, at) from None

    return validate


def expected(detail: ErrorDetails) -> str:
    """Say what pydantic expected: `expected a whole number`, `expected 1 or more`."""
    context = detail.get("ctx", {})
    bounds = {"ge": "{} or more", "gt": "more than {}", "le": "{} or less", "lt": "less than {}"}
    bounds |= {"min_length": "at least {} of these", "max_length": "at most {} of these"}
    words = next((text.format(whole(context[bound])) for bound, text in bounds.items() if bound in context), "")
    return f"expected {words or KINDS.get(detail['type']) or detail['msg'].removeprefix('Input should be ')}"


def keys_of(detail: ErrorDetails) -> Keys:
    """Find the keys of a mistake, without the tags of unions, which stand in <brackets>."""
    keys = tuple(key for key in detail["loc"] if not re.fullmatch(r"<[\w-]+>", str(key)))
    return (*keys, *detail.get("ctx", {}).get("at", ()))


def describe_mistake(detail: ErrorDetails) -> tuple[str, str, Any]:
    """Say problem and remedy of what pydantic found, and the value if it is not simply what stands there."""
    context = detail.get("ctx", {})
    if detail["type"] == "binwright":
        return context["problem"], context["remedy"], context["value"]
    known = re.findall(r"'([^']*)'", context["expected"]) if detail["type"] == "literal_error" else []
    if known:
        return "is no known value", suggest(str(detail["input"]), known), None
    if detail["type"] == "string_pattern_mismatch":
        remedy = "Write letters, digits, spaces and . + - _, of which the first is a letter, a digit or _."
        return "is not a name", remedy, None
    if detail["type"] == "tuple_type" and isinstance(value := detail["input"], str):
        return "expected a list", f"Write a list: [{value}].", None
    if detail["type"] == "tuple_type" and isinstance(detail["input"], Mapping):
        return "expected a list", "Write it like [{key: value}, {key: value}].", None
    if detail["type"] == "string_type" and isinstance(detail["input"], list):
        return expected(detail), "Write one of them.", None
    if detail["type"] == "too_short" and isinstance(detail["input"], Mapping):
        return "is empty", f"Give at least {context['min_length']} of them.", None
    return expected(detail), REMEDIES.get(detail["type"], ""), None


def findings(error: PydanticCustomError | ValidationError) -> list[InitErrorDetails]:
    """List the mistakes in an error, to be raised again together with others."""
    if isinstance(error, PydanticCustomError):
        return [{"type": error, "loc": (), "input": None}]
    return [
        {
            "type": wrong(**problem["ctx"]) if problem["type"] == "binwright" else problem["type"],
            "loc": problem["loc"],
            "input": problem["input"],
            "ctx": problem.get("ctx", {}),
        }
        for problem in error.errors(include_url=False)
    ]


def together(*checks: Callable[[], object]) -> None:
    """Make all of these checks, and raise what they raise as one."""
    problems = []
    for check in checks:
        try:
            check()
        except (PydanticCustomError, ValidationError) as error:
            problems += findings(error)
    if problems:
        raise ValidationError.from_exception_data("mistakes", problems)


def known_resources(names: Iterable[str], resources: tuple[str, ...], at: Keys, others: tuple[str, ...] = ()) -> None:
    """Refuse the key of a resource that the cluster does not have; `others` may have been meant too."""

    def known(name: str) -> None:
        if name not in resources:
            raise wrong("the cluster has no such resource", suggest(name, [*resources, *others]), (*at, name))

    together(*(partial(known, name) for name in names))


@cache
def _meanings(model: type) -> dict[str, str]:
    """Read what stands below the attributes of a class; nothing where its source is not at hand."""
    try:
        [parsed] = ast.parse(getsource(model).lstrip()).body  # texts in it may begin at the left, so no dedent
    except (OSError, TypeError, SyntaxError):
        return {}
    return {
        key.target.id: " ".join(text.value.value.split())
        for key, text in pairwise(getattr(parsed, "body", ()))
        if isinstance(key, ast.AnnAssign) and isinstance(key.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }


class Model(BaseModel):
    """A mapping in a scenario file. `null` says the same as leaving a key out.

    What a key means is its `description` where that has room in its line, and else stands below it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, ser_json_inf_nan="constants")
    other_names: ClassVar[Mapping[str, str]] = {}
    """Keys that people know by other names, such as an option's of the command line: name -> key."""

    @model_validator(mode="wrap")
    @classmethod
    def _checked(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Find as many mistakes as there are: in the keys, and in the values of those that are known."""
        if isinstance(data, cls):
            return handler(data)
        data = cls.prepare(data)
        fields = cls.known()
        if not isinstance(data, Mapping):
            raise wrong("must be a mapping of keys", f"Its keys: {', '.join(fields)}.")
        problems: list[InitErrorDetails] = []
        values = {key: value for key, value in data.items() if value is not None or not is_name(key)}
        known = {key: value for key, value in values.items() if key in fields or cls.takes(key, values)}
        meant: set[str | None] = set()
        for key in values.keys() - known.keys():
            names = [*fields, *cls.more(values)]
            name = cls.other_names.get(str(key), str(key))
            meant.add(near := nearest(name, names))
            remedy = suggest(name, names, "`binwright list schema`" if near else "")
            problems += findings(wrong("unknown key", remedy, (key,)))
        for key, field in fields.items():
            if field.is_required() and key not in known and key not in meant:
                remedy = f"Add `{key}`: {cls.meaning(key)}".rstrip(": ")
                problems += findings(wrong("is missing", remedy, (key,)))
        if not problems:
            try:
                known = cls.parse_more(known)
            except (PydanticCustomError, ValidationError) as error:
                problems += findings(error)
        try:
            model = handler(known)
        except ValidationError as error:
            # A key that is missing here is said already; within a list of two, it is the other one.
            problems += [
                problem for problem in findings(error) if problem["type"] != "missing" or len(problem["loc"]) > 1
            ]
        if problems:
            raise ValidationError.from_exception_data(cls.__name__, problems)
        return model

    @classmethod
    def known(cls) -> dict[str, Any]:
        """List the fields by the key that a scenario uses."""
        return {field.alias or name: field for name, field in cls.model_fields.items()}

    @classmethod
    def meaning(cls, key: str) -> str:
        """Say what a key means."""
        name, field = next((name, field) for name, field in cls.model_fields.items() if key in (field.alias, name))
        return field.description or next(filter(None, (_meanings(each).get(name) for each in cls.__mro__)), "")

    @classmethod
    def prepare(cls, data: Any) -> Any:
        """Turn short forms into the mapping they stand for."""
        return data

    @classmethod
    def more(cls, data: Mapping[str, Any]) -> Iterable[str]:
        """List the keys beyond the fields that this data may have, as far as they are known."""
        return ()

    @classmethod
    def takes(cls, key: str, data: Mapping[str, Any]) -> bool:
        """Whether a key beyond the fields is taken."""
        return key in cls.more(data)

    @classmethod
    def parse_more(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Check keys beyond the fields, and keys together."""
        return data

    def __hash__(self) -> int:
        """Hash less than is compared: mappings have no hash."""
        return hash((type(self), *(value for _, value in self if not isinstance(value, dict))))

    def dump(self) -> dict[str, Any]:
        """Plain data with every default written out, which validates to an equal model."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class OneOf(Model):
    """A mapping with exactly one key, which says which."""

    what: ClassVar[str] = "kind"

    @classmethod
    def parse_more(cls, data: dict[str, Any]) -> dict[str, Any]:
        if len(data) != 1:
            problem = f"needs one {cls.what}" if not data else f"has more than one {cls.what}: {', '.join(data)}"
            names = dict.fromkeys((*cls.known(), *cls.more(data)))
            raise wrong(problem, f"Give exactly one of {', '.join(names)}.")
        return data

    @property
    def chosen(self) -> tuple[str, Any]:
        """The one key that is given, and its value."""
        return next((name, value) for name, value in self if value is not None)


def is_name(key: object) -> bool:
    """Whether a key may be one: those that begin with a digit are pieces of numbers, as in {mem: 8,5 GB}."""
    return not str(key)[:1].isdigit()


def whole(value: Any) -> Any:
    """1e3 is as whole a number as 1000, in YAML as in JSON schemas; in lists and mappings, too."""
    if isinstance(value, Mapping):
        return {key: whole(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [whole(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def mapping_of(
    values: object, what: str, like: str, parse: Callable[[str, Any], T], named: Callable[[str], object] = str
) -> dict[str, T]:
    """Read a mapping of `what`, but for what is null; the mistakes in its names and values are found together.

    `parse` reads the value of a name, and `named` refuses what is none.
    """
    if not isinstance(values, Mapping):
        raise wrong(f"must be a mapping of {what}", f"Write it like {like}.")
    mapping: dict[str, T] = {}

    def read(name: str, value: Any) -> None:
        named(name)
        if value is not None:
            mapping[name] = parse(name, value)

    together(*(partial(read, str(name), value) for name, value in values.items()))
    return mapping


def _where(values: Any) -> dict[str, list[str]]:
    """Turn labels with a value, or a list of values, into labels with lists."""

    def texts(name: str, value: Any) -> list[str]:
        listed = [value] if isinstance(value, str | int | float) else value
        if not is_name(name) or not isinstance(listed, list | tuple) or not listed:
            raise wrong("is no label with its values", "Write it like {zone: a} or {zone: [a, b]}.", (name,))
        for text in listed:
            if not isinstance(text, str):
                raise wrong("expected text", "Put it in quotes if it looks like a number.", (name,), text)
        return list(listed)

    return mapping_of(values, "labels to values", "{zone: a} or {zone: [a, b]}", texts)


def _listed(value: Any) -> Any:
    """Turn one text into a list of it."""
    return [value] if isinstance(value, str) else value


def positive(measure: Measure) -> Callable[[object], float]:
    """Make what reads a number above zero."""

    def parse(value: object) -> float:
        number = measure.parse(value)
        if number == 0:
            raise UserError("must be more than zero", remedy=measure.accepted)
        return number

    return parse


@dataclass(frozen=True, slots=True, eq=False)
class Quantity(Shown):
    """Reads a number with a unit of `measure` within bounds, which have units, and writes it as text that reads so."""

    measure: Measure
    above_zero: bool = False
    least: str = ""
    most: str = ""

    def parse(self, value: object) -> float:
        """Read a number."""
        number = (positive(self.measure) if self.above_zero else self.measure.parse)(value)
        for bound, beyond, direction in ((self.least, lt, "more"), (self.most, gt, "less")):
            if bound and beyond(number, self.measure.parse(bound)):
                raise UserError(f"expected {bound} or {direction}", remedy=self.measure.accepted)
        return number

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = no_info_before_validator_function(checked(self.parse), handler(source))
        if self.measure is not SHARE:  # which is a plain number
            schema["serialization"] = plain_serializer_function_ser_schema(
                self.measure.show, return_schema=str_schema()
            )
        return schema


Time: TypeAlias = Annotated[float, Quantity("time", TIME)]
PositiveTime: TypeAlias = Annotated[float, Quantity("time above 0", TIME, above_zero=True)]
Lifespan: TypeAlias = Annotated[
    float,
    BeforeValidator(checked(lambda value: inf if value in ("never", inf) else TIME.parse(value))),
    PlainSerializer(lambda seconds: "never" if seconds == inf else TIME.show(seconds), return_type=str),
    Shown("time or `never`"),
]
Share: TypeAlias = Annotated[float, Quantity("share", SHARE, above_zero=True)]
ShareFromZero: TypeAlias = Annotated[float, Quantity("share from 0", SHARE)]
Watts: TypeAlias = Annotated[float, Quantity("power", POWER)]
WattHours: TypeAlias = Annotated[float, Quantity("energy", ENERGY)]
DataRate: TypeAlias = Annotated[float, Quantity("data per second", RATE, above_zero=True)]
Count: TypeAlias = Annotated[
    int, Field(strict=True, ge=1, le=100_000_000), BeforeValidator(whole), Shown("whole number from 1")
]
Index: TypeAlias = Annotated[int, Field(strict=True, ge=0), BeforeValidator(whole), Shown("whole number from 0")]
Number: TypeAlias = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False), Shown("number from 0")]
FromOne: TypeAlias = Annotated[float, Field(strict=True, ge=1, allow_inf_nan=False), Shown("number from 1")]
PositiveNumber: TypeAlias = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False), Shown("number above 0")]
Text: TypeAlias = Annotated[str, Field(strict=True), Shown("text")]
Where: TypeAlias = Annotated[dict[str, list[str]], BeforeValidator(_where), Shown("{label: value, or list of values}")]
Names: TypeAlias = Annotated[tuple[Text, ...], BeforeValidator(_listed), Shown("text, or list of text")]
SomeNames: TypeAlias = Annotated[
    tuple[Text, ...], Field(min_length=1), BeforeValidator(_listed), Shown("text, or list of text")
]
