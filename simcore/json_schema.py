"""Pieces of the JSON schema that pydantic does not make: null for what is absent, units, keys that exclude others.

Rules about which keys there must be stand in `required` and `allOf` only: a file that is laid over another need not
keep them, and `laid_over` takes them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, TypeAlias

from binwright.simcore.units import COUNT, LARGEST, MEASURES, SHARE, TIME, Measure

Schema: TypeAlias = dict[str, Any]

NULL: Schema = {"type": "null"}
PLUGIN = r"[^:]:\w"
"""Names of what is not a part of Binwright: `package.module:Class`, `file.py:Class`."""
OTHERS: Schema = {"additionalProperties": NULL, "propertyNames": {"pattern": "^[^0-9]"}}
"""What else may be in a mapping: nothing but null, and names only."""
_ABOUT = ("description", "examples", "default", "title")
_NUMBER = r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"
_PERCENT = r"\+?0*(100(\.0*)?|[0-9]{0,2}\.?[0-9]*)\s*%"
_PART = r"\+?0*(1(\.0*)?|\.?[0-9]+|0\.[0-9]*)"


def nullable(schema: Schema) -> Schema:
    """Let a schema also take null, which says that the key is absent."""
    if NULL in schema.get("anyOf", ()):
        return schema
    about = {key: value for key, value in schema.items() if key in _ABOUT}
    return {"anyOf": [{key: value for key, value in schema.items() if key not in about}, NULL], **about}


def _there(schema: Schema) -> Schema:
    """Keep a schema from taking null."""
    return {**schema, "anyOf": [one for one in schema["anyOf"] if one != NULL]} if "anyOf" in schema else schema


def mapping(properties: Mapping[str, Schema], required: Iterable[str] = (), **more: Any) -> Schema:
    """Make the schema of an object with these keys; what is null is absent, whatever its key."""
    required = list(required)
    shown = {key: value if key in required else nullable(value) for key, value in properties.items()}
    return {"type": "object", "properties": shown, "required": required, **OTHERS, **more}


def one_key(alternatives: Mapping[str, Schema], plugins: bool) -> Schema:
    """Make the schema of an object with exactly one of these keys, or, with `plugins`, one for what others wrote."""
    forms = [mapping({key: _there(value)}, [key]) for key, value in alternatives.items()]
    if plugins:
        some = {"not": {"propertyNames": {"not": {"pattern": PLUGIN}}}}
        forms.append({"type": "object", "patternProperties": {PLUGIN: {}}, "additionalProperties": NULL, **some})
    return {"anyOf": forms}


def given(*keys: str, without: Iterable[str] = (), empty: Iterable[str] = ()) -> Schema:
    """Object that have these keys, not those `without`, and of `empty` nothing that counts."""
    there = {key: {"not": NULL} for key in keys}
    nothing = {"anyOf": [NULL, {"type": "array", "maxItems": 0}, {"type": "object", "maxProperties": 0}]}
    none = dict.fromkeys(empty, nothing)
    return {"required": list(keys), "properties": {**there, **dict.fromkeys(without, NULL), **none}}


def laid_over(schema: Any) -> Any:
    """Make the schema of a file that is laid over another: it may say any part. Lists are replaced, and so whole."""
    if isinstance(schema, list):
        return [laid_over(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "oneOf" in schema:  # of kinds of workload, which a part may fit several of
        schema = {"anyOf" if key == "oneOf" else key: value for key, value in schema.items()}
    if "$ref" in schema:
        return {**schema, "$ref": f"{schema['$ref']}-laid-over"}
    kept = {key: value for key, value in schema.items() if key not in ("required", "allOf")}
    return {key: value if key in ("items", "prefixItems", *_ABOUT) else laid_over(value) for key, value in kept.items()}


# -- amounts -----------------------------------------------------------------------------------------------------------


def quantity(
    measure: Measure, example: str = "", above_zero: bool = False, largest: float | None = None, bare: bool = False
) -> Schema:
    """Make the schema of a number, with or without a unit; `bare` takes a unit alone, too."""
    units = "|".join(measure.factors)
    number = rf"{_NUMBER}\s*({units})?" if units else _NUMBER
    if measure is SHARE:
        number = f"({_PERCENT}|{_PART})"
    some = r"(?=[^eE]*[1-9])" if above_zero else ""
    if bare and units:
        some, number = "", rf"({units}|{some}{number})"
    numbers: Schema = {"type": "number", "exclusiveMinimum" if above_zero else "minimum": 0}
    if isfinite(most := measure.largest if largest is None else largest):
        numbers["maximum"] = most
    like = f" Like {example}." if example else ""
    return {
        "anyOf": [numbers, {"type": "string", "pattern": rf"^\s*{some}{number}\s*$"}],
        "description": f"{measure.accepted}{like}",
    }


def amounts() -> Schema:
    """Amount by resource."""
    properties = {name: nullable(quantity(measure, largest=LARGEST)) for name, measure in MEASURES.items()}
    others = nullable(quantity(COUNT, largest=LARGEST))
    return {**OTHERS, "type": "object", "properties": properties, "additionalProperties": others}


def emptied() -> Schema:
    """Make the schema of what stands for empty cells: times or `never`, and amounts by resource."""
    never = {"anyOf": [*quantity(TIME)["anyOf"], {"const": "never"}]}
    found, times = amounts(), dict.fromkeys(("end", "lifetime"), nullable(never))
    return {**found, "properties": found["properties"] | {"arrival": NULL} | times}


def units() -> Schema:
    """Make the schema of units by resource, or by column of times."""
    known = MEASURES | dict.fromkeys(("arrival", "end", "lifetime"), TIME)
    properties = {name: nullable(quantity(each, above_zero=True, bare=True)) for name, each in known.items()}
    others = nullable(quantity(COUNT, above_zero=True))
    return {**OTHERS, "type": "object", "properties": properties, "additionalProperties": others}
