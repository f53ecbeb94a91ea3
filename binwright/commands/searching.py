"""`search`: finds a rule of placement, and says what it is worth."""

from __future__ import annotations

from argparse import Namespace
from inspect import signature
from typing import TYPE_CHECKING

from binwright.commands.console import new_table, out, print_line, print_location
from binwright.commands.progress import StatusLine, duration

if TYPE_CHECKING:
    from binwright.scenarios.search.search import State


def search(args: Namespace) -> int:
    """Answer `binwright search FILE`."""
    from binwright.scenarios.schema.load import load_scenario
    from binwright.scenarios.search.search import search as find

    scenario = load_scenario(args.file, args.sets)
    how = {name: value for name, value in vars(args).items() if name in signature(find).parameters}
    with StatusLine("search", args.evaluations, "running first-fit first") as line:

        def on_progress(state: State) -> None:
            line.heard()
            line.done = state.evaluations
            far = f"{state.evaluations:,} evaluations, {duration(state.seconds)}"
            line.said = f"{far}, best {state.mean:.5g}: {state.best}"
            line.now_and_then("search: ")

        found = find(scenario, on_progress=on_progress, **how)
    table = new_table("", ">search", ">validation", "rule")
    for row in found.finalists.iter_rows(named=True):
        table.add_row("*" if row["chosen"] else "", f"{row['search']:.5g}", f"{row['validation']:.5g}", row["rule"])
    out.print(table)
    print_line("* chosen: the best on the seeds of validation.\n")
    out.print(found.comparison.rich(out.width))
    folder = found.results.folder.parent
    print_line((folder / "found.yaml").read_text("utf-8").rstrip("\n"))
    print_location(f"Rule: {folder}/found.yaml. Runs: {folder}/test")
    return 0
