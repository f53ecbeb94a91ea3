"""`pack`: offline placement, one way beside another."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binwright.cli import INTERRUPTED
from binwright.commands.console import new_table, out, print_line, print_location, seconds
from binwright.simcore.errors import ResultsError, UserError, meant, suggest
from binwright.simcore.extras import pl
from binwright.simcore.files import replacing
from binwright.simcore.units import many_of

if TYPE_CHECKING:
    from binwright.agents.solver.solving.answer import Answer
    from binwright.workloads.offline import Machines


def pack(args: Namespace) -> int:
    """`binwright pack INPUT`."""
    from binwright.agents.solver.packing import METHODS, check
    from binwright.agents.solver.packing import pack as packed_by

    machines = _machines(args)
    limit = seconds("--time", args.time)
    file = Path(args.out) if args.out else None
    if file:
        if file.suffix.lower() != ".csv":
            raise ResultsError("is no CSV file", file=file, remedy="Name a file that ends in .csv.")
        if file.exists() and Path(args.input).exists() and file.samefile(args.input):
            remedy = "Name another file."
            raise UserError("would overwrite the machines themselves", file=file, key="--out", remedy=remedy)
    methods = args.methods.split(",") if args.methods else METHODS
    check(machines.demand, machines.capacity, methods)
    answers: dict[str, Answer] = {}
    for method in methods:
        answers[method] = packed_by(machines.demand, machines.capacity, method, seconds=limit)
        if answers[method].interrupted:
            break
    whole = [method for method, packed in answers.items() if packed.placed == len(machines.demand)]
    rows = [
        {"method": method, "bound": packed.bound, "bins": packed.bins, "gap": packed.gap}
        | ({} if method in whole else {"bins": None, "gap": None})
        | {"seconds": round(packed.seconds, 4), "checked": packed.checked}
        for method, packed in answers.items()
    ]
    if args.json:
        print(json.dumps({"input": machines.name, "machines": len(machines.demand), "rows": rows}))
    else:
        _print(machines, rows)
    if file:
        columns: dict[str, Any] = {} if machines.names is None else {"name": machines.names}
        columns |= {method: answers[method].alloc for method in whole}
        with replacing(file) as unfinished:
            pl.DataFrame(columns).with_row_index("machine").write_csv(unfinished)
        if not args.json:
            print_location(f"Placements: {file}")
    return INTERRUPTED if any(packed.interrupted for packed in answers.values()) else 0


def _machines(args: Namespace) -> Machines:
    """Read what is to be packed: a file, or an input by its name."""
    from binwright.workloads.offline import NAMES, SUFFIXES, machines, read_csv, read_instance

    file = Path(args.input)
    suffix = file.suffix.lower()
    if args.server and suffix != ".csv":
        problem = "goes with a CSV file"
        raise UserError(problem, file=args.input, key="--server", value=args.server, remedy="Leave it out.")
    if args.input in NAMES:
        return machines(args.input, args.seed)
    if suffix not in (".csv", *SUFFIXES):
        remedy = suggest(args.input, NAMES) if "." not in args.input else "Give a .csv, .txt or .bpp file."
        raise UserError("unknown offline input", key="INPUT", value=args.input, remedy=remedy)
    if not file.exists():
        raise UserError("there is no such file", file=file, remedy=meant(file) or "Check the path.")
    if suffix in SUFFIXES:
        return read_instance(file)
    if not args.server:
        remedy = "Say what one server has of each column: --server cpu=8,mem=16."
        raise UserError("the servers are not known", file=file, key="--server", remedy=remedy)
    return read_csv(file, args.server)


def _print(machines: Machines, rows: list[dict[str, Any]]) -> None:
    many = (many_of(len(machines.demand), "machine"), many_of(len(machines.resources), "resource"))
    print_line(f"{machines.name}: {', '.join(many)}, at least {many_of(rows[0]['bound'], 'server')}")
    table = new_table("with", ">servers", ">gap", ">seconds", ">checked")
    for row in rows:
        bins, gap = ("none", "") if row["bins"] is None else (str(row["bins"]), str(row["gap"]))
        checked = f"{row['checked']:,}" if row["checked"] else ""
        table.add_row(row["method"], bins, gap, f"{row['seconds']:.3f}", checked)
    out.print(table)
