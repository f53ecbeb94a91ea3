"""`solve` and `serve`: specifications of allocation problems and their answers."""

from __future__ import annotations

import csv
import json
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from binwright.commands.console import pair, print_line, seconds
from binwright.commands.progress import StatusLine
from binwright.commands.solver_output import (
    called,
    names_in,
    print_answer,
    print_ball,
    print_goals,
    print_left,
    print_properties,
)
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.units import many_of
from binwright.solver_json import as_json, left, properties
from binwright.solver_json import reached as reached_json

if TYPE_CHECKING:
    from binwright.agents.solver.model.problem import Problem
    from binwright.agents.solver.solving.answer import Progress

UNSOLVED = 1
"""Exit code: no allocation of all balls was found."""


def solve(args: Namespace) -> int:
    """Answer `binwright solve FILE`."""
    if args.explain is not None:
        return _explain(args)
    if args.balls:
        raise UserError("which answer?", key="--ball", remedy="Name what solve --json printed: --explain ANSWER.")
    limit = seconds("--time", args.time)
    import binwright.agents.solver.solving.solve  # the clock runs once all is imported

    with suppress(ModuleNotFoundError):  # which is said when it is needed
        import binwright.agents.solver.specification.spec

    began = monotonic()
    problem = _problem_of(args)
    if args.check:
        known = properties(problem)
        if args.json:
            print(json.dumps(known))
        else:
            print_properties(known)
        return 0
    more = max(min(0.001, limit), limit - (monotonic() - began))  # reading may have taken it all
    with StatusLine("solve") as line:

        def tell(now: Progress) -> None:
            bins = f" in {many_of(now.bins, 'bin')} (bound {now.bound})" if problem.searched else ""
            goals = ", ".join(f"{value:,.6g}" for value in now.goals)
            line.said = f"{now.placed:,} of {many_of(problem.balls, 'ball')}{bins}{goals and f'; goals {goals}'}"

        how = {"progress": tell if line.alive else None, "device": args.device, "time": more}
        result = as_json(binwright.agents.solver.solving.solve.solve(problem, **how))
    if args.json:
        print(json.dumps(result))
    else:
        print_answer(result)
    sys.stdout.flush()  # a thread may go on with compiling
    return 0 if result["status"] in ("optimal", "solved") else UNSOLVED


def _explain(args: Namespace) -> int:
    """Say what goals come to in an answer, and what stands in the way of a ball."""
    from binwright.agents.solver.model.verify import faults, utilisation
    from binwright.agents.solver.solving.answer import obstacles, reached

    file, problem = Path(args.explain), _problem_of(args)
    alloc = _with_places(file, lambda places: problem.source.changed(places).problem()).now.tolist()
    if problem.searched:
        problem = problem.with_bins(max(problem.limits[0], max(alloc) + 1))
    if wrong := faults(problem, alloc):
        remedy = "Give the answer to this specification, with the same --set, --from, --moves and --drain."
        raise UserError(f"is not right: {wrong[0]}", file=file, remedy=remedy)
    balls = []
    for ball in (_ball(each, problem.ball_names) for each in args.balls):
        every = enumerate(obstacles(problem, alloc, ball))
        bins = [{"bin": place, "in_the_way": [each._asdict() for each in them]} for place, them in every]
        balls.append({"ball": ball, "is_in": None if alloc[ball] < 0 else alloc[ball], "bins": bins})
    goals = reached(problem, alloc, utilisation(problem, alloc)[0]) if min(alloc) >= 0 else ()
    result = {"goals": reached_json(goals), "left": left(problem, alloc)}
    ball_name, bin_name = called(problem.ball_names), called(problem.bin_names)
    if args.json:
        print(json.dumps({**result, "balls": balls}))
    elif balls:
        for each in balls:
            print_ball(each, ball_name, bin_name)
    else:
        print_goals(result["goals"])
        print_left(result["left"], sum(place < 0 for place in alloc), ball_name)
    return 0


def _problem_of(args: Namespace) -> Problem:
    """Load the problem that a command names, with its `--set`, `--from`, `--moves` and `--drain`."""
    from binwright.agents.solver import load_problem

    values: dict[str, str] = {}
    for text in args.sets:
        name, value = pair("--set", text)
        if values.setdefault(name, value) != value:
            both = f"{values[name]}, {value}"
            raise UserError("is set twice", key=f"--set {name}", value=both, remedy="Keep one of them.")
    drain: list[str] = []
    if args.drain is not None:  # a comma in a name is between quotation marks
        parts = next(csv.reader([args.drain], skipinitialspace=True), [])
        drain = [part.strip() for part in parts] or [""]
    if args.now is None:
        return load_problem(args.file, values, None, args.moves, drain)
    return _with_places(Path(args.now), lambda now: load_problem(args.file, values, now, args.moves, drain))


def _with_places(file: Path, make: Callable[[dict[str, str | None]], Problem]) -> Problem:
    """Make a problem from the bin of every ball, in an answer of `--json` or a CSV file with columns ball and bin."""
    from binwright.agents.solver.language.errors import NOW_OUTSIDE, SpecError
    from binwright.agents.solver.specification.load import text_of

    text = text_of(file)
    try:
        if text.lstrip().startswith("{"):
            answer = json.loads(text)
            ball_name, bin_name = names_in(answer)
            rows = [(ball_name(b), None if at is None else bin_name(at)) for b, at in enumerate(answer["alloc"])]
        else:
            rows = [(row["ball"], row["bin"] or None) for row in csv.DictReader(text.splitlines())]
        if len(dict(rows)) < len(rows):
            raise ValueError("a ball is there twice")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        remedy = "Give what solve --json printed, or a CSV file with columns ball and bin, a row for every ball."
        raise UserError(f"does not say where balls are: {error}", file=file, remedy=remedy) from None
    try:
        return make(dict(rows))
    except SpecError as error:
        if error.at != NOW_OUTSIDE:
            raise
        raise UserError(error.problem, file=file, remedy=error.remedy) from None


def _ball(text: str, names: Sequence[str]) -> int:
    """Read the name of a ball, or its number."""
    if text in names:
        return names.index(text)
    if not text.isdecimal():
        remedy = suggest(text, names) if names else "Write its number."
        raise UserError("there is no such ball", key="--ball", value=text, remedy=remedy)
    return int(text)


def serve(args: Namespace) -> int:
    """Answer `binwright serve`: the solver as a web service."""
    from binwright.service.server import serve

    def ready(url: str) -> None:
        print_line(f"Binwright serves {url} (jobs in {args.data}); Ctrl-C ends it.")

    with suppress(KeyboardInterrupt):  # so, or by SIGTERM, a service ends as it should
        serve(args.host, args.port, args.data, args.workers, args.token_file, args.limits, ready)
    return 0
