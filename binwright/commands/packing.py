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


WITH = "ffd-prod,bfd-sum,dot-product,norm-greedy,published,solver"
WITH_KINDS = "ffd-prod,bfd-sum,solver"
"""The ways to pack if nothing is said, into equal servers and into several kinds."""


def pack(asked: Namespace) -> int:
    """`binwright pack INPUT`."""
    from binwright.agents.solver.packing.compare import as_json, check_file, compare, fleet, prices, rows_of, write

    given = _given(asked)
    limit = seconds("--time", asked.time)
    file = Path(asked.out) if asked.out else None
    if file:
        check_file(file)
        for name, what in ((asked.input, "machines"), (asked.servers, "servers")):
            if name and file.exists() and Path(name).exists() and file.samefile(name):
                remedy = "Name another file."
                raise UserError(f"would overwrite the {what} themselves", file=file, key="--out", remedy=remedy)
    figure = file_to_draw("--figure", asked.figure) if asked.figure else None
    methods = (asked.methods or (WITH if given.servers is None else WITH_KINDS)).split(",")
    answers = dict(compare(given.demand, fleet(given), methods, seconds=limit, seeds=asked.seeds))
    rows = rows_of(answers)
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

        unit, what = prices(given), "servers" if prices(given) == 1 else "price"
        courses = {
            method: [[(at, cost / unit if unit > 1 else cost) for at, cost in one.course] for one in found]
            for method, found in answers.items()
        }
        bound = rows[0].bound
        title = f"{given.name}: {what} over time"
        save(draw(courses, bound / unit if unit > 1 else bound, limit, title, what), figure)
        if not asked.json:
            where(f"Figure: {figure}")
    return INTERRUPTED if any(found[-1].interrupted for found in answers.values()) else 0


def _given(asked: Namespace) -> Machines:
    """Read what is to be packed: a file, or an input by its name."""
    from binwright.workloads.offline import NAMES, machines
    from binwright.workloads.offline_files import SUFFIXES, read_instance
    from binwright.workloads.offline_table import read_csv, read_kinds

    if asked.input in NAMES:
        for key in ("server", "servers", "instance"):
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
        for key in ("server", "servers"):
            if value := getattr(asked, key):
                remedy = f"Leave --{key} out: it goes with a CSV file."
                raise UserError("the file says what a server has", key=f"--{key}", value=value, remedy=remedy)
        return read_instance(Path(asked.input), asked.instance)
    if asked.instance:
        remedy = "Leave it out: it goes with files of the literature."
        raise UserError("a CSV file has one instance", key="--instance", value=asked.instance, remedy=remedy)
    if asked.servers:
        if asked.server:
            remedy = "Leave one of them out: --server is one kind, of which there are any number."
            raise UserError("does not go with --server", key="--servers", value=asked.servers, remedy=remedy)
        return read_kinds(Path(asked.input), Path(asked.servers))
    if not asked.server:
        remedy = (
            "Say what one server has of each column, --server cpu=8,mem=16, or give a file of them, --servers FILE."
        )
        raise UserError("the servers are not known", file=asked.input, key="--server", remedy=remedy)
    return read_csv(Path(asked.input), asked.server)


def _print(given: Machines, rows: list[Row]) -> None:
    from binwright.agents.solver.packing.compare import kinds, prices

    unit = prices(given)
    bound = rows[0].bound
    many = (many_of(len(given.demand), "machine"), many_of(len(given.resources), "resource"))
    least = many_of(bound, "server") if unit == 1 else f"a price of {_said(bound, unit)}"
    show(f"{given.name}: {', '.join(many)}, at least {least}")
    price = [">price"] if unit > 1 else []
    table = new_table("with", ">servers", *price, ">gap", ">seconds", ">checked", ">optimal")
    for one in rows:
        cost = "none" if one.cost is None else _said(one.cost, unit)
        if one.cost != one.worst:
            cost += f" to {'none' if one.worst is None else _said(one.worst, unit)}"
        costs = [cost] if unit == 1 else ["none" if one.bins is None else str(one.bins), cost]
        optimal = f"{one.optimal} of {one.seeds}" if one.seeds > 1 else "yes" if one.optimal else ""
        checked = f"{one.checked:,}" if one.checked else ""
        gap = "" if one.gap is None else _said(one.gap, unit)
        table.add_row(one.method, *costs, gap, f"{one.seconds:.3f}", checked, optimal)
    out.print(table)
    for one in rows:
        if bought := kinds(given, one):
            said = ", ".join(f"{many} x {name}" if many > 1 else name for name, many in bought.items())
            show(f"{one.method}: {said}")


def _said(cost: int, unit: int) -> str:
    """Write a cost as people do: a number of servers, or a price with the decimals that it has."""
    return str(cost) if unit == 1 else f"{cost / unit:,.6f}".rstrip("0").rstrip(".")
