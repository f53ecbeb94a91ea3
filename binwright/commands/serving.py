"""`serve`, the solver as a web service; and `solve --server`, which asks one."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from binwright.agents.solver.language.errors import At, SpecError
from binwright.agents.solver.specification.load import examples
from binwright.client import Client, SpecificationError
from binwright.commands.console import print_line
from binwright.commands.solver_inputs import drain, places_of
from binwright.simcore.errors import UserError, suggest


def serve(args: Namespace) -> int:
    """`binwright serve`."""
    from binwright.service.server import serve

    def ready(url: str) -> None:
        print_line(f"Binwright serves {url} (jobs in {args.data}); Ctrl-C ends it.")

    with suppress(KeyboardInterrupt):  # so, or by SIGTERM, a service ends as it should
        where = args.host, args.port, args.data
        serve(*where, args.workers, args.token_file, args.limits, args.device, ready)
    return 0


class RemoteSolver:
    """Solves by a service; files that the specification names are read here."""

    def __init__(self, args: Namespace, params: dict[str, str]) -> None:
        self._args = args
        self._text = _text(args.file)
        tables = _tables(args.file, self._text)
        self._how: dict[str, Any] = {"tables": tables, "params": {k: _number(k, v) for k, v in params.items()}}
        self._how |= {} if args.now is None else {"now": places_of(Path(args.now))}
        self._how |= {} if args.moves is None else {"moves": args.moves}
        self._how |= {} if args.drain is None else {"drain": drain(args)}
        token = None if args.token_file is None else token_in(Path(args.token_file))
        self._client = Client(args.server, token)

    def answer(self, seconds: float, tell: Callable[[dict[str, Any]], None] | None) -> dict[str, Any]:
        """Return the answer, with what it uses of every resource."""
        how = {"search": self._args.search, "device": self._args.device, "seed": self._args.seed, "time": seconds}
        try:
            return self._client.solve(self._text, progress=tell, **self._how, **how)
        except SpecificationError as error:
            at = None if error.line is None or error.column is None else At(error.line, error.column)
            raise SpecError(error.problem, error.remedy, at, self._text, self._args.file) from None


def _text(source: str) -> str:
    """Of a file, or of a shipped example."""
    if Path(source).is_file():
        return _read(Path(source))
    known = examples()
    if source not in known:
        raise UserError("no such file or example", file=source, remedy=suggest(source, known))
    return known[source]


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot be read: {error}", file=file, remedy="Give a text file in UTF-8.") from None


def token_in(file: Path) -> str:
    """Read a token: the first word of a file."""
    tokens = _read(file).split()
    if not tokens:
        raise UserError("has no token", file=file, remedy="Write the service's token into it.")
    return tokens[0]


def _tables(source: str, text: str) -> dict[str, Any]:
    """Read the tables that come from files."""
    if not re.search(r'\bFROM\s*"', text):
        return {}
    from binwright.agents.solver.language.syntax import TableFrom
    from binwright.agents.solver.model.program import MICRO
    from binwright.agents.solver.specification.spec import Spec

    spec = Spec(text, file=Path(source))
    found: dict[str, Any] = {}
    for node in spec.tree.declarations:
        if isinstance(node, TableFrom):
            table = spec.given.table_from(node)
            if node.names is not None:
                names = [*spec.given.names[node.names], None]  # -1 is an empty cell
                found[node.name] = [names[number] for number in table.values.tolist()]
                continue
            values = table.values if table.whole else table.values / MICRO
            rows = range(table.sizes[0])
            ragged = table.starts is not None
            found[node.name] = [values[table.row(i)] for i in rows] if ragged else values.reshape(table.sizes)
    return found


def _number(name: str, text: str) -> int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise UserError(f"parameter {name} is not a number", value=text, remedy="Give a number, like 4 or 0.5.")
