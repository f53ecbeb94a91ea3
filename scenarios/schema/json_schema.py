"""The schema of scenario files as JSON, for editors: `binwright list schema`; and how types of keys are written."""

import inspect
import re
import types
from collections.abc import Iterator
from functools import reduce
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic.fields import FieldInfo

from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.fields import Model, Shown

SHORT = {
    "{label: value, or list of values}": "labels",
    "whole number": "integer",
    " from 0": " ≥0",
    " from 1": " ≥1",
    " above 0": " >0",
}
"""How types are written, shorter than in messages."""


def json_schema() -> dict[str, Any]:
    """Make a JSON schema of scenario files, for editors: which keys there are, what they mean, and examples."""
    models = models_below(Scenario, set())
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Scenario",
        "$ref": "#/$defs/Scenario",
        "$defs": {model.__name__: _outline(model) for model in models},
    }


def _outline(model: type[Model]) -> dict[str, Any]:
    """Describe the keys of a model; others are wrong, unless it has short forms, or takes some that only it knows."""
    properties = {key: {"description": model.meaning(key)} | _key(field) for key, field in model.known().items()}
    result = {"description": inspect.getdoc(model) or "", "properties": properties}
    own = all(getattr(model, name).__func__ is getattr(Model, name).__func__ for name in ("prepare", "more", "takes"))
    return result | ({"additionalProperties": False} if own else {})


def _key(field: FieldInfo) -> dict[str, Any]:
    """Describe a key: examples, words that it takes, and the mappings below it."""
    result: dict[str, Any] = {"examples": [yaml.safe_load(str(example)) for example in field.examples or ()]}
    if re.fullmatch(r"(`\w+`, )*`\w+`", type_of(field)):
        result["enum"] = [*type_of(field)[1:-1].split("`, `"), None]
    refs = [{"$ref": f"#/$defs/{kind.__name__}"} for kind in dict.fromkeys(models_in(field.annotation))]
    below: dict[str, Any] = {"anyOf": refs} if refs else {}
    return result | {".0": {"items": below}, ".NAME": {"additionalProperties": below}, "": below}[step_to(field)]


def models_below(model: type[Model], seen: set[type[Model]]) -> Iterator[type[Model]]:
    """Yield a model and all models below it, in the order in which they are met."""
    if model in seen:
        return
    seen.add(model)
    yield model
    for field in model.model_fields.values():
        for below in models_in(field.annotation):
            yield from models_below(below, seen)


def models_in(annotation: Any) -> Iterator[type[Model]]:
    """Yield the models in a type, in the order in which it names them."""
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield annotation
    for argument in get_args(annotation):
        yield from models_in(argument)


def step_to(field: FieldInfo) -> str:
    """Write the step from a key to what is in its list or mapping, as `--set` reaches into lists."""
    written = type_of(field)
    return ".0" if written.startswith("list of") else ".NAME" if written.startswith("{text: [") else ""


def type_of(field: FieldInfo) -> str:
    """Write the type of a key, briefly; mappings are links, as `[Cluster](#cluster)`."""
    shown = [each.text for each in field.metadata if isinstance(each, Shown)]
    written = shown[0] if shown else _name(field.annotation)
    return reduce(lambda text, short: text.replace(*short), SHORT.items(), written)


def _name(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        shown = [each.text for each in arguments if isinstance(each, Shown)]
        return shown[-1] if shown else _name(arguments[0])
    if origin in (Union, types.UnionType):
        *others, last = (_name(each) for each in arguments if each is not types.NoneType)
        return f"{', '.join(others)} or {last}" if others else last
    if origin is Literal:
        return ", ".join(f"`{each}`" for each in arguments)
    if origin is tuple:
        return f"list of {_name(arguments[0])}" if arguments[1] is ... else f"[{', '.join(map(_name, arguments))}]"
    if origin is dict:
        return f"{{{_name(arguments[0])}: {_name(arguments[1])}}}"
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return f"[{title_of(annotation)}](#{title_of(annotation).lower()})"
    return {Any: "anything", str: "text", bool: "boolean"}[annotation]


def title_of(model: type[Model]) -> str:
    """Name a model for people: `Cluster`, and not `ClusterSpec`, which is only told from the cluster itself."""
    return model.__name__.removesuffix("Spec")
