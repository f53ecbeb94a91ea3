"""`solve`: specifications of allocation problems and their answers."""

from __future__ import annotations

import csv
import json
import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from binwright.commands.console import many_of, new_table, note, out, print_line, seconds
from binwright.commands.progress import StatusLine
from binwright.commands.solver_inputs import names_in, problem_of
from binwright.commands.solver_output import print_answer
from binwright.simcore.errors import UserError
from binwright.solver_json import as_json, properties

if TYPE_CHECKING:
    from binwright.agents.solver.model.problem import Problem
    from binwright.agents.solver.solving.answer import Progress

UNSOLVED = 1
"""Exit code: no allocation of all balls was found."""


def solve(args: Namespace) -> int:
    """Answer `binwright solve FILE`."""
    if args.explain is not None:
        from binwright.commands.explaining import explain

        return explain(args)
    if args.balls:
        raise UserError("which answer?", key="--ball", remedy="Name what solve --json printed: --explain ANSWER.")
    if args.json and args.csv:
        raise UserError("does not go with --csv", key="--json", remedy="Leave one of them out.")
    limit = seconds("--time", args.time)
    import binwright.agents.solver.solving.solve  # the clock runs once all is imported

    with suppress(ModuleNotFoundError):  # which is said when it is needed
        import binwright.agents.solver.specification.spec

    began = monotonic()
    problem = problem_of(args)
    if args.check:
        known = properties(problem)
        if args.json:
            print(json.dumps(known))
        else:
            _print_properties(known)
        return 0
    more = max(min(0.001, limit), limit - (monotonic() - began))  # reading may have taken it all
    how = {"device": args.device, "search": args.search, "seed": args.seed, "time": more}
    with StatusLine("solve") as line:
        tell = _shower(line, problem) if line.alive else None
        found = as_json(binwright.agents.solver.solving.solve.solve(problem, progress=tell, **how))
    if args.json:
        print(json.dumps(found))
    elif args.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(("ball", "bin"))
        name_of = [names_in(found, kind) for kind in ("ball", "bin")]
        rows = enumerate(found["alloc"])
        writer.writerows((name_of[0](ball), None if place is None else name_of[1](place)) for ball, place in rows)
        if found["placed"] < found["balls"]:
            left = many_of(found["balls"] - found["placed"], "ball")
            note(f"{left} of {found['balls']:,} not placed; without --csv you see why.")
    else:
        print_answer(found)
    sys.stdout.flush()  # a thread may go on with compiling
    return 0 if found["status"] in ("optimal", "solved") else UNSOLVED


_MEANING = {
    "alloc_free": "what a ball uses does not depend on the others",
    "non_negative": "no ball frees what others use",
    "bin_local": "a ball touches dimensions of its own bin only",
    "bin_blind": "what a ball uses does not depend on which bin it is in",
    "vector": "has a dense form, for the fast searches",
}


def _print_properties(known: dict[str, Any]) -> None:
    size = f"{known['balls']} balls, {known['bins']} bins, {known['dims']} dimensions"
    more = " with as few bins as may be tried" if known["bins"] == "?" else ""
    print_line(f"{size}{more}")
    table = new_table(show_header=False)
    for name, meaning in _MEANING.items():
        table.add_row(name.replace("_", "-"), "yes" if known[name] else "no", meaning)
    table.add_row("steps", f"{known['steps']:,}", "at most, per call of UTILFN")
    table.add_row("additions", f"{known['adds']:,}", "at most, per call of UTILFN")
    out.print(table)
    for text in known["notes"]:
        print_line(text)
    for guard in known["guards"]:
        print_line(f"line {guard['line']}: {guard['what']} is tested at run time, and rejects")


def _shower(line: StatusLine, problem: Problem) -> Callable[[Progress], None]:
    """Say the best so far in the line."""

    def update(now: Progress) -> None:
        found = f"{now.placed:,} of {many_of(problem.balls, 'ball')}"
        if problem.searched:
            found += f" in {many_of(now.bins, 'bin')} (bound {now.bound})"
        goals = ", ".join(f"{value:,.6g}" for value in now.goals)
        parts = found, goals and f"goals {goals}", f"{now.checked / max(now.seconds, 1e-9):,.0f} checked/s"
        line.said = ", ".join(filter(None, parts))

    return update
