"""Writes the schema as a page: `python -m docs.scenario_reference > docs/reference/scenario.md`."""

import inspect
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from binwright.agents.learned import TRAINERS
from binwright.scenarios.schema.json_schema import models_below, models_in, step_to, title_of, type_of
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.fields import Model

LONG = 60
"""Letters from which on a key that several sections have is explained in the first of them only."""
SMALL = 4
"""Keys of a mapping, at most, that stand in the table of the key above, where no other key takes such a mapping."""
BRIEF = 12
"""Words of a mapping's description, at most, that are left out where the key above has a meaning, too."""
HIDDEN = ("OtherOverflow", "AfterPreemption", "AfterRoom", "OtherLifetimes")
"""Mappings without a section: the keys that take them show all that is in them."""
KINDS = {int: "integer", float: "number", str: "text", bool: "boolean"}
"""How plain types are written."""
LARGE = 1e6
"""A limit of a setting from which on nobody meets it."""
_INTRO = """\
# Scenario files

Generated from the schema by `python -m docs.scenario_reference`; do not edit.

A scenario is a YAML file: a cluster, a workload, and the agents to compare on them.

```yaml
cluster: {servers: 10, nodes: 2, node: {cpu: 40, mem: 90 GB}, spread_above: {mem: 10 GB}}
workload: {trace: huawei-east-1, start: {random: [50000, 100000]}, requests: 2000}
overflow: stop
agents: [first-fit, best-fit, {best-fit: {node: loose}}]
replications: 100
```

- Sections are headed by the path of their key, as `--set cluster.groups.0.count=5` writes it: 0 is the first entry of a
  list, NAME any key of a mapping. Where a key takes one of several mappings, the heading names a key of this one.
- **Bold** keys are required. Unknown keys are refused. `key: null` says the same as leaving the key out.
- Times take us, ms, s, min, h, d, w; data (mem, memory, disk, ssd, hdd) takes MB, GB, TB, MiB, GiB, TiB, ...; cpu takes
  cores and millicores; shares take %. Plain numbers are seconds, GB (1e9 bytes), cores, and shares from 0 to 1.
  Resources of other names take plain numbers.
- Labels are `{zone: a}`, or with several values `{zone: [a, b], kind: large}`.
- What a key `path` says, and `file.py:Class`, is relative to the file that says it.
- `binwright list schema` prints a JSON schema for editors: keys, words, examples. `validate` finds mistakes in values.
- Resources are whatever the servers have. Their order matters: the agents' "CPU" is the first one.
"""


def reference() -> str:
    """Write the reference of every key, in Markdown: a section by key path, with a table of the keys below it."""
    sections = [*_Sections().written()]
    place = next(number for number, section in enumerate(sections) if section.startswith("## train.agent\n"))
    return "\n".join([_INTRO, *sections[: place + 1], *_trainers(), *sections[place + 1 :]])


class _Sections:
    """Where each model is explained: at the path of the key at which it is met first."""

    def __init__(self) -> None:
        self.paths: dict[type[Model], str] = {}
        models = list(models_below(Scenario, set()))
        fields = [field for model in models for field in model.known().values()]
        self.uses = Counter(kind for field in fields for kind in set(models_in(field.annotation)))
        self.order = list(self._place(Scenario, ""))

    def _place(self, model: type[Model], path: str) -> Iterator[type[Model]]:
        """Name the section of a model, and of all models below it, and yield them in the order of the page."""
        yield model
        self.paths[model] = path
        new = []
        for key, field in model.known().items():
            below = list(dict.fromkeys(models_in(field.annotation)))
            for kind in (kind for kind in below if kind not in self.paths):
                place = f"{path.partition(' (')[0]}.{key}{step_to(field)}".lstrip(".")
                alone = len(below) == 1 or kind.__name__ in HIDDEN
                self.paths[kind] = place if alone else f"{place} ({_variant(kind)})"
                new.append(kind)
        for kind in new:
            yield from self._place(kind, self.paths[kind])

    def _small(self, model: type[Model]) -> bool:
        """Say whether a model has so few keys that they stand in the table of the key above."""
        fields = model.known().values()
        plain = 0 < len(fields) <= SMALL and not any(kind for field in fields for kind in models_in(field.annotation))
        return plain and self.uses[model] == 1 and " (" not in self.paths[model]

    def written(self) -> Iterator[str]:
        """Write each section, in the order in which their keys are met."""
        seen: dict[tuple[str, ...], str] = {}
        for model in self.order:
            if model.__name__ not in HIDDEN and not self._small(model):
                yield self._section(model, self.paths[model] or "All keys", seen)

    def _section(self, model: type[Model], title: str, seen: dict[tuple[str, ...], str]) -> str:
        rows, known = [], dict[str, list[str]]()
        for row in self._rows(model, ""):
            if sum(map(len, row)) < LONG or (first := seen.setdefault(row, title)) == title:
                rows.append(f"|{'|'.join(cell.replace('|', '&#124;') for cell in row)}|")
            else:
                known.setdefault(first, []).append(row[0])
        doc = inspect.getdoc(model) or ""
        known_above = rows and " (" not in title and len(doc.split()) <= BRIEF  # the key above says as much
        lines = [f"## {title}", "", *([] if known_above else [doc, ""])]
        lines += ["|key|type|default|meaning|example|", "|---|---|---|---|---|", *rows, ""] if rows else []
        again = [f"{', '.join(keys)}: as in [{first}](#{_anchor(first)})." for first, keys in known.items()]
        return "\n".join([*lines, *again, ""] if again else lines)

    def _rows(self, model: type[Model], prefix: str) -> Iterator[tuple[str, ...]]:
        """Yield the row of each key of a model, and of the keys of small models below it."""
        for key, field in model.known().items():
            small = [kind for kind in models_in(field.annotation) if self._small(kind)]
            name = f"**`{prefix}{key}`**" if field.is_required() else f"`{prefix}{key}`"
            yield name, self._type(field), _default(field), model.meaning(key), _example(field)
            for kind in dict.fromkeys(small):
                yield from self._rows(kind, f"{prefix}{key}{step_to(field)}.")

    def _type(self, field: FieldInfo) -> str:
        """Write the type of a field, with links to the sections of the models in it."""
        below = {title_of(kind): kind for kind in (*self.paths, *models_in(field.annotation))}

        def linked(result: re.Match[str]) -> str:
            kind = below[result[1]]
            word = "mapping" if " (" not in self.paths[kind] else _variant(kind)
            return word if self._small(kind) else f"[{word}](#{_anchor(self.paths[kind])})"

        return re.sub(r"\[(\w+)\]\(#\w+\)", linked, type_of(field))


