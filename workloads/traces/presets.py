"""Formats of traces: a file of `presets/` describes each.

A file has what `Trace` has of a format (`summary`, `reference`, `source`, `licence`, `files`, `units`, `servers`,
`parquet`). What is no table of known columns names its `reader`: a class of a module beside this one. What is one has
what `Table` needs to read it: `columns`, `factors`, `labels`, `empty`. Further keys:

- `forms`: a list of such mappings where files of the format differ in their columns; what they share stands above.
- `needs`: the columns that a file must have, by which it is recognised; by default those of `columns` and `labels`.
- `header`: the names of the columns of a file that has none, and `first_line`, by which it is recognised.
- `rows`: a function of `binwright.workloads.traces.rows` that makes the rows of the table from those of the file; its
  further parameters are options of the trace.

A known file of another format names that as its `format`; it is not recognised by itself.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import field, fields, make_dataclass
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar, get_type_hints

import yaml

from binwright.simcore.extras import pl
from binwright.workloads import PRESETS, TRACES
from binwright.workloads.traces import rows
from binwright.workloads.traces.base import ServerFile, Trace
from binwright.workloads.traces.check import require
from binwright.workloads.traces.table import Table, is_parquet, read_parquet
from binwright.workloads.traces.text import read_text


class Preset(Trace):
    """A format that a file of `presets/` describes; the fields of its subclasses are the options of `rows`.

    `forms` has for each of `headers` the name of what makes the rows, if anything does, and the table that these are.
    """

    header: ClassVar[tuple[str, ...]] = ()
    first_line: ClassVar[str] = ""
    forms: ClassVar[tuple[tuple[str, Table], ...]] = ()

    @classmethod
    def recognises(cls, start: bytes) -> bool:
        line = start.partition(b"\n")[0].decode(errors="replace").rstrip("\r")
        return bool(cls.first_line and re.match(cls.first_line, line))

    def read(self, path: Path) -> pl.DataFrame:
        if is_parquet(path):
            frame = read_parquet(path)
            if not any(needs <= {*frame.columns} for needs in self.headers):
                require(frame.columns, self.headers[0], path)
        else:
            frame = read_text(path, *self.headers, columns=self.header)
        forms = zip(self.headers, self.forms, strict=True)
        make_rows, table = next(form for needs, form in forms if needs <= {*frame.columns})
        if make_rows:
            options = {option.name: getattr(self, option.name) for option in fields(self)}  # type: ignore[arg-type]
            frame = getattr(rows, make_rows)(frame, path, **options)
        return table.requests(frame, path, own=False)


def __getattr__(name: str) -> type[Trace]:
    """Make the format that the file of this name describes, once."""
    if name not in TRACES:
        raise AttributeError(name)
    found = globals()[name] = _format(name)
    return found


def _format(name: str) -> type[Trace]:
    """Make the class of a format from its file."""
    text = (PRESETS / f"{name}.yaml").read_text(encoding="utf-8")
    data = yaml.safe_load(text)
    about: dict[str, Any] = {key: tuple(data.pop(key)) for key in ("files", "header") if key in data}
    about |= {key: data.pop(key) for key in (*Trace.__annotations__, "first_line") if key in data}
    about["__doc__"] = about["summary"]
    if "servers" in about:
        about["servers"] = ServerFile(**about["servers"])
    if "format" in data:
        return type(name, (TRACES.load(data["format"]),), about | {"recognises": vars(Trace)["recognises"]})
    if "reader" in data:
        module, _, attribute = data["reader"].partition(":")
        return type(name, (getattr(import_module(f"{__package__}.{module}"), attribute),), about)
    about["version"] = zlib.crc32(text.encode() + Path(rows.__file__).read_bytes())
    headers, forms, options = [], [], dict[str, Any]()
    for form in (data | each for each in data.pop("forms", [{}])):
        needs, make_rows = form.pop("needs", ()) or about.get("header"), form.pop("rows", "")
        headers.append(frozenset(needs or [*form["columns"].values(), *form.get("labels", {}).values()]))
        forms.append((make_rows, Table(**form)))
        if make_rows:
            function = getattr(rows, make_rows)
            for option in list(signature(function).parameters.values())[2:]:
                options[option.name] = get_type_hints(function)[option.name], field(default=option.default)
    about |= {"headers": tuple(headers), "forms": tuple(forms)}
    given = [(option, *kind) for option, kind in options.items()]
    return make_dataclass(name, given, bases=(Preset,), frozen=True, namespace=about)
