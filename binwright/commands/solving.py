"""`solve` and `serve`: specifications of allocation problems and their answers."""

from __future__ import annotations

import csv
import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.markup import escape

from binwright.commands.console import new_table, out, pair, print_line, seconds
from binwright.commands.progress import StatusLine
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.units import many_of

if TYPE_CHECKING:
    from binwright.agents.solver.model.problem import Problem
    from binwright.agents.solver.model.verify import Violation
    from binwright.agents.solver.solving.answer import Answer, Progress, Reached

UNSOLVED = 1
"""Exit code: no allocation of all balls was found."""
SHOWN, WHY = 100, 3
"""Of a list so much is printed, and the obstacles of so many balls."""


def solve(args: Namespace) -> int:
    """Answer `binwright solve FILE`."""
    if args.json and (args.check or args.explain is not None):
        raise UserError("is for answers", key="--json", remedy="Leave it out with --check and --explain.")
    if args.explain is not None:
        return _explain(args)
    if args.balls:
        raise UserError("which answer?", key="--ball", remedy="Name what solve --json printed: --explain ANSWER.")
    limit = seconds("--time", args.time)
    import binwright.agents.solver.solving.solve
    import binwright.agents.solver.specification.spec  # the clock runs once all is imported

    began = monotonic()
    problem = _problem_of(args)
    if args.check:
        _check(problem)
        return 0
    more = max(min(0.001, limit), limit - (monotonic() - began))  # reading may have taken it all
    with StatusLine("solve") as line:

        def tell(now: Progress) -> None:
            bins = f" in {many_of(now.bins, 'bin')} (bound {now.bound})" if problem.searched else ""
            goals = ", ".join(f"{value:,.6g}" for value in now.goals)
            line.detail = f"{now.placed:,} of {many_of(problem.balls, 'ball')}{bins}{goals and f'; goals {goals}'}"

        how = {"progress": tell if line.alive else None, "device": args.device, "time": more}
        answer = binwright.agents.solver.solving.solve.solve(problem, **how)
    if args.json:
        print(json.dumps(answer.as_json()))
    else:
        _print_answer(answer)
    sys.stdout.flush()  # a thread may go on with compiling
    return 0 if answer.status in ("optimal", "solved") else UNSOLVED


def _check(problem: Problem) -> None:
    """Print what the compiler knows of a problem."""
    program, bins = problem.program, "?" if problem.searched else problem.bins
    print_line(f"{problem.balls} balls, {bins} bins, {problem.dims} dimensions")
    proven = [name for name in ("alloc_free", "non_negative", "bin_local", "bin_blind") if getattr(program, name)]
    proven += ["vector"] * (problem.matrix is not None)
    print_line(f"proven of UTILFN: {', '.join(proven).replace('_', '-') or 'nothing'}")
    print_line(f"a call takes at most {program.steps:,} steps, {program.adds:,} of them additions")
    for line, what in program.guards:
        print_line(f"line {line}: {what} is tested at run time, and rejects")


def _explain(args: Namespace) -> int:
    """Say what goals come to in an answer, and what stands in the way of a ball."""
    from binwright.agents.solver.model.verify import faults
    from binwright.agents.solver.solving.answer import left, obstacles, reached

    file, problem = Path(args.explain), _problem_of(args)
    alloc = _with_places(file, lambda places: problem.source.changed(places).problem()).now.tolist()
    if problem.searched:
        problem = problem.with_bins(max(problem.limits[0], max(alloc) + 1))
    if wrong := faults(problem, alloc):
        remedy = "Give the answer to this specification, with the same --set, --from, --moves and --drain."
        raise UserError(f"is not right: {wrong[0]}", file=file, remedy=remedy)
    for ball in (_ball(each, problem) for each in args.balls):
        bins = list(obstacles(problem, alloc, ball))  # of a ball that there is
        _print_ball(problem, ball, alloc[ball], bins)
    if not args.balls:
        goals, bounds = reached(problem, alloc), _bounds_in(file)
        _print_goals(goals, bounds if len(bounds) == len(goals) else ())
        _print_left(problem, left(problem, alloc), alloc.count(-1))
    return 0


def _bounds_in(file: Path) -> list[float]:
    """Read the bounds of goals that solving found, in an answer of `--json`; other files have none."""
    from binwright.agents.solver.specification.spec import text_of

    with suppress(ValueError, KeyError, TypeError):
        return [float(goal["bound"]) for goal in json.loads(text_of(file))["goals"]]
    return []


def _problem_of(args: Namespace) -> Problem:
    """Load the problem that a command names, with its `--set`, `--from`, `--moves` and `--drain`."""
    from binwright.agents.solver import load_problem

    values = dict(pair("--set", text) for text in args.sets)
    drain: list[str] = []
    if args.drain is not None:  # a comma in a name is between quotation marks
        parts = next(csv.reader([args.drain], skipinitialspace=True), [])
        drain = [part.strip() for part in parts] or [""]
    if args.now is None:
        return load_problem(args.file, values, None, args.moves, drain)
    return _with_places(Path(args.now), lambda now: load_problem(args.file, values, now, args.moves, drain))


