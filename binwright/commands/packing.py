"""`pack`: offline placement, one way beside another."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from binwright.cli import INTERRUPTED
from binwright.commands.console import file_to_draw, many_of, new_table, out, seconds, show, where
from binwright.simcore.errors import UserError, meant, suggest

if TYPE_CHECKING:
    from binwright.agents.solver.packing.compare import Row
    from binwright.workloads.offline import Machines


def pack(asked: Namespace) -> int:
    """`binwright pack INPUT`."""
    from binwright.agents.solver.packing.compare import as_json, check_file, compare, row_of, write
    from binwright.agents.solver.packing.pack import METHODS

    given = _given(asked)
    limit = seconds("--time", asked.time)
    file = Path(asked.out) if asked.out else None
    if file:
        check_file(file)
        if file.exists() and Path(asked.input).exists() and file.samefile(asked.input):
            remedy = "Name another file."
            raise UserError("would overwrite the machines themselves", file=file, key="--out", remedy=remedy)
    figure = file_to_draw("--figure", asked.figure) if asked.figure else None
    methods = asked.methods.split(",") if asked.methods else METHODS
    answers = dict(compare(given.demand, given.capacity, methods, seconds=limit, seeds=asked.seeds))
    rows = [row_of(method, found) for method, found in answers.items()]
    if asked.json:
        print(as_json(given, rows))
    else:
        _print(given, rows)
    if file:
        write(file, answers, given)
        if not asked.json:
            where(f"Placements: {file}")
    if figure:
        from binwright.analysis.figures.search_progress import draw
        from binwright.analysis.figures.style import save

        courses = {method: [one.course for one in found] for method, found in answers.items()}
        save(draw(courses, rows[0].bound, limit, f"{given.name}: servers over time"), figure)
        if not asked.json:
            where(f"Figure: {figure}")
    return INTERRUPTED if any(found[-1].interrupted for found in answers.values()) else 0


def _given(asked: Namespace) -> Machines:
    """Read what is to be packed: a file, or an input by its name."""
    from binwright.workloads.offline import NAMES, machines
    from binwright.workloads.offline_files import SUFFIXES, read_instance
    from binwright.workloads.offline_table import read_csv

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
    if not Path(asked.input).exists():
        raise UserError("there is no such file", file=asked.input, remedy=meant(asked.input) or "Check the path.")
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
    many = (many_of(len(given.demand), "machine"), many_of(len(given.resources), "resource"))
    show(f"{given.name}: {', '.join(many)}, at least {many_of(rows[0].bound, 'server')}")
    table = new_table("with", ">servers", ">gap", ">seconds", ">checked", ">optimal")
    for row in rows:
        bins = "none" if row.bins is None else str(row.bins)
        if row.bins != row.worst:
            bins += f" to {'none' if row.worst is None else row.worst}"
        gap = "" if row.gap is None else str(row.gap)
        optimal = f"{row.optimal} of {row.seeds}" if row.seeds > 1 else "yes" if row.optimal else ""
        checked = f"{row.checked:,}" if row.checked else ""
        table.add_row(row.method, bins, gap, f"{row.seconds:.3f}", checked, optimal)
    out.print(table)
