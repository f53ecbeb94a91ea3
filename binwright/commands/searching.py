"""`search`: finds a rule of placement, and says what it is worth."""

from __future__ import annotations

from argparse import Namespace
from inspect import signature
from math import inf
from typing import TYPE_CHECKING

from binwright.commands.console import new_table, note, out, print_line, print_location
from binwright.commands.progress import EVERY, StatusLine, duration

if TYPE_CHECKING:
    from binwright.scenarios.batch.journal import Row
    from binwright.scenarios.search.search import State


class Searching(StatusLine):
    """The line of a search: how far it is, and the best rule so far."""

    def __init__(self, evaluations: int | None, minutes: float | None) -> None:
        super().__init__("search", 1.0, "running first-fit first")
        self._evaluations, self._minutes, self._said = evaluations, minutes, 0.0

    def __call__(self, state: State) -> None:
        """Note how far the search is."""
        self.heard()
        shares = state.evaluations / (self._evaluations or inf), state.seconds / 60 / (self._minutes or inf)
        self.done = min(1.0, max(shares))
        far = f"{state.evaluations:,} evaluations, {duration(state.seconds)}"
        self.said = f"{far}, best {state.mean:.5g}: {state.best}"
        if not self.alive and state.seconds - self._said >= EVERY:
            self._said = state.seconds
            note(f"{self.what}: {self.said}")

    def run(self, row: Row) -> None:
        """Note a run on the test seeds."""
        self.said = f"test seeds, {row['agent']}"


def search(args: Namespace) -> int:
    """`binwright search FILE`."""
    from binwright.scenarios.schema.load import load_scenario
    from binwright.scenarios.search.search import EVALUATIONS
    from binwright.scenarios.search.search import search as find

    limit = EVALUATIONS if args.evaluations is None and args.minutes is None else args.evaluations
    scenario = load_scenario(args.file, args.sets)
    how = {name: value for name, value in vars(args).items() if name in signature(find).parameters}
    with Searching(limit, args.minutes) as line:
        found = find(scenario, on_progress=line, finished=line.run, **how)
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