def _with_places(file: Path, make: Callable[[dict[Any, Any]], Problem]) -> Problem:
    """Make a problem from the bin of every ball, in an answer of `--json` or a CSV file with columns ball and bin."""
    from binwright.agents.solver.language.errors import NOW_OUTSIDE, SpecError
    from binwright.agents.solver.specification.spec import text_of

    text = text_of(file)
    try:
        if text.lstrip().startswith("{"):
            answer = json.loads(text)
            alloc, bins = answer["alloc"], answer.get("bin_names")
            balls = answer.get("ball_names") or range(len(alloc))
            places = [bins[place] if bins and place is not None else place for place in alloc]
            rows = list(zip(balls, places, strict=True))
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


def _ball(text: str, problem: Problem) -> int:
    """Read the name of a ball, or its number."""
    if text in problem.ball_names:
        return problem.ball_names.index(text)
    if not text.isdecimal():
        remedy = suggest(text, problem.ball_names) if problem.ball_names else "Write its number."
        raise UserError("there is no such ball", key="--ball", value=text, remedy=remedy)
    return int(text)


def _print_answer(answer: Answer) -> None:
    """Print the answer as a table, bin by bin."""
    from binwright.agents.solver.solving.answer import left

    problem, alloc = answer.problem, np.array(answer.alloc)
    table = new_table("bin", ">balls", "")
    for place in range(min(answer.bins, SHOWN)):
        balls = np.flatnonzero(alloc == place).tolist()
        table.add_row(escape(problem.bin(place)), str(len(balls)), escape(_first(map(problem.ball, balls))))
    out.print(table)
    if answer.bins > SHOWN:
        print_line(f"and {answer.bins - SHOWN:,} bins more: --json has them all")
    if out_of_it := np.flatnonzero(alloc < 0).tolist():
        print_line(f"not placed: {_first(map(problem.ball, out_of_it))}")
        _print_left(problem, left(problem, answer.alloc)[:WHY], len(out_of_it))
    if answer.impossible:
        print_line(f"not all can be placed: {answer.impossible}")
    if answer.at_fault:
        lines = (what + (f" in line {line}" if line else "") for what, line in answer.at_fault)
        print_line(f"at fault: {', '.join(lines)}")
    _print_goals(answer.goals)
    if (problem.now >= 0).any():
        ends = ((problem.ball(ball), problem.bin(at), to) for ball, at, to in answer.moves)
        which = _first(f"{ball} from {at} to {'nowhere' if to < 0 else problem.bin(to)}" for ball, at, to in ends)
        verb = "moves" if len(answer.moves) == 1 else "move"
        print_line(f"{many_of(len(answer.moves), 'ball')} {verb}{': ' if which else ''}{which}")
    for note in answer.notes:
        print_line(note)
    bins = many_of(answer.bins, "bin")
    if answer.used < answer.bins:
        bins = f"{answer.used} of {bins}"
    if problem.searched:
        bins += f" (bound {answer.bound}, gap {answer.gap})"
    placed = f"{answer.placed} of {problem.balls} balls in {bins}"
    checked = f"{answer.search}: {many_of(answer.checked, 'solution')} checked in {answer.seconds:.2f} s"
    print_line(f"{answer.status}{', interrupted' if answer.interrupted else ''}: {placed}; {checked}")


def _print_goals(goals: Sequence[Reached], answered: Sequence[float] = ()) -> None:
    """Say what became of every goal; `answered` are bounds in an answer, which may be of other options."""
    for goal, bound in zip_longest(goals, answered):
        best = f"bound {goal.bound:,.15g}" if bound is None else f"bound {bound:,.15g} in the answer"
        best = "no allocation is better" if goal.gap == 0 else best
        print_line(f"{goal.aim.lower()} {goal.text}: {goal.value:,.15g} ({best})")


def _print_left(problem: Problem, result: list[dict[str, Any]], count: int) -> None:
    """Say what stands in the way of balls that are left out, of so many."""
    for each in result:
        rules = (f"{rule} in {many_of(bins, 'bin')}" for rule, bins in each["in_the_way"].items())
        why = ", ".join(rules) or "nothing, in some bin: it fits"
        print_line(f"{problem.ball(each['ball'])} is not placed: {why}")
    if 0 < len(result) < count:
        print_line(f"and {count - len(result):,} more: binwright solve FILE --explain ANSWER --ball N")


def _print_ball(problem: Problem, ball: int, is_in: int, bins: Sequence[list[Violation]]) -> None:
    """Say for every bin what stands in the way of a ball."""
    print_line(f"ball {problem.ball(ball)} is {'not placed' if is_in < 0 else f'in bin {problem.bin(is_in)}'}")
    table = new_table("bin", "in the way")
    for place, them in enumerate(bins[:SHOWN]):
        why = "it is here" if place == is_in else "nothing: it fits"
        table.add_row(escape(problem.bin(place)), escape("; ".join(each.text for each in them) or why))
    out.print(table)
    if len(bins) > SHOWN:
        print_line(f"and {len(bins) - SHOWN:,} bins more")


def _first(words: Iterable[str]) -> str:
    """Write the first words, and how many more there are."""
    every = list(words)
    return ", ".join(every[:SHOWN]) + (f", and {len(every) - SHOWN:,} more" if len(every) > SHOWN else "")


def serve(args: Namespace) -> int:
    """Answer `binwright serve`: the solver as a web service."""
    from binwright.service.server import serve

    def ready(url: str) -> None:
        print_line(f"Binwright serves {url} (jobs in {args.data}); Ctrl-C ends it.")

    with suppress(KeyboardInterrupt):  # so, or by SIGTERM, a service ends as it should
        serve(args.host, args.port, args.data, args.workers, args.token_file, args.limits, ready)
    return 0
