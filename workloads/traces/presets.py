"""Formats of traces: a file of `presets/` describes each.

A file has what `Trace` has of a format (`summary`, `reference`, `source`, `licence`, `files`, `units`, `servers`,
`parquet`), and what `Table` needs to read it: `columns`, `factors`, `labels`, `empty`. Further keys:

- `forms`: a list of such mappings where files of the format differ in their columns; what they share stands above.
- `needs`: the columns (of a database: tables) that a file must have, by which it is recognised; by default those of
  `columns` and `labels`.
- `header`: the names of the columns of a file that has none.
- `begins`: a regular expression for how such a file, or one that is no table, begins.
- `rows`: a function of `binwright.workloads.traces.rows` that makes the rows of the table from those of the file.
- `module`: of a file that is no table, the module beside this one where the function `rows` is. It reads the file, and
  gives requests in the common columns; `columns` says what the file calls them.

A known file of another format names that as its `format`; it is not recognised by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import yaml

from binwright.simcore.extras import pl
from binwright.workloads import PRESETS, TRACES
from binwright.workloads.traces.base import ServerFile, Trace
from binwright.workloads.traces.check import check
from binwright.workloads.traces.table import Table, read_file


@dataclass(frozen=True)
class Preset(Trace):
    """A format that a file of `presets/` describes.

    `forms` has for each of `headers` what makes the rows, if anything does, and the table that these are. Of what is no
    table, there is one form, with the names of its columns.
    """

    header: ClassVar[tuple[str, ...]] = ()
    forms: ClassVar[tuple[tuple[Callable[..., pl.DataFrame] | None, Table | Mapping[str, str]], ...]] = ()

    def read(self, path: Path) -> pl.DataFrame:
        rows, table = self.forms[0]
        if rows and not isinstance(table, Table):
            return check(rows(path), path, table)
        frame = read_file(path, *self.headers, columns=self.header)
        forms = zip(self.headers, self.forms, strict=True)
        rows, table = next(form for needs, form in forms if needs <= {*frame.columns})
        assert isinstance(table, Table)
        return table.requests(rows(frame, path) if rows else frame, path, own=False)


def __getattr__(name: str) -> type[Trace]:
    """Make the format that the file of this name describes, once."""
    if name not in TRACES:
        raise AttributeError(name)
    result = globals()[name] = _format(name)
    return result


def _format(name: str) -> type[Trace]:
    """Make the class of a format from its file."""
    data = yaml.safe_load((PRESETS / f"{name}.yaml").read_text(encoding="utf-8"))
    about: dict[str, Any] = {key: tuple(data.pop(key)) for key in ("files", "header") if key in data}
    about |= {key: data.pop(key) for key in Trace.__annotations__ if key in data}
    about["__doc__"] = about["summary"]
    if "servers" in about:
        about["servers"] = ServerFile(**about["servers"])
    if "format" in data:
        return type(name, (TRACES.load(data["format"]),), about | {"begins": "", "headers": ()})
    code = import_module(f"{__package__}.{data.get('module', 'rows')}")
    headers, forms = [], []
    for form in (data | each for each in data.pop("forms", [{}])):
        rows = getattr(code, form.pop("rows", ""), None)
        needs = form.pop("needs", ()) or about.get("header")
        if form.pop("module", ""):
            headers += [frozenset(needs)] if needs else []
            forms.append((rows, form.get("columns", {})))
        else:
            headers.append(frozenset(needs or [*form["columns"].values(), *form.get("labels", {}).values()]))
            forms.append((rows, Table(**form)))
    about |= {"headers": tuple(headers), "forms": tuple(forms)}
    return type(name, (Preset,), about)
