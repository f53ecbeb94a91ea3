"""`solve` and `serve`: specifications of allocation problems and their answers."""

from __future__ import annotations

import csv
import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
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
    from binwright.agents.solver.solving.answer import Progress

UNSOLVED = 1
"""Exit code: no allocation of all balls was found."""
SHOWN, WHY = 100, 3
"""Of a list so much is printed, and the obstacles of so many balls."""
MEANING = {
    "alloc_free": "what a ball uses does not depend on the others",
    "non_negative": "no ball frees what others use",
    "bin_local": "a ball touches dimensions of its own bin only",
    "bin_blind": "what a ball uses does not depend on which bin it is in",
    "vector": "has a dense form, for the fast searches",
}
Name = Callable[[int], str]


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
        known = _properties(problem)
        if args.json:
            print(json.dumps(known))
        else:
            _print_properties(known)
        return 0
    more = max(min(0.001, limit), limit - (monotonic() - began))  # reading may have taken it all
    with StatusLine("solve") as line:

        def tell(now: Progress) -> None:
            bins = f" in {many_of(now.bins, 'bin')} (bound {now.bound})" if problem.searched else ""
            goals = ", ".join(f"{value:,.6g}" for value in now.goals)
            line.said = f"{now.placed:,} of {many_of(problem.balls, 'ball')}{bins}{goals and f'; goals {goals}'}"

        how = {"progress": tell if line.alive else None, "device": args.device, "time": more}
        result = binwright.agents.solver.solving.solve.solve(problem, **how).as_json()
    if args.json:
        print(json.dumps(result))
    else:
        _print_answer(result)
    sys.stdout.flush()  # a thread may go on with compiling
    return 0 if result["status"] in ("optimal", "solved") else UNSOLVED


def _properties(problem: Problem) -> dict[str, Any]:
    """Describe what the compiler knows of a problem."""
    proven = problem.program
    names = ("alloc_free", "non_negative", "bin_local", "bin_blind", "steps", "adds")
    return {
        "balls": problem.balls,
        "bins": "?" if problem.searched else problem.bins,
        "dims": problem.dims,
        "resources": {family.name: list(family.sizes) for family in problem.families},
        **{name: getattr(proven, name) for name in names},
        "vector": problem.matrix is not None,
        "guards": [{"line": line, "what": what} for line, what in proven.guards],
    }


def _explain(args: Namespace) -> int:
    """Say what goals come to in an answer, and what stands in the way of a ball."""
    from binwright.agents.solver.model.verify import faults, utilisation
    from binwright.agents.solver.solving.answer import left, obstacles, reached

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
    result = {"goals": [goal.as_json() for goal in goals], "left": left(problem, alloc)}
    ball_name, bin_name = _called(problem.ball_names), _called(problem.bin_names)
    if args.json:
        print(json.dumps({**result, "balls": balls}))
    elif balls:
        for each in balls:
            _print_ball(each, ball_name, bin_name)
    else:
        _print_goals(result["goals"])
        _print_left(result["left"], sum(place < 0 for place in alloc), ball_name)
    return 0


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


def _with_places(file: Path, make: Callable[[dict[str, str | None]], Problem]) -> Problem:
    """Make a problem from the bin of every ball, in an answer of `--json` or a CSV file with columns ball and bin."""
    from binwright.agents.solver.language.errors import NOW_OUTSIDE, SpecError
    from binwright.agents.solver.specification.load import text_of

    text = text_of(file)
    try:
        if text.lstrip().startswith("{"):
            answer = json.loads(text)
            ball_name, bin_name = _names_in(answer)
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


def _names_in(answer: dict[str, Any]) -> list[Name]:
    """Return what says how a ball, and a bin, of an answer is called."""
    return [_called(answer.get(f"{kind}_names")) for kind in ("ball", "bin")]


def _called(names: Sequence[str] | None) -> Name:
    """Return what says how something is called, by its number where there are no names."""
    return names.__getitem__ if names else str


