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

from binwright.commands.console import many_of, new_table, out, say, seconds, show
from binwright.commands.progress import Line
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


def solve(asked: Namespace) -> int:
    """Answer `binwright solve FILE`."""
    if asked.explain is not None:
        if asked.server is not None:
            raise UserError("answers are explained here", key="--server", remedy="Leave it out with --explain.")
        from binwright.commands.explaining import explain

        return explain(asked)
    if asked.balls:
        raise UserError("which answer?", key="--ball", remedy="Name what solve --json printed: --explain ANSWER.")
    limit = seconds("--time", asked.time)
    source: LocalSolver | RemoteSolver
    if asked.server is None or asked.check:
        source = LocalSolver(asked)
    else:
        from binwright.commands.serving import RemoteSolver

        source = RemoteSolver(asked, parameters(asked.sets))
    if isinstance(source, LocalSolver) and asked.check:
        known = source.properties()
        if asked.json:
            print(json.dumps(known))
        else:
            _print_properties(known)
        return 0
    with Line("solve") as line:
        found = source.answer(limit, _shower(line) if line.alive else None)
    if asked.json:
        print(json.dumps(found))
    elif asked.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(("ball", "bin"))
        name_of = [names_in(found, kind) for kind in ("ball", "bin")]
        rows = enumerate(found["alloc"])
        writer.writerows((name_of[0](ball), None if place is None else name_of[1](place)) for ball, place in rows)
        if found["placed"] < found["balls"]:
            left = many_of(found["balls"] - found["placed"], "ball")
            say(f"{left} of {found['balls']:,} not placed; without --csv you see why.")
    else:
        print_answer(found)
    sys.stdout.flush()  # a thread may go on with compiling
    return 0 if found["status"] in ("optimal", "solved") else UNSOLVED


class LocalSolver:
    """Solves in this process."""

    def __init__(self, asked: Namespace) -> None:
        import binwright.agents.solver.solving.solve  # the clock runs once all is imported

        with suppress(ModuleNotFoundError):  # which is said when it is needed
            import binwright.agents.solver.specification.spec  # noqa: F401

        self._began = monotonic()
        self._asked = asked
        self._problem = problem_of(asked)

    def properties(self) -> dict[str, Any]:
        """Return what the compiler knows."""
        return properties(self._problem)

    def answer(self, seconds: float, tell: Told | None) -> dict[str, Any]:
        """Return the answer in the shape of `as_json`."""
        from binwright.agents.solver.solving.solve import solve

        asked, more = self._asked, {"balls": self._problem.balls, "searched": self._problem.searched}
        progress = None if tell is None else lambda now: tell(asdict(now) | more)
        how = {"device": asked.device, "search": asked.search, "seed": asked.seed}
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
    show(f"{size}{more}")
    table = new_table(show_header=False)
    for name, meaning in _MEANING.items():
        table.add_row(name.replace("_", "-"), "yes" if known[name] else "no", meaning)
    table.add_row("steps", f"{known['steps']:,}", "at most, per call of UTILFN")
    table.add_row("additions", f"{known['adds']:,}", "at most, per call of UTILFN")
    out.print(table)
    for note in known["notes"]:
        show(note)
    for guard in known["guards"]:
        show(f"line {guard['line']}: {guard['what']} is tested at run time, and rejects")


def _shower(line: Line) -> Told:
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
