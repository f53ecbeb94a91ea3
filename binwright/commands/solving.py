"""`solve`: specifications of allocation problems and their answers."""

from __future__ import annotations

import csv
import json
import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from time import monotonic
from typing import TYPE_CHECKING, Any

from binwright.commands.console import many_of, new_table, note, out, print_line, seconds
from binwright.commands.progress import StatusLine
from binwright.commands.solver_inputs import names_in, parameters, problem_of
from binwright.commands.solver_output import print_answer
from binwright.simcore.errors import UserError
from binwright.solver_json import as_json, properties

if TYPE_CHECKING:
    from binwright.commands.serving import RemoteSolver

UNSOLVED = 1
"""Exit code: no allocation of all balls was found."""


Told = Callable[[dict[str, Any]], None]
"""Is told the best so far: a `Progress` as a dictionary, of how many balls, and whether the bins are searched for."""


def solve(args: Namespace) -> int:
    """Answer `binwright solve FILE`."""
    if args.explain is not None:
        if args.server is not None:
            raise UserError("answers are explained here", key="--server", remedy="Leave it out with --explain.")
        from binwright.commands.explaining import explain

        return explain(args)
    if args.balls:
        raise UserError("which answer?", key="--ball", remedy="Name what solve --json printed: --explain ANSWER.")
    if args.json and args.csv:
        raise UserError("does not go with --csv", key="--json", remedy="Leave one of them out.")
    limit = seconds("--time", args.time)
    source: LocalSolver | RemoteSolver
    if args.server is None or args.check:
        source = LocalSolver(args)
    else:
        from binwright.commands.serving import RemoteSolver

        source = RemoteSolver(args, parameters(args.sets))
    if isinstance(source, LocalSolver) and args.check:
        known = source.properties()
        if args.json:
            print(json.dumps(known))
        else:
            _print_properties(known)
        return 0
    with StatusLine("solve") as line:
        found = source.answer(limit, _shower(line) if line.alive else None)
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


class LocalSolver:
    """Solves in this process."""

    def __init__(self, args: Namespace) -> None:
        import binwright.agents.solver.solving.solve  # the clock runs once all is imported

        with suppress(ModuleNotFoundError):  # which is said when it is needed
            import binwright.agents.solver.specification.spec  # noqa: F401

        self._began = monotonic()
        self._args = args
        self._problem = problem_of(args)

    def properties(self) -> dict[str, Any]:
        """Return what the compiler knows."""
        return properties(self._problem)

    def answer(self, seconds: float, tell: Told | None) -> dict[str, Any]:
        """Return the answer in the shape of `as_json`."""
        from binwright.agents.solver.solving.solve import solve

        args, more = self._args, {"balls": self._problem.balls, "searched": self._problem.searched}
        progress = None if tell is None else lambda now: tell(asdict(now) | more)
        how = {"device": args.device, "search": args.search, "seed": args.seed}
        left = max(min(0.001, seconds), seconds - (monotonic() - self._began))  # reading may have taken it all
        return as_json(solve(self._problem, time=left, progress=progress, **how))


_MEANING = {
    "alloc_free": "what a ball uses does not depend on the others",
    "non_negative": "no ball frees what others use",
    "bin_local": "a ball touches dimensions of its own bin only",
    "bin_blind": "what a ball uses does not depend on which bin it is in",
    "distinct": "no call touches a dimension twice",
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


def _shower(line: StatusLine) -> Told:
    """Say the best so far in the line."""

    def update(now: dict[str, Any]) -> None:
        pace = now["checked"] / max(now["seconds"], 1e-9)
        found = f"{now['placed']:,} of {many_of(now['balls'], 'ball')}"
        if now["searched"]:
            found += f" in {many_of(now['bins'], 'bin')} (bound {now['bound']})"
        goals = ", ".join(f"{value:,.6g}" for value in now["goals"])
        parts = found, goals and f"goals {goals}", f"{pace:,.0f} checked/s"
        line.said = ", ".join(filter(None, parts))

    return update