def _print_answer(result: dict[str, Any]) -> None:
    """Print the answer as a table, bin by bin."""
    ball_name, bin_name = _names_in(result)
    listed = _ranges if not result["ball_names"] else lambda balls: _first(map(ball_name, balls))
    table = new_table("bin", ">balls", "")
    alloc = np.array([-1 if place is None else place for place in result["alloc"]])
    for place in range(min(result["bins"], SHOWN)):
        balls = np.flatnonzero(alloc == place).tolist()
        table.add_row(escape(bin_name(place)), str(len(balls)), escape(listed(balls)))
    out.print(table)
    if result["bins"] > SHOWN:
        print_line(f"and {result['bins'] - SHOWN:,} bins more: --json has them all")
    if left := np.flatnonzero(alloc < 0).tolist():
        print_line(f"not placed: {listed(left)}")
        _print_left(result["left"][:WHY], len(left), ball_name)
    if result["impossible"]:
        print_line(f"not all can be placed: {result['impossible']}")
    if faults := result["at_fault"]:
        lines = (fault["what"] + (f" in line {fault['line']}" if fault["line"] else "") for fault in faults)
        print_line(f"at fault: {', '.join(lines)}")
    _print_goals(result["goals"])
    if (moves := result["moves"]) is not None:
        ends = ((ball_name(each["ball"]), bin_name(each["from"]), each["to"]) for each in moves)
        which = _first(f"{ball} from {one} to {'nowhere' if to is None else bin_name(to)}" for ball, one, to in ends)
        verb = "moves" if len(moves) == 1 else "move"
        print_line(f"{many_of(len(moves), 'ball')} {verb}{': ' if moves else ''}{which}")
    for note in result["notes"]:
        print_line(note)
    bins = many_of(result["bins"], "bin")
    if result["used"] < result["bins"]:
        bins = f"{result['used']} of {bins}"
    if result["searched"]:
        bins += f" (bound {result['bound']}, gap {result['gap']})"
    placed = f"{result['placed']} of {result['balls']} balls in {bins}"
    checked = f"{result['search']}: {many_of(result['checked'], 'solution')} checked in {result['seconds']:.2f} s"
    ended = ", interrupted" if result["interrupted"] else ""
    print_line(f"{result['status']}{ended}: {placed}; {checked}")


def _print_goals(goals: list[dict[str, Any]]) -> None:
    """Say what became of every goal."""
    for goal in goals:
        best = "no allocation is better" if goal["gap"] == 0 else f"bound {goal['bound']:,.15g}"
        print_line(f"{goal['aim'].lower()} {goal['text']}: {goal['value']:,.15g} ({best})")


def _print_left(result: list[dict[str, Any]], count: int, name_of: Name) -> None:
    """Say what stands in the way of balls that are left out, of so many."""
    for each in result:
        rules = (f"{rule} in {many_of(bins, 'bin')}" for rule, bins in each["in_the_way"].items())
        print_line(f"{name_of(each['ball'])} is not placed: {', '.join(rules) or 'nothing, in some bin: it fits'}")
    if 0 < len(result) < count:
        print_line(f"and {count - len(result):,} more: binwright solve FILE --explain ANSWER --ball N")


def _print_ball(result: dict[str, Any], ball_name: Name, bin_name: Name) -> None:
    """Say for every bin what stands in the way of a ball."""
    where = "not placed" if result["is_in"] is None else f"in bin {bin_name(result['is_in'])}"
    print_line(f"ball {ball_name(result['ball'])} is {where}")
    table = new_table("bin", "in the way")
    for place in result["bins"][:SHOWN]:
        why = "it is here" if place["bin"] == result["is_in"] else "nothing: it fits"
        table.add_row(bin_name(place["bin"]), "; ".join(each["text"] for each in place["in_the_way"]) or why)
    out.print(table)
    if len(result["bins"]) > SHOWN:
        print_line(f"and {len(result['bins']) - SHOWN:,} bins more: --json has them all")


def _print_properties(known: dict[str, Any]) -> None:
    """Print what the compiler knows of a problem."""
    size = f"{known['balls']} balls, {known['bins']} bins, {known['dims']} dimensions"
    print_line(f"{size}{' with as few bins as may be tried' if known['bins'] == '?' else ''}")
    table = new_table(show_header=False)
    for name, meaning in MEANING.items():
        table.add_row(name.replace("_", "-"), "yes" if known[name] else "no", meaning)
    for name, key in (("steps", "steps"), ("additions", "adds")):
        table.add_row(name, f"{known[key]:,}", "at most, per call of UTILFN")
    out.print(table)
    for guard in known["guards"]:
        print_line(f"line {guard['line']}: {guard['what']} is tested at run time, and rejects")


def _first(words: Iterable[str]) -> str:
    """Write the first words, and how many more there are."""
    every = list(words)
    return ", ".join(every[:SHOWN]) + (f", and {len(every) - SHOWN:,} more" if len(every) > SHOWN else "")


def _ranges(numbers: Iterable[int]) -> str:
    """Write numbers as 0-2, 5."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return _first(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def serve(args: Namespace) -> int:
    """Answer `binwright serve`: the solver as a web service."""
    from binwright.service.server import serve

    def ready(url: str) -> None:
        print_line(f"Binwright serves {url} (jobs in {args.data}); Ctrl-C ends it.")

    with suppress(KeyboardInterrupt):  # so, or by SIGTERM, a service ends as it should
        serve(args.host, args.port, args.data, args.workers, args.token_file, args.limits, ready)
    return 0
