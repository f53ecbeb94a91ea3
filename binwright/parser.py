"""The parser of the command line: a function per command, which names the function that answers it."""

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

from binwright.analysis.figures import VENUES
from binwright.simcore.errors import nearest, suggest
from binwright.simcore.removed import removed

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

    def parse_args(self, arguments: Sequence[str] | None = None) -> argparse.Namespace:  # type: ignore[override]  # takes no namespace
        """Parse arguments; ends with an error of the command where there are some too many."""
        args, unknown = self.parse_known_args(arguments)
        if unknown:
            of: _Parser = args.parser
            word = unknown[0].partition("=")[0]
            near = nearest(word, of.options) if word.startswith("-") else None
            gone = f"option {of.prog.partition(' ')[2]} {word}"
            remedy = removed().get(gone, f"Did you mean {near!r}?" if near else "")
            of.error(f"there is no such option or argument: {' '.join(unknown)}" + f"\n  {remedy}" * bool(remedy))
        return args

    def error(self, message: str) -> NoReturn:
        """Say what is wrong as all mistakes are said, and end."""
        self.exit(2, f"{self.prog}: {message}\n  Options and arguments: {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            words = " ".join([*self.prog.split()[1:], value])
            remedy = removed().get(f"command {words}") or suggest(value, action.choices, "`binwright --help`")
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
    text = f"{help} (default: {default})" if default is not None else help
    return _option(name, type=int, metavar="N", default=default, help=text)


def _out(help: str, metavar: str = "DIR", **how: Any) -> Option:
    return _option("--out", help=help, metavar=metavar, **how)


SCENARIO = "a scenario file, or the name of a shipped one (quickstart)"
FILE = _option("file", metavar="FILE", help=SCENARIO)
FILES = _option("files", nargs="+", metavar="FILE", help=SCENARIO)
FOLDER = _option("results", metavar="RESULTS", help="a folder that runs wrote")
FOLDERS = _option("results", nargs="+", metavar="RESULTS", help="folders that runs wrote")
SETS = _several("--set", "sets", "KEY=VALUE", "change a value")
AGENTS = _option("--agents", help="these, or labels of the scenario's, with commas between; files as from this folder")
SEEDS = _number("--seeds", "how many seeds, instead of the scenario's replications")
JOBS = _number("--jobs", "runs at a time (default: one per CPU)")
FRESH = _flag("--fresh", "begin again, whatever the folder has already")
METRIC = _option("--metric", default="acceptance", help="whose mean counts (default: acceptance)")
METRICS = _several("--metric", "metrics", "NAME", "only these metrics")
BASELINE = _option("--baseline", metavar="AGENT", help="what the others are compared with (default: the first)")
JSON = _flag("--json", "print all of it as JSON")


COMMANDS: Sequence[tuple[str, str, str, Sequence[Option]]] = (
    ("run", "running.run", "run scenarios, print their tables, write results and figures", (
        FILES, SETS, AGENTS, SEEDS,
        _out("folder of the results (default: results/NAME); of several files OUT/NAME"),
        JOBS, FRESH,
        _option("--on", default="local", help="where runs are done: local (default), ray, or ray://HOST:PORT"),
        _flag("--dry-run", "say what would run, and run nothing"),
    )),
    ("compare", "results.compare", "agents beside a baseline: by how much, and can the seeds tell", (
        FOLDERS, BASELINE, METRICS,
        _flag("--all", "print all metrics, not the headlines alone"),
        _out("the file to write, of all metrics: .md, .csv or .tex", "FILE"),
    )),
    ("report", "results.report", "one HTML file: answer, tables, figures and failures", (
        FOLDER, _out("the file to write (default: RESULTS/report.html)", "FILE"),
    )),
    ("init", "traces.init", "write a first scenario, for requests of a file or generated ones", (
        _option("--requests", metavar="FILE", help="a CSV or Parquet file, or a trace (default: those of `first`)"),
        _number("--servers", "how many (default: 20, or enough for FILE)"),
        _option("--node", metavar="AMOUNTS", help='what each has: "cpu: 64, mem: 256 GB" (default: that)'),
        _out("the scenario to write (default: first.yaml)", "FILE", default="first.yaml"),
    )),
    ("size", "sizing.size", "how many servers each agent needs until a metric meets a target", (
        FILE,
        _option("--until", metavar="TARGET", action="append", help='as in "wait_p95 <= 10 min"; given again, all '
                'must be met (default: what `size` in the scenario says, or "acceptance >= 99 %%")'),
        AGENTS, SEEDS, SETS, JOBS,
        _out("folder of the answer and the runs (default: results/NAME/size)"),
    )),
    ("solve", "solving.solve", "solve an allocation problem written as balls, bins and resources", (
        _option("file", help="a specification (*.alloc), or the name of a shipped one (vm-placement)"),
        _flag("--check", "compile only; print what is proven, and the step bound"),
        _option("--explain", metavar="ANSWER", help="why a ball of this answer of --json is where it is"),
        _several("--ball", "balls", "BALL", "with --explain: what keeps this ball out of every bin"),
        _option("--device", default="cpu", help="cpu (all cores, the default) or opencl"),
        _option("--time", default="10s", help="the search ends after this long (default: 10s)"),
        _several("--set", "sets", "PARAM=NUMBER", "change a PARAM"),
        _option("--from", dest="now", metavar="FILE", help="where balls are now: an answer of --json, or a CSV "
                "file with columns ball and bin"),
        _number("--moves", "so many balls may leave the bin that they are in now"),
        _option("--drain", metavar="BINS", help="these bins are to be empty: numbers or names"),
        JSON,
    )),
    ("validate", "running.validate", "check scenario files", (FILES, SETS)),
    ("reproduce", "results.reproduce", "every published number beside ours, with a verdict", (
        _option("publications", nargs="+", metavar="PUBLICATION",
                help="one or more of nara, cvd-rl, wrasse, spane, fgd, rlscheduler, funsearch, adrs, or all"),
        _several("--table", "tables", "TABLE", "only this published table, as it is numbered, and no figures"),
        _flag("--quick", "fewer seeds and less time: what will probably come out, in minutes"),
        _out("folder of the runs, values and pages (default: results/reproduce)"),
        JOBS,
        _flag("--dry-run", "say what would run, and run nothing"),
    )),
    ("why", "why.why", "what a run refused and why; what servers lacked for a request", (
        FOLDER,
        _option("--request", metavar="ID", help="the request to look at, by its id, or as 'row 12'"),
        _option("--agent", metavar="AGENT", help="whose run (default: the first agent's)"),
        _number("--seed", "of which seed (default: the first)"),
        _several("--point", "points", "KEY=VALUE", "at which point of a sweep"),
        _out("a CSV file with all kinds of requests, or of --request all servers", "FILE"),
    )),
    ("figures", "results.figures", "draw results: differences, sweeps, gains, servers over time", (
        FOLDERS,
        _several("--kind", "kinds", "KIND", "a name (`binwright list figures`), mine.py:my_figure, or all "
                 "(default: the four that answer what these results ask)"),
        _out("folder, or the file of a single figure (default: RESULTS/figures)", "PATH"),
        METRICS, BASELINE,
        _option("--agents", help="only these, with commas between"),
        _several("--where", "where", "KEY=VALUE", "only these points, or seed=N"),
        _option("--x", metavar="KEY", help="the swept key to draw or rank over"),
        _option("--style", choices=VENUES, help="of a venue, in place of what `figures` in the scenario says"),
    )),
    ("traces describe", "traces.describe", "what a trace's file holds; --fit: a generator like it", (
        _option("file", help="a CSV or Parquet file, or the name of a trace"),
        _flag("--fit", "fit a generator: print the scenario, or write it to --out"),
        _out("write a scenario that reads it so, or --fit's", "FILE"),
    )),
    ("train", "training.train", "train an agent as the scenario's `train:` says", (
        FILE, SETS, JOBS, FRESH,
        _out("folder of logs and weights (default: results/NAME/training)"),
    )),
    ("tune", "learning.tune", "find the numeric options with which an agent does best", (
        FILE,
        _option("--agent", required=True, help="best-home, or with options that stay: '{best-home: {cut_off: 1}}'"),
        _several("--param", "params", "OPTION=RANGE", "what is searched, as in stranded=0..2"),
        METRIC,
        _number("--rounds", "rounds", 20),
        _number("--population", "candidates in a round", 16),
        _number("--seeds", "that each of them is tried on", 8),
        _number("--held-out", "seeds at the end", 100),
        SETS, JOBS,
        _out("folder of the answer, the log and the runs (default: results/NAME/tuning)"),
    )),
    ("search", "learning.search", "find a rule of placement: a race of random formulas", (
        FILE, SETS, METRIC, JOBS,
        _number("--evaluations", "plays of a rule on a seed, in whole races", 100_000),
        _out("folder of what is found (default: results/NAME/search)"),
    )),
    ("evaluate", "learning.evaluate", "score a rule that somebody, or a program, proposes", (
        _option("policy", metavar="POLICY", help="an expression, FILE.py:function (default: score), or an agent as "
                "in a scenario; text is a formula, never run; one that begins with a minus stands last, after --"),
        _option("--scenario", required=True, metavar="FILE", help=SCENARIO),
        METRIC, SETS, JSON,
        _number("--seeds", "seeds", 20),
    )),
    ("pack", "packing.pack", "pack machines, all known at once, onto few servers", (
        _option("input", metavar="INPUT", help="a name (pgrank, binpack1, ...: page 'Offline placement'), or "
                "a file (.csv, .txt, .bpp)"),
        _option("--with", dest="methods", metavar="NAMES", help="with commas between: ffd-prod,dot-product,norm-greedy,"
                "published,solver (default: all)"),
        _option("--time", default="10s", help="for each search (default: 10s)"),
        _number("--seed", "of a generated input", 1),
        _option("--server", metavar="CAPACITY", help="what a server has of a CSV file's columns: cpu=8,mem=16"),
        JSON,
        _out("write the placements (.csv)", "FILE"),
    )),
    ("serve", "solving.serve", "the solver as a web service, with a page to try it on", (
        _option("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)"),
        _number("--port", "0 is any free one", 8000),
        _option("--data", default="service", metavar="DIR", help="folder of the jobs (default: service)"),
        _number("--workers", "jobs at a time (default: one per CPU)"),
        _option("--token-file", metavar="F", help="tokens, one per line: requests without one are refused"),
        _several("--limit", "limits", "NAME=NUMBER", "change a limit (memory=2e9)"),
    )),
    ("list", "catalogue.list_kind", "what there is to choose from: agents, scenarios, ...", (
        _option("kind", nargs="?", metavar="KIND", choices=KINDS, help=f"one of {', '.join(KINDS)} (default: these)"),
        _option("name", nargs="?", metavar="NAME", help="with agents: an agent; with topology: a network"),
    )),
    ("agents check", "catalogue.check", "play an agent in small worlds, and say what it does wrong", (
        _option("agent", metavar="AGENT", help="mine.py:Mine, a registered name, or with options: "
                "'{mine.py:Mine: {skip: 2}}'"),
    )),
)  # fmt: skip
"""The commands in the order of `--help`: name, function below `binwright.commands`, purpose, options."""
ABOVE = {"traces": "look into traces of requests", "agents": "check an agent of your own"}
"""Commands that have others below them."""


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
            below = every[-1].add_subparsers(metavar=action, dest="action", required=True)
        command = below.add_parser(action or above, help=purpose, description=f"{name}: {purpose}.")
        command.set_defaults(answer=answer)
        for names, how in options:
            command.add_argument(*names, **how)
        every.append(command)
    for each in every:
        meaning = "no progress, and no notes beside the answer"
        each.add_argument("-q", "--quiet", action="store_true", default=argparse.SUPPRESS, help=meaning)
    top.set_defaults(quiet=False)
    return top
