"""`pack`: offline placement, one way beside another."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from binwright.cli import INTERRUPTED
from binwright.commands.console import file_to_draw, many_of, out, seconds
from simcore.errors import UserError, suggest

if TYPE_CHECKING:
    from agents.solver.packing.compare import Row
    from workloads.offline import Machines


def pack(asked: Namespace) -> int:
    """`binwright pack INPUT`."""
    from agents.solver.packing.compare import as_json, check_file, compare, row, write

    given = _given(asked)
    limit = seconds("--time", asked.time)
    file = Path(asked.out) if asked.out else None
    if file:
        check_file(file)
        if file.exists() and Path(asked.input).exists() and file.samefile(asked.input):
            remedy = "Name another file."
            raise UserError("would overwrite the machines themselves", file=file, key="--out", remedy=remedy)
    figure = file_to_draw("--figure", asked.figure) if asked.figure else None
    methods = asked.methods.split(",")
    answers = dict(compare(given.demand, given.capacity, methods, seconds=limit, seeds=asked.seeds))
    rows = [row(method, found) for method, found in answers.items()]
    if asked.json:
        print(as_json(given.name, len(given.demand), rows))
    else:
        _print(given, rows)
    if file:
        write(file, answers, given.names)
        if not asked.json:
            out.print(f"Placements: {file}", markup=False, highlight=False, soft_wrap=True)
    if figure:
        from analysis.figures.course import draw
        from analysis.figures.style import save

        courses = {method: [one.course for one in found] for method, found in answers.items()}
        save(draw(courses, max(one.bound for one in rows), limit, f"{given.name}: servers over time"), figure)
        if not asked.json:
            out.print(f"Figure: {figure}", markup=False, highlight=False, soft_wrap=True)
    return INTERRUPTED if any(found[-1].interrupted for found in answers.values()) else 0


def _given(asked: Namespace) -> Machines:
    """Read what is to be packed: a file, or an input by its name."""
    from workloads.offline import NAMES, machines
    from workloads.offline_files import SUFFIXES, read_instance
    from workloads.offline_table import read_csv

    if asked.input in NAMES:
        for key in ("server", "instance"):
            if value := getattr(asked, key):
                remedy = f"Leave --{key} out: it goes with a file."
                raise UserError(f"{asked.input} has its own servers", key=f"--{key}", value=value, remedy=remedy)
        return machines(asked.input, 1 if asked.seed is None else asked.seed, asked.count)
    suffix = Path(asked.input).suffix.lower()
    if suffix not in (".csv", *SUFFIXES):
        remedy = suggest(asked.input, NAMES) if "." not in asked.input else "Give a .csv, .txt, .bpp or .vbp file."
        raise UserError("unknown offline input", key="INPUT", value=asked.input, remedy=remedy)
    for key in ("seed", "count"):
        if (value := getattr(asked, key)) is not None:
            remedy = f"Leave --{key} out: it goes with generated inputs."
            raise UserError("the machines are in a file", file=asked.input, key=f"--{key}", value=value, remedy=remedy)
    if suffix in SUFFIXES:
        if asked.server:
            remedy = "Leave --server out: it goes with a CSV file."
            raise UserError("the file says what a server has", key="--server", value=asked.server, remedy=remedy)
        return read_instance(Path(asked.input), asked.instance)
    if asked.instance:
        remedy = "Leave it out: it goes with files of the literature."
        raise UserError("a CSV file has one instance", key="--instance", value=asked.instance, remedy=remedy)
    if not asked.server:
        remedy = "Say what one server has of each column: --server cpu=8,mem=16."
        raise UserError("the servers are not known", file=asked.input, key="--server", remedy=remedy)
    return read_csv(Path(asked.input), asked.server)


def _print(given: Machines, rows: list[Row]) -> None:
    bound = max(one.bound for one in rows)
    many = (many_of(len(given.demand), "machine"), many_of(len(given.resources), "resource"))
    out.print(f"{given.name}: {', '.join(many)}, at least {many_of(bound, 'server')}", markup=False, highlight=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("with", "servers", "gap", "seconds", "checked", "optimal"):
        table.add_column(name, justify="left" if name == "with" else "right")
    for one in rows:
        best = "none" if one.bins is None else str(one.bins)
        servers = best if one.bins == one.worst else f"{best} to {one.worst or 'none'}"
        optimal = f"{one.optimal} of {one.seeds}" if one.seeds > 1 else "yes" if one.optimal else ""
        checked = f"{one.checked:,}" if one.checked else ""
        table.add_row(
            one.method, servers, "" if one.gap is None else str(one.gap), f"{one.seconds:.3f}", checked, optimal
        )
    out.print(table)
