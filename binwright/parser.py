"""The parser of the command line: a function per command, which names the function that answers it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, TypeAlias

from binwright.simcore.errors import nearest, suggest
from binwright.simcore.removed import REMOVED

Option: TypeAlias = tuple[tuple[str, ...], dict[str, Any]]
"""The names of an option or an argument, and how argparse takes it."""
KINDS = ("agents", "devices", "figures", "metrics", "movers", "scenarios", "schema", "topology", "traces", "workloads")
"""What `list` lists."""


class _Parser(argparse.ArgumentParser):
    """Suggests a command or an option where an unknown one is written; takes no abbreviated options."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "allow_abbrev": False})
        self.set_defaults(parser=self)

    @property
    def options(self) -> list[str]:
        """List the options, as `--out`."""
        return sorted(self._option_string_actions)

    def parse_args(self, arguments: Sequence[str] | None = None) -> argparse.Namespace:  # type: ignore[override]
        """Parse arguments; ends with an error of the command where there are some too many."""
        args, unknown = self.parse_known_args(arguments)
        if unknown:
            of: _Parser = args.parser
            word = unknown[0].partition("=")[0]
            near = nearest(word, of.options) if word.startswith("-") else None
            remedy = REMOVED.get(
                f"option {of.prog.partition(' ')[2]} {word}", f"Did you mean {near!r}?" if near else ""
            )
            of.error(f"there is no such option or argument: {' '.join(unknown)}" + f"\n  {remedy}" * bool(remedy))
        return args

    def error(self, message: str) -> NoReturn:
        """Say what is wrong as all mistakes are said, and end."""
        self.exit(2, f"{self.prog}: {message}\n  Options and arguments: {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            words = " ".join([*self.prog.split()[1:], value])
            remedy = REMOVED.get(f"command {words}") or suggest(value, action.choices, "`binwright --help`")
            raise argparse.ArgumentError(None, f"there is no command {words}\n  {remedy}")
        super()._check_value(action, value)


def _option(*names: str, help: str, **how: Any) -> Option:
    return names, {"help": help, **how}


def _flag(name: str, help: str) -> Option:
    return _option(name, help=help, action="store_true")


def _several(name: str, dest: str, metavar: str, help: str) -> Option:
    """Make an option that may be given several times."""
    return _option(name, dest=dest, action="append", default=[], metavar=metavar, help=help)


def _number(name: str, help: str, default: int | None = None) -> Option:
    """Make an option that is a whole number."""
    said = f"{help} (default: {default})" if default is not None else help
    return _option(name, type=int, metavar="N", default=default, help=said)


def _out(help: str, metavar: str = "DIR", **how: Any) -> Option:
    return _option("--out", help=help, metavar=metavar, **how)


SCENARIO = "a scenario file, or the name of a shipped one (quickstart)"
FILE = _option("file", metavar="FILE", help=SCENARIO)
FILES = _option("files", nargs="+", metavar="FILE", help=SCENARIO)
FOLDER = _option("results", metavar="RESULTS", help="a folder that runs wrote")
FOLDERS = _option("results", nargs="+", metavar="RESULTS", help="folders that runs wrote")
SETS = _several("--set", "sets", "KEY=VALUE", "change a value")
AGENTS = _option("--agents", help="these instead of the scenario's, with commas between; files as from this folder")
SEEDS = _number("--seeds", "how many seeds, instead of the scenario's replications")
JOBS = _number("--jobs", "runs at a time (default: one per CPU)")
FRESH = _flag("--fresh", "begin again, whatever the folder has already")
METRIC = _option("--metric", default="acceptance", help="whose mean counts (default: acceptance)")
METRICS = _several("--metric", "metrics", "NAME", "only these metrics")
BASELINE = _option("--baseline", metavar="AGENT", help="what the others are compared with (default: the first)")
JSON = _flag("--json", "print all of it as JSON")


class Command(NamedTuple):
    """Declares a command, and the function below `binwright.commands` that answers it."""

    name: str
    answer: str
    purpose: str
    options: Sequence[Option]
    description: str = ""
    interrupted: str = "Run the same command to resume."
    """What Ctrl-C leaves behind."""
    takes_expressions: bool = False


COMMANDS: Mapping[str, Sequence[Command]] = {
    "First": (
        Command("run", "running.run", "run scenarios, print their tables, write results and figures", (
            FILES, SETS, AGENTS, SEEDS,
            _out("folder of the results (default: results/NAME); of several files OUT/NAME"),
            _jobs(), ON,
            FRESH,
            _flag("--dry-run", "say what would run, and run nothing"),
        )),
        Command("compare", "comparing.compare", "agents beside a baseline: by how much, and can the seeds tell", (
            FOLDERS,
            _option("--baseline", metavar="AGENT", help="what the others are compared with; p-values are then "
                    "corrected for these comparisons only (default: the first, and for every two agents)"),
            _option("--since", metavar="RESULTS", help="earlier results: compare each agent with itself in them"),
            METRICS,
            _option("--format", choices=("terminal", "markdown", "csv", "latex"), help="default: as the file ends"),
            _out("the file to write: .md, .csv or .tex", metavar="FILE"),
            _several("--fail-if", "limits", "LIMIT", "exit with 1 if it holds for some agent: 'acceptance < -1 %%' of "
                     "the baseline, 'wait_p95 > 10 min'"),
        )),
        Command("report", "comparing.report", "one HTML file: answer, tables, figures and failures", (
            _option("results", metavar="RESULTS", help="a folder that runs wrote"),
            _out("the file to write (default: RESULTS/report.html)", metavar="FILE"),
        )),
        Command("init", "traces.init", "write a first scenario, from five answers", (
            _option("--requests", metavar="FILE", help="a CSV or Parquet file, or a trace's name (default: generated)"),
            _number("--servers", "how many (default: 10, or enough for FILE)"),
            _option("--node", metavar="AMOUNTS", help='what each has: "cpu: 64, mem: 256 GB" (default: that)'),
            _option("--overflow", choices=("drop", "wait", "stop"), help="if one fits nowhere (default: drop)"),
            _option("--agents", help="with commas (default: first-fit,best-fit,worst-fit,dot-product)"),
            _out("the scenario to write (default: first.yaml)", default="first.yaml", metavar="FILE"),
        ), "On a terminal, what no option says is asked for; elsewhere it has its default.", "Nothing is written."),
        Command("size", "sizing.size", "how many servers each agent needs until a metric meets a target", (
            FILE,
            _option("--until", metavar="TARGET", action="append", help='as in "wait_p95 <= 10 min"; given again, all '
                    'must be met (default: what `size` in the scenario says, or "acceptance >= 99 %%")'),
            AGENTS, SEEDS, SETS, _jobs(),
            _out("folder of the answer and the runs (default: results/NAME/size)", metavar="DIR"),
        ), "Find for every agent the smallest number of servers with which the mean of a metric over the seeds meets a "
           "target. The same command goes on from its folder after an interruption."),
        Command("solve", "solving.solve", "solve an allocation problem written as balls, bins and resources", (
            _option("file", help="a specification (*.alloc), or the name of a shipped one (vm-placement)"),
            _flag("--check", "compile only; print what is proven, and the step bound"),
            _option("--explain", metavar="ANSWER", help="say why a ball of this answer, as --json or --csv, is where "
                    "it is; solve nothing"),
            _several("--ball", "balls", "BALL", "with --explain: what keeps this ball out of every bin"),
            _option("--device", default="cpu", help="cpu (all cores, the default), opencl or opencl:N"),
            _option("--time", default="10s", help="the search ends after this long (default: 10s)"),
            _number("--seed", "of the random orders", 0),
            _several("--set", "sets", "PARAM=NUMBER", "change a PARAM"),
            _option("--from", dest="now", metavar="FILE", help="where balls are now: an answer as --json or --csv"),
            _number("--moves", "so many balls may leave the bin that they are in now"),
            _option("--drain", metavar="BINS", help="these bins are to be empty: 3,5-7, or names"),
            _flag("--json", "print the answer as JSON"),
            _flag("--csv", "print the answer as CSV: ball, bin"),
        )),
    ),
    "Run": (
        Command("validate", "running.validate", "check scenario files", (FILES, SETS)),
        Command("reproduce", "reproducing.reproduce", "every published number beside ours, with a verdict", (
            _option("publications", nargs="+", metavar="PUBLICATION",
                    help="one or more of nara, cvd-rl, wrasse, spane, fgd, rlscheduler, funsearch, adrs, or all"),
            _flag("--quick", "fewer seeds and less time: what will probably come out, in minutes"),
            _out("folder of the runs, values and pages (default: results/reproduce)", metavar="DIR"),
            _option("--weights", metavar="DIR", help="the weights that nara's authors published: rows beside ours"),
            _jobs(),
            _flag("--dry-run", "say what would run, and run nothing"),
        )),
    ),
    "Understand": (
        Command("why", "why.why", "what a run refused and why; what servers lacked for a request", (
            _option("results", metavar="RESULTS", help="a folder that runs wrote"),
            _option("--request", metavar="ID", help="the request to look at, by its id, or as 'row 12'"),
            _option("--agent", metavar="AGENT", help="whose run (default: the first agent's)"),
            _number("--seed", "of which seed (default: the first)"),
            _several("--point", "points", "KEY=VALUE", "at which point of a sweep"),
            _out("a CSV file with all kinds of requests, or of --request all servers", metavar="FILE"),
        ), "Play a run of some results again, and tell what it refused for which reason, or what every server had when "
           "one request came. Nothing has to be recorded for it."),
        Command("figures", "drawing.figures", "draw results: differences, sweeps, gains, servers over time", (
            FOLDERS,
            _several("--kind", "kinds", "KIND", "a name (`binwright list figures`), mine.py:my_figure, or all "
                     "(default: the four that answer what these results ask)"),
            _out("folder, or the file of a single figure (default: RESULTS/figures)"),
            METRICS,
            _option("--agents", help="only these, with commas between"),
            _several("--where", "where", "KEY=VALUE", "only these points, or seed=N"),
            _option("--x", metavar="KEY", help="the swept key to draw or rank over"),
            _option("--at", metavar="TIME", help="the moment that a topology is drawn at (default: the busiest)"),
            _option("--baseline", metavar="AGENT", help="what the others are compared with (default: the first)"),
        ), "Draw results. How figures look, and what they call things, `figures` and `headings` of the scenario say."),
        Command("traces describe", "traces.describe", "what a trace's file holds; --fit: a generator like it", (
            _option("file", help="a CSV or Parquet file, a scenario that reads one, or the name of a trace"),
            _flag("--fit", "fit a generator: print the scenario, or write it to --out"),
            _number("--flavours", "different demands of --fit", 16),
            _out("write a scenario that reads it so, or --fit's", metavar="FILE"),
        ), "Say what a trace's file holds. Of a table of your own, with columns of any names, it says which is "
           "probably what, in which unit, and why. With --fit, fit a generated workload to it: its "
           "most frequent demands, their lifetimes, and the rate of arrivals.", "Nothing is written."),
    ),
    "Learn": (
        Command("train", "training.train", "train an agent as the scenario's `train:` says", (
            FILE, SETS,
            _out("folder of logs and weights (default: results/NAME/training)"),
            _jobs("seeds and settings at a time (default: one per CPU)"), FRESH,
        ), "Teach an agent what a scenario's `train:` says. The same command goes on from its folder: after an "
           "interruption, or with more iterations."),
        Command("tune", "learning.tune", "find the numeric options with which an agent does best", (
            FILE,
            _option("--agent", required=True, help="best-home, or with options that stay: '{best-home: {links: 2}}'"),
            _several("--param", "params", "OPTION=RANGE", "what is searched, as in stranded=0..2, or "
                     "penalty=0.01..1:log for what varies by orders of magnitude"),
            METRIC,
            _number("--rounds", "rounds", 20),
            _number("--population", "candidates in a round", 16),
            _number("--seeds", "that each of them is tried on", 8),
            _number("--held-out", "seeds at the end", 100),
            SETS, _jobs(),
            _out("folder of the answer, the log and the runs (default: results/NAME/tuning)"),
        )),
        Command("search", "learning.search", "find a rule of placement: a race of random formulas", (
            FILE, SETS, METRIC,
            _number("--evaluations", "plays of a rule on a seed", 100_000),
            _number("--seeds", "of the search", 200),
            _number("--validation", "seeds of the choice", 400),
            _number("--test", "seeds of the last table", 100),
            _jobs("plays at a time (default: one per CPU)"),
            _out("folder of what is found (default: results/NAME/search)"),
        ), "Find a formula that places better than the heuristics do, and say what it is worth on seeds that the "
           "search never met."),
        Command("evaluate", "learning.evaluate", "score a rule that somebody, or a program, proposes", (
            _option("policy", metavar="POLICY", help="an expression, FILE.py:function (default: score), or an agent as "
                    "in a scenario"),
            _option("--scenario", required=True, metavar="FILE", help=SCENARIO),
            _option("--metric", default="acceptance", help="what is scored (default: acceptance)"),
            _option("--baseline", metavar="POLICY", help="what it is compared with (default: the first agent)"),
            _number("--seeds", "seeds", 20),
            _option("--on", choices=("search", "validation", "test"), default="search", help="which (default: search)"),
            _flag("--json", "print all of it as JSON"), SETS,
        ), "Score a policy beside a baseline on the same seeds, in memory. Source of a file is not trusted: it is "
           "played with limits, and never imported.", takes_expressions=True),
    ),
    "Solve": (
        Command("pack", "packing.pack", "pack machines, all known at once, onto few servers", (
            _option("input", metavar="INPUT", help="a name (pgrank, ct1, u120, t60, ...: page 'Offline placement'), or "
                    "a file (.csv, .txt, .bpp, .vbp)"),
            _option("--with", dest="methods", metavar="NAMES", help="with commas between: ffd-prod,bfd-sum,dot-product,"
                    "norm-greedy,published,solver (default: all)"),
            _option("--time", default="10s", help="for each search (default: 10s)"),
            _number("--seed", "of a generated input (default: 1)"),
            _number("--seeds", "how often each search runs, with seeds 0, 1, ...", 1),
            _option("--server", metavar="CAPACITY", help="what a server has of a CSV file's columns: cpu=8,mem=16"),
            _flag("--json", "print the table as JSON"),
            _out("write the placements (.csv)", metavar="FILE"),
        )),
        Command("serve", "solving.serve", "the solver as a web service, with a page to try it on", (
            _option("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)"),
            _option("--port", type=int, default=8000, help="default: 8000; 0 is any free one"),
            _option("--data", default="service", metavar="DIR", help="folder of the jobs (default: service)"),
            _number("--workers", "jobs at a time (default: one per CPU)"),
            _option("--token-file", metavar="F", help="tokens, one per line: requests without one are refused"),
            _several("--limit", "limits", "NAME=NUMBER", "change a limit (memory=2e9)"),
        )),
    ),
    "Look up": (
        Command("list", "catalogue.list_kind", "what there is to choose from: agents, scenarios, ...", (
            _option("kind", metavar="KIND", choices=KINDS, help=f"{', '.join(KINDS[:-1])} or {KINDS[-1]}"),
            _option("name", nargs="?", metavar="NAME", help="with agents: only those that can run this scenario; with "
                    "topology: a network, or a CSV or GraphML file"),
        )),
        Command("agents check", "catalogue.check", "play an agent in small worlds, and say what it does wrong", (
            _option("agent", metavar="AGENT", help="mine.py:Mine, a registered name, or with options: "
                    "'{mine.py:Mine: {skip: 2}}'"),
        )),
    ),
}  # fmt: skip
"""The commands in the order of `--help`, below what they are for."""
ABOVE = {"traces": "look into traces of requests", "agents": "check an agent of your own"}
"""Commands that have others below them."""
SPEECH = (
    ("-q", "--quiet", "no progress, and no notes beside the answer"),
    ("-v", "--verbose", "say what is done, and show where it failed"),
)


def parser() -> argparse.ArgumentParser:
    """Make the parser of every command, its options, and the function below `binwright.commands` that answers it."""
    top = _Parser(prog="binwright", description="Which allocator is better, by how much, and why?")
    top.add_argument("--version", action="store_true", help="print the version")
    commands = top.add_subparsers(prog="binwright", metavar="COMMAND", dest="command")
    every: list[argparse.ArgumentParser] = [top]
    for name, answer, purpose, options in COMMANDS:
        above, _, action = name.partition(" ")
        below: argparse._SubParsersAction[Any] = commands
        if action:
            every.append(commands.add_parser(above, help=ABOVE[above]))
            below = every[-1].add_subparsers(metavar="ACTION", dest="action", required=True)
        command = below.add_parser(action or above, help=purpose)
        command.set_defaults(answer=answer)
        for names, how in options:
            command.add_argument(*names, **how)
        every.append(command)
    for each in every:
        speech = each.add_mutually_exclusive_group()
        for letter, word, meaning in SPEECH:
            speech.add_argument(letter, word, action="store_true", default=argparse.SUPPRESS, help=meaning)
    top.set_defaults(quiet=False, verbose=False)
    return top


def every_command(above: argparse.ArgumentParser, *words: str) -> Iterator[tuple[tuple[str, ...], str, _Parser]]:
    """Yield every command below a parser: its words, what it is for, and its own parser."""
    for action in above._actions:
        if isinstance(action, argparse._SubParsersAction):
            purposes = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                yield (*words, name), purposes.get(name, ""), command
                yield from every_command(command, *words, name)
