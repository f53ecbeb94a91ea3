"""Writes the schema as a page: `python -m binwright.scenarios.schema.reference > docs/reference/scenario.md`."""

import inspect
import json
import re
import types
from collections.abc import Iterator
from functools import reduce
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.fields import Model, Shown
from binwright.simcore.json_schema import laid_over

LONG = 60
"""Letters from which on a key that several sections have is explained in the first of them only."""
SHORT = {"whole number": "integer", " from 0": " ≥0", " from 1": " ≥1", " above 0": " >0"}
"""How types are written, shorter than in messages."""
HIDDEN = ("OtherOverflow", "AfterPreemption", "AfterRoom", "OtherLifetimes")
"""Mappings without a section: the keys that take them show all that is in them."""
_INTRO = """\
# Scenario files

Generated from the schema by `python -m binwright.scenarios.schema.reference`; do not edit.

A scenario is a YAML file: a cluster, a workload, and the agents to compare on them.

```yaml
cluster: {servers: 10, nodes: 2, node: {cpu: 40, mem: 90 GB}, spread_above: {mem: 10 GB}}
workload: {trace: huawei-east-1, start: {random: [50000, 100000]}, requests: 2000}
overflow: stop
agents: [first-fit, best-fit, {best-fit: {node: loose}}]
replications: 100
```

- Unknown keys are refused. `key: null` says the same as leaving the key out.
- Bold keys are required. Most keys have an example behind their meaning, or in the example of the key above them.
- Times take us, ms, s, min, h, d, w; data (mem, memory, disk, ssd, hdd) takes MB, GB, TB, MiB, GiB, TiB, ...; cpu takes
  cores and millicores; shares take %. Plain numbers are seconds, GB (1e9 bytes), cores, and shares from 0 to 1.
  Resources of other names take plain numbers.
- What a key `path` says, and `file.py:Class`, is relative to the file that says it.
- `--set cluster.servers=100` overrides a key. Dotted keys reach into lists by number: `cluster.groups.0.count`.
- `binwright list schema` prints a JSON schema for editors. Mistakes that depend on several keys or files only
  `binwright validate` finds.
- Resources are whatever the servers have. Their order matters: the agents' "CPU" is the first one.
"""


def json_schema() -> dict[str, Any]:
    """JSON schema of a scenario file, for editors: of one that stands alone, and of one that `extends` another."""
    whole = Scenario.model_json_schema(by_alias=True)
    _parse_examples(whole)
    kinds = {**whole.pop("$defs"), "Scenario": whole}
    extends = {"required": ["extends"], "properties": {"extends": {"type": ["string", "array"]}}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Scenario",
        "description": whole["description"],
        "if": extends,
        "then": {"$ref": "#/$defs/Scenario-laid-over"},
        "else": {"$ref": "#/$defs/Scenario"},
        "$defs": kinds | {f"{name}-laid-over": laid_over(kind) for name, kind in kinds.items()},
    }


def _parse_examples(schema: Any) -> None:
    """Parse the examples in a schema: they are YAML in the models, and stand for its data in a JSON schema."""
    if isinstance(schema, dict) and isinstance(schema.get("examples"), list):
        schema["examples"] = [yaml.safe_load(str(example)) for example in schema["examples"]]
    for below in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        _parse_examples(below)


def reference() -> str:
    """Write the reference of every key, in Markdown."""
    seen: dict[str, str] = {}
    shown = [model for model in _models(Scenario, set()) if model.__name__ not in HIDDEN]
    return "\n".join([_INTRO, *(_section(model, seen) for model in shown)])


def _models(model: type[Model], seen: set[type[Model]]) -> Iterator[type[Model]]:
    """Yield a model and all models below it, in the order in which they are met."""
    if model in seen:
        return
    seen.add(model)
    yield model
    for field in model.model_fields.values():
        for below in _inside(field.annotation):
            yield from _models(below, seen)


def _inside(annotation: Any) -> Iterator[type[Model]]:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield annotation
    for argument in get_args(annotation):
        yield from _inside(argument)


def _section(model: type[Model], seen: dict[str, str]) -> str:
    """Write the section of a model; `seen` has the keys of the sections before, by the section that explains each."""
    lines, known = [f"## {_title(model)}", "", inspect.getdoc(model) or "", ""], dict[str, list[str]]()
    for key, field in model.known().items():
        new = [one for one in _examples(key, field) if not any(one[1:-2] in line for line in seen)]
        text = " ".join([field.description or "", *new])
        shown = f"**`{key}`**" if field.is_required() else f"`{key}`"
        line = f"- {shown} ({_type(field)}{_default(field)}): {text}"
        if len(line) < LONG or (first := seen.setdefault(line, _title(model))) == _title(model):
            lines.append(line)
        else:
            known.setdefault(first, []).append(f"`{key}`")
    lines += [f"- {', '.join(keys)}: as in [{first}](#{first.lower()})." for first, keys in known.items()]
    return "\n".join([*lines, ""] if lines[-1] else lines)


def _examples(key: str, field: FieldInfo) -> list[str]:
    """Write the examples of a field, unless its type says already how it is written: a number, a time, one word."""
    if re.match(r"(integer|number|time|share|power|energy)( [≥>]\d+| or `never`)?$", _type(field)):
        return []
    words = "text" in _type(field).split(",")
    return [f"`{key}: {one}`." for one in field.examples or () if not (words and re.match(r"\w+$", str(one)))]


def _title(model: type[Model]) -> str:
    """Name a model for people: `Cluster`, and not `ClusterSpec`, which is only told from the cluster itself."""
    return model.__name__.removesuffix("Spec")


def _default(field: FieldInfo) -> str:
    default = None if field.is_required() else field.get_default(call_default_factory=True, validated_data={})
    if default is None or default in ((), {}, "") or isinstance(default, BaseModel):
        return ""
    return f"; default `{_written(default)}`"


def _written(default: Any) -> str:
    """Write a default as YAML has it."""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, tuple):
        return f"[{', '.join(map(_written, default))}]"
    return f"{default:g}" if isinstance(default, float) else str(default)


def _type(field: FieldInfo) -> str:
    shown = [one.text for one in field.metadata if isinstance(one, Shown)]
    found = shown[0] if shown else _name(field.annotation)
    return reduce(lambda text, short: text.replace(*short), SHORT.items(), found)


def _name(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        shown = [one.text for one in arguments if isinstance(one, Shown)]
        return shown[-1] if shown else _name(arguments[0])
    if origin in (Union, types.UnionType):
        *others, last = (_name(one) for one in arguments if one is not types.NoneType)
        return f"{', '.join(others)} or {last}" if others else last
    if origin is Literal:
        return ", ".join(f"`{one}`" for one in arguments)
    if origin is tuple:
        return f"list of {_name(arguments[0])}" if arguments[1] is ... else f"[{', '.join(map(_name, arguments))}]"
    if origin is dict:
        return f"{{{_name(arguments[0])}: {_name(arguments[1])}}}"
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return f"[{_title(annotation)}](#{_title(annotation).lower()})"
    return {Any: "anything", str: "text", bool: "boolean"}[annotation]


if __name__ == "__main__":
    import sys

    print(json.dumps(json_schema(), indent=2) if "--json" in sys.argv else reference(), end="")
