"""Formats of traces: a file of `presets/` describes each.

A file has the fields of `Format` (`summary`, `reference`, `source`, `licence`, `files`, `units`, `servers`, `parquet`),
and what `Table` needs to read it: `columns`, `factors`, `labels`, `empty`. Further keys:

- `forms`: a list of such mappings where files of the format differ in their columns; what they share stands above.
- `needs`: the columns (of a database: tables) that a file must have, by which it is recognised; by default those of
  `columns` and `labels`.
- `header`: the names of the columns of a file that has none.
- `begins`: a regular expression for how such a file, or one that is no table, begins.
- `rows`: a function of `binwright.workloads.traces.rows` that makes the rows of the table from those of the file.
- `module`: of a file that is no table, the module beside this one where the function `rows` is. It reads the file, and
  gives requests in the common columns; `columns` says what the file calls them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from binwright.simcore.extras import pl
from binwright.workloads import PRESETS, TRACES
from binwright.workloads.traces.check import check
from binwright.workloads.traces.table import Table, read_file


class ServerFile(NamedTuple):
    """Describes the file of servers that a trace comes with: its names, where it is had, and its columns.

    `columns` are those of each resource, and how many units a 1 there is; `devices` is the one that says how many
    devices there are, and `model` what they are.
    """

    files: tuple[str, ...]
    source: str
    columns: Mapping[str, tuple[str, float]]
    devices: str
    model: str


@dataclass(frozen=True)
class Format:
    """A format of traces: what a file of `presets/` says of it.

    `files` are the names under which it is looked up when no path is given. `units` has the unit of each resource, as a
    scenario would write it; others, such as machines, a scenario must explain. A file is recognised by one of the
    `headers`, or by how it `begins`. `parquet` says whether the format is Parquet; of others, a Parquet file has the
    common columns. `forms` has for each of `headers` what makes the rows, if anything does, and the table that these
    are. Of what is no table, there is one form, with the names of its columns.
    """

    summary: str
    reference: str
    source: str
    licence: str
    files: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    header: tuple[str, ...] = ()
    headers: tuple[frozenset[str], ...] = ()
    begins: str = ""
    parquet: bool = False
    servers: ServerFile | None = None
    forms: tuple[tuple[Callable[..., pl.DataFrame] | None, Table | Mapping[str, str]], ...] = ()

    def read(self, path: Path) -> pl.DataFrame:
        """Read the checked requests of a file, in order of arrival.

        Columns: `id` Int64 or String, `arrival` and `lifetime` Float64 in seconds (a lifetime of inf keeps
        running), then one Float64 column per resource, in its unit. Where requests name models of devices, there is a
        column `models`, String, as in `A100|V100`, empty for any; where they say something to rules of placement, those
        of `PLACED` in `binwright.workloads.traces.check`.
        """
        rows, table = self.forms[0]
        if rows and not isinstance(table, Table):
            return check(rows(path), path, table)
        frame = read_file(path, *self.headers, columns=self.header)
        forms = zip(self.headers, self.forms, strict=True)
        rows, table = next(form for needs, form in forms if needs <= {*frame.columns})
        assert isinstance(table, Table)
        return table.requests(rows(frame, path) if rows else frame, path, own=False)


def __getattr__(name: str) -> Format:
    """Make the format that the file of this name describes, once."""
    if name not in TRACES:
        raise AttributeError(name)
    result = globals()[name] = _format(name)
    return result


def _format(name: str) -> Format:
    """Make a format from its file."""
    data = yaml.safe_load((PRESETS / f"{name}.yaml").read_text(encoding="utf-8"))
    about: dict[str, Any] = {key: tuple(data.pop(key)) for key in ("files", "header") if key in data}
    about |= {key: data.pop(key) for key in Format.__annotations__ if key in data and key != "forms"}
    if "servers" in about:
        about["servers"] = ServerFile(**about["servers"])
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
    return Format(**about, headers=tuple(headers), forms=tuple(forms))
