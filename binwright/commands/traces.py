"""`init`: a first scenario, from five answers; `traces describe`: what is in a file, or a generator like it."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml
from rich.markup import escape

from binwright.analysis.compare.sheet import Cell, Sheet
from binwright.analysis.measure.metric import duration
from binwright.commands.console import new_table, note, out, print_line, print_location
from binwright.simcore.errors import UserError, suggest
from binwright.simcore.extras import pl

T = TypeVar("T")
OVERFLOWS = ("drop", "wait", "stop")

if TYPE_CHECKING:
    from binwright.workloads.column_guesses import Proposal


def init(args: Namespace) -> int:
    """Answer `binwright init`."""
    from binwright.scenarios.draft.first_scenario import begin, node_of
    from binwright.scenarios.draft.text import AGENTS, write_new
    from binwright.scenarios.run.check import impossible_of
    from binwright.scenarios.schema.load import load_scenario

    target = Path(args.out)
    if target.exists():
        raise UserError("is there already", file=target, remedy="Name another file with --out, or remove this one.")
    talk = sys.stdin.isatty() and sys.stdout.isatty()
    if talk:
        print_line("Five questions; Enter takes what is in brackets.")

    def answer(option: str, question: str, read: Callable[[str], T], default: str, otherwise: T) -> T:
        """Take an option, or ask for it until the answer can be read."""
        given = getattr(args, option)
        if given is not None or not talk:
            return otherwise if given is None else read(str(given))
        while True:
            try:
                text = input(f"{question} [{default}] ").strip()
            except EOFError:
                text = ""
            if not text:
                return otherwise
            try:
                return read(text)
            except UserError as error:
                print(error)

    requests = answer("requests", "Whose requests? A CSV or Parquet file, or a trace", _source, "generated", None)
    enough = "about enough" if requests else "10"
    servers = answer("servers", "How many servers?", _servers, enough, None)
    usual = "what goes with that" if requests else "cpu: 64, mem: 256 GB"
    node = answer("node", "What does each server have?", node_of, usual, None)
    overflow = answer("overflow", "A request that fits nowhere: drop, wait or stop?", _overflow, "drop", "drop")
    agents = answer("agents", "Which agents, with commas?", _agents, ",".join(AGENTS), list(AGENTS))
    write_new(args.out, begin(requests, servers, node, overflow, agents, target.parent))
    if doubt := impossible_of(load_scenario(args.out)):
        print_location(f"? {doubt}")
    _say_written(args.out)
    return 0


def _source(text: str) -> str:
    from binwright.scenarios.draft.request_source import asked_of

    asked_of(text)
    return text


def _servers(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise UserError("is not a number of servers", key="servers", value=text, remedy="Write a whole number from 1.")
    return int(text)


def _overflow(text: str) -> str:
    if text not in OVERFLOWS:
        raise UserError("is not a way to overflow", key="overflow", value=text, remedy=suggest(text, OVERFLOWS))
    return text


def _agents(text: str) -> list[Any]:
    """Read agents, some of them with options."""
    from binwright.scenarios.draft.first_scenario import checked_agents

    try:
        return checked_agents(yaml.safe_load(f"[{text}]"))
    except yaml.YAMLError:
        raise UserError("is not a list", key="agents", value=text, remedy="Write first-fit, best-fit.") from None


def describe(args: Namespace) -> int:
    """Answer `binwright traces describe FILE`."""
    if args.fit:
        return _fit(args)
    from binwright.scenarios.draft.request_source import asked_of
    from binwright.scenarios.draft.text import write_new
    from binwright.simcore.units import measure_of
    from binwright.workloads.describe import describe as described

    requests = asked_of(args.file)
    if args.out:
        write_new(args.out, requests.text(Path(args.out).parent))
    if requests.proposal:
        _print_proposal(requests.proposal, requests.path)
    units = {name: measure_of(name).base for name in requests.resources}
    frame = requests.frame
    found, arrival, never = described(frame, units), frame["arrival"], int(frame["lifetime"].is_infinite().sum())
    print_line(
        f"{requests.path}: {requests.name}, {len(frame):,} requests over {duration(arrival[-1] - arrival[0])}, "
        f"{never:,} of them never ending"
    )
    if requests.running:
        print_line(f"{requests.running:,} of them run already at the start")
    _print(found.resources, "Resources", words=2)
    shown = found.flavours.head(20)
    _print(shown, f"Flavours ({len(shown)} of {len(found.flavours)}) and their lifetimes")
    _print(found.lifetimes, "All lifetimes")
    doubts = requests.doubts
    for line in [""] * bool(doubts) + [f"? {doubt}" for doubt in doubts]:
        print_line(line)
    if args.out:
        _say_written(args.out)
    elif requests.proposal:
        print_location(f"\nA scenario that reads it so: binwright traces describe {args.file} --out FILE.yaml")
    return 0


def _fit(args: Namespace) -> int:
    """Write a generated workload that is like a trace."""
    from binwright.scenarios.draft.request_source import asked_of
    from binwright.scenarios.draft.text import write_new
    from binwright.scenarios.run.check import below_fitted, beside_fitted
    from binwright.scenarios.schema.load import scenario_from

    if args.flavours < 1:
        raise UserError("is too few", key="--flavours", value=args.flavours, remedy="Give 1 or more.")
    requests = asked_of(args.file)
    text = requests.fitted(args.flavours)
    for doubt in requests.doubts:
        note(f"? {doubt}")
    drawn = scenario_from(yaml.safe_load(text))
    for name, what, there, draws in beside_fitted(drawn):
        note(f"{name}, {what}: {there:,.4g} in the trace, {draws:,.4g} drawn ({draws / there - 1:+.1%})")
    if doubt := below_fitted(drawn):
        note(f"? {doubt[0].upper()}{doubt[1:]}")
    if args.out:
        write_new(args.out, text)
        _say_written(args.out)
    else:
        print(text, end="")
    return 0


def _say_written(file: str) -> None:
    """Say what to do with a scenario that was written."""
    print_location(f"\nWritten: {file}. Look at it, then: binwright run {file}")


def _print_proposal(proposal: Proposal, path: Path) -> None:
    title = escape(f"What the columns of {path.name} probably are")
    table = new_table("column", "is", "unit", "why", title=title, title_justify="left")
    for guess in proposal.guesses:
        table.add_row(*map(escape, (guess.column, guess.name, guess.unit, guess.why)))
    for label, column in proposal.labels.items():
        table.add_row(*map(escape, (column, f"label {label}", "", "its name")))
    if proposal.others:
        table.add_row(escape(", ".join(proposal.others)), "not read", "", "")
    out.print(table)


def _print(frame: pl.DataFrame, title: str, words: int = 0) -> None:
    """Print as many columns as the terminal has room for, whole: the first are `words`, or else all of lifetimes."""

    def shown(name: str, cell: object) -> str:
        if not words and name in ("p10", "p50", "p90", "p99", "mean"):
            return duration(cell)  # type: ignore[arg-type]  # seconds, or none
        if not isinstance(cell, float):
            return str(cell)
        return f"{cell:.2%}" if name == "share" else f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.4g}"

    names = {name: name.replace("_", " ") for name in frame.columns}
    if "never_ending" in names and frame["never_ending"].sum():
        names["mean"] = "mean if it ends"
    rows = [[Cell(shown(*cell)) for cell in row.items()] for row in frame.rows(named=True)]
    out.print(Sheet([*names.values()], rows, words, title).terminal(out.width))