def _trainers() -> Iterator[str]:
    """Write the settings of trainers: a section for each of these, and for each of the classes that several share."""
    kinds = {name: TRAINERS.load(name) for name in TRAINERS}
    titles: dict[type, str] = {}
    for name, kind in kinds.items():
        titles[kind] = f"train.agent.{name}"
        for above in (above for above in kind.__mro__[1:] if any(_settings(above))):
            names = [other for other, of in kinds.items() if issubclass(of, above)]
            titles.setdefault(above, f"train.agent.NAME ({', '.join(names)})")
    for kind, title in titles.items():
        shared = [f"[{titles[above]}](#{_anchor(titles[above])})" for above in kind.__mro__[1:] if above in titles]
        more = ["", f"Further settings: {', '.join(shared)}."] if shared and kind in kinds.values() else []
        rows = [f"|`{name}`|{_setting(hint)}|{default}|" for name, hint, default in _settings(kind)]
        table = ["", "|key|type|default|", "|---|---|---|", *rows] if rows else []
        yield "\n".join([f"## {title}", "", inspect.getdoc(kind) or "", *table, *more, ""])


def _settings(kind: type) -> Iterator[tuple[str, Any, str]]:
    """Yield the settings that a trainer's class itself has, or whose default it changes: name, type, default."""
    own = vars(kind).get("__annotations__", {}) if is_dataclass(kind) else {}
    for each in fields(kind) if own else ():
        if each.name in own:
            default = each.default if each.default_factory is MISSING else each.default_factory()
            written = "" if default is None else f"`{_written(default)}`".replace("'", "")
            yield each.name, get_type_hints(kind, include_extras=True)[each.name], written


def _setting(hint: Any) -> str:
    """Write the type of a setting as those of keys are written."""
    parts = [part for part in get_args(hint) if part is not NoneType]
    if get_origin(hint) is Annotated:
        bounds = [bound for field in parts[1:] for bound in getattr(field, "metadata", ())]
        signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
        limits = [(sign, getattr(bound, name, LARGE)) for bound in bounds for name, sign in signs.items()]
        return " ".join([_setting(parts[0]), *(f"{sign}{limit:g}" for sign, limit in limits if limit < LARGE)])
    if get_origin(hint) is Literal:
        return ", ".join(f"`{word}`" for word in parts)
    if get_origin(hint) is dict:
        return f"{{{': '.join(map(_setting, parts))}}}"
    if get_origin(hint) is tuple:
        return f"list of {_setting(parts[0])}"
    return " or ".join(map(_setting, parts)) if parts else KINDS[hint]


def _variant(model: type[Model]) -> str:
    """Name one of several mappings that a key takes: by the key that only it has, or must have."""
    required = [key for key, field in model.known().items() if field.is_required()]
    return required[0] if required else "your own"


def _anchor(title: str) -> str:
    """Make the anchor of a heading, as the site and GitHub do."""
    return re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-")


def _example(field: FieldInfo) -> str:
    """Write the first example of a field, unless its type says already how it is written: a number, a time, a word."""
    if re.match(r"(integer|number|time|share|power|energy)( [≥>]\d+( \w+)?| or `never`)?$", type_of(field)):
        return ""
    words = "text" in type_of(field).split(",")
    return next(
        (f"`{example}`" for example in field.examples or () if not (words and re.match(r"\w+$", str(example)))), ""
    )


def _default(field: FieldInfo) -> str:
    default = None if field.is_required() else field.get_default(call_default_factory=True, validated_data={})
    if default is None or default in ((), {}, "") or isinstance(default, BaseModel):
        return ""
    return f"`{_written(default)}`"


def _written(default: Any) -> str:
    """Write a default as YAML has it."""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, tuple):
        return f"[{', '.join(map(_written, default))}]"
    return f"{default:g}" if isinstance(default, float) else str(default)


if __name__ == "__main__":
    print(reference(), end="")
