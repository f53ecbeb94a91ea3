"""The parser of the command line: a function per command, which names the function that answers it."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, NoReturn, TypeAlias

from binwright.simcore.errors import nearest, suggest
from binwright.simcore.removed import REMOVED

Commands: TypeAlias = "argparse._SubParsersAction[_Parser]"
SCENARIO = "a scenario file, or the name of a shipped one (quickstart)"
KINDS = ("agents", "devices", "figures", "metrics", "movers", "scenarios", "schema", "topology", "traces", "workloads")
"""What `list` lists."""


class _Parser(argparse.ArgumentParser):
    """Suggests a command or an option where an unknown one is asked for; takes no abbreviated options."""

    takes_expressions = False
    """Whether a word such as -free_cpu is an expression, and not an option."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "allow_abbrev": False})

    def parse_args(self, arguments: Sequence[str] | None = None) -> argparse.Namespace:  # type: ignore[override]
        """Parse arguments; ends with an error, of the command that was asked for, where there are some too many."""
        args, unknown = self.parse_known_args(arguments)
        if unknown:
            of = [one for words, _, one in every_command(self) if words[0] == args.command] or [self]
            word = unknown[0].split("=")[0]
            near = nearest(word, sorted({option for one in of for option in one._option_string_actions}))
            meant = f"\n  Did you mean {near!r}?" if near and word.startswith("-") else ""
            meant = meant or _joined(sys.argv[1:] if arguments is None else arguments, word)
            of[0].error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
        return args

    def format_help(self) -> str:
        """Write the help; that of all commands has them in groups, a line each."""
        if self.prog != "binwright":
            return super().format_help()
        purposes = {words[0]: purpose for words, purpose, _ in every_command(self) if len(words) == 1}
        names, lines = iter(purposes), [f"usage: {self.prog} [-q | -v] COMMAND ...", "", self.description or ""]
        for group, adds in GROUPS.items():
            lines += ["", group]
            lines += [f"  {name:<12}{purposes[name]}" for name in islice(names, len(adds))]
        how = ("-q", "no progress, and no notes"), ("-v", "say what is done"), ("--version", "print the version")
        lines += ["", "Options", *(f"  {option:<12}{what}" for option, what in how)]
        return "\n".join([*lines, "", "Options of a command: binwright COMMAND --help", ""])

    def error(self, message: str) -> NoReturn:
        """Say what is wrong as all mistakes are said, and end."""
        self.exit(2, f"{self.prog}: {in_words(message)}\n  Options and arguments: {self.prog} --help\n")

    def _parse_optional(self, arg_string: str) -> Any:
        known = arg_string in self._option_string_actions
        if self.takes_expressions and not known and re.match("-[^-]", arg_string):
            return None
        return super()._parse_optional(arg_string)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            words = self.prog.partition(" ")[2]
            if instead := REMOVED.get(f"command {words} {value}".replace("  ", " ")):
                raise argparse.ArgumentError(None, f"the command {value} is gone\n  {instead}")
            remedy = suggest(value, action.choices, "`binwright --help`")
            if len(action.choices) == 1 and not nearest(value, action.choices):
                remedy = f"Did you mean `{self.prog} {next(iter(action.choices))} {value}`?"
                if value == "list":
                    remedy = f"Take `binwright list {words}`."
            raise argparse.ArgumentError(None, f"there is no command {value}\n  {remedy}")
        super()._check_value(action, value)


def _joined(arguments: Sequence[str], word: str) -> str:
    """Say how to write a list of which a part stands alone, behind a comma and a blank; empty if it is not so."""
    begin = at = arguments.index(word) if word in arguments else 0
    while begin and arguments[begin - 1].endswith(","):
        begin -= 1
    end = at + 1
    while end < len(arguments) and arguments[end - 1].endswith(","):
        end += 1
    option = arguments[begin - 1] if begin else ""
    if begin == at or not option.startswith("-"):
        return ""
    return f"\n  A list has no blanks, or quotes around it: {option} {''.join(arguments[begin:end])}"


_WORDS = (
    (r"invalid int value: (.*)", r"expected a whole number, got \1"),
    (r"invalid float value: (.*)", r"expected a number, got \1"),
    (r"invalid choice: (.*) \(choose from (.*)\)", r"expected one of \2, got \1"),
    (r"expected (?:one|at least one) arguments?", "has no value"),
    (r"ignored explicit argument (.*)", r"takes no value (got \1)"),
    (r"not allowed with argument (.*)", r"does not go with \1"),
)
"""What argparse says of an argument, and how we say it."""


def in_words(message: str) -> str:
    """Say a mistake that argparse has found in our words."""
    if required := re.fullmatch(r"the following arguments are required: (.*)", message):
        return f"{required[1]} {'are' if ', ' in required[1] else 'is'} missing"
    if unknown := re.match(r"unrecognized arguments: ", message):
        return f"there is no such option or argument: {message[unknown.end() :]}"
    name, _, rest = message.removeprefix("argument ").partition(": ")
    for theirs, ours in _WORDS:
        if match := re.fullmatch(theirs, rest):
            return f"{name.partition('/')[2] or name}: {match.expand(ours)}"
    return message


def parser() -> argparse.ArgumentParser:
    """Make the parser of every command, its options, and the function below `binwright.commands` that answers it."""
    top = _Parser(prog="binwright", description="Which allocator is better, by how much, and why?")
    top.add_argument("--version", action="store_true", help="print the version")
    commands = top.add_subparsers(metavar="COMMAND", dest="command")
    for add in chain.from_iterable(GROUPS.values()):
        add(commands)
    for one in (top, *(command for _, _, command in every_command(top))):
        how = one.add_mutually_exclusive_group()
        for letter, word, meaning in (
            ("-q", "--quiet", "no progress, and no notes beside the answer"),
            ("-v", "--verbose", "say what is done, and show where it failed"),
        ):
            how.add_argument(letter, word, action="store_true", default=argparse.SUPPRESS, help=meaning)
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


def _command(commands: Commands, name: str, answer: str, help: str, description: str | None = None) -> _Parser:
    command = commands.add_parser(name, help=help, description=description)
    command.set_defaults(answer=answer)
    return command


def _several(to: argparse.ArgumentParser, option: str, dest: str, metavar: str, help: str) -> None:
    """Add an option that may be given several times."""
    to.add_argument(option, dest=dest, action="append", default=[], metavar=metavar, help=help)


def _sets(to: argparse.ArgumentParser, help: str = "change a value", metavar: str = "KEY=VALUE") -> None:
    _several(to, "--set", "sets", metavar, help)


def _agents_and_seeds(to: argparse.ArgumentParser) -> None:
    help = "these agents instead of the scenario's, with commas between; files are relative to the working folder"
    to.add_argument("--agents", help=help)
    to.add_argument("--seeds", type=int, help="how many seeds, instead of the scenario's replications")


def _jobs(to: argparse.ArgumentParser, help: str = "runs at a time (default: one per CPU)") -> None:
    to.add_argument("--jobs", type=int, metavar="N", help=help)


def _on(to: argparse.ArgumentParser) -> None:
    to.add_argument("--on", default="local", help="where runs are done: local (default), ray, or ray://HOST:PORT")


def _fresh(to: argparse.ArgumentParser) -> None:
    to.add_argument("--fresh", action="store_true", help="begin again, whatever the folder has already")


def _numbers(to: argparse.ArgumentParser, **options: tuple[int, str]) -> None:
    """Add options that are whole numbers, by name: the default, and what the help says of it."""
    for name, (default, help) in options.items():
        option = f"--{name.replace('_', '-')}"
        to.add_argument(option, type=int, default=default, metavar="N", help=f"{help} (default: {default})")


def _run(commands: Commands) -> None:
    run = _command(commands, "run", "running.run", "run scenarios, print their tables, write results and figures")
    run.add_argument("files", nargs="+", metavar="FILE", help=SCENARIO)
    _sets(run)
    _agents_and_seeds(run)
    run.add_argument("--out", help="folder of the results (default: results/NAME); of several files OUT/NAME")
    _jobs(run)
    _on(run)
    help = "simpy, compiled, or auto (default): compiled where the scenario allows it, with the same results"
    run.add_argument("--engine", default="auto", help=help)
    _fresh(run)
    run.add_argument("--dry-run", action="store_true", help="say what would run, and run nothing")


def _compare(commands: Commands) -> None:
    purpose = "every agent beside a baseline: by how much, and can the seeds tell"
    compare = _command(commands, "compare", "comparing.compare", purpose)
    compare.add_argument("results", nargs="+", metavar="RESULTS", help="folders that runs wrote")
    compare.add_argument(
        "--baseline",
        metavar="AGENT",
        help="what the others are compared with; p-values are then corrected for these comparisons only (default: the "
        "first, and for every two agents)",
    )
    compare.add_argument("--since", metavar="RESULTS", help="earlier results: compare each agent with itself in them")
    _several(compare, "--metric", "metrics", "NAME", "only these metrics")
    forms = ("terminal", "markdown", "csv", "latex")
    compare.add_argument("--format", choices=forms, help="default: terminal, or as the file ends")
    compare.add_argument("--out", metavar="FILE", help="the file to write: .md, .csv or .tex")
    help = "exit with 1 if it holds for some agent: 'acceptance < -1 %%' of the baseline, 'wait_p95 > 10 min'"
    _several(compare, "--fail-if", "limits", "LIMIT", help)


def _report(commands: Commands) -> None:
    purpose = "one HTML file: answer, tables, figures and failures"
    report = _command(commands, "report", "reporting.report", purpose)
    report.add_argument("results", metavar="RESULTS", help="a folder that runs wrote")
    report.add_argument("--out", metavar="FILE", help="the file to write (default: RESULTS/report.html)")
    report.add_argument("--open", action="store_true", help="open it in the browser")


def _init(commands: Commands) -> None:
    init = _command(
        commands, "init", "drafting.init", "write a first scenario, from five answers",
        "Write a first scenario. On a terminal, what no option says is asked for; elsewhere it has its default.",
    )  # fmt: skip
    init.set_defaults(interrupted="Nothing is written.")
    requests = "a CSV or Parquet file, or a trace's name (default: generated)"
    init.add_argument("--requests", metavar="FILE", help=requests)
    init.add_argument("--servers", type=int, metavar="N", help="how many (default: 10, or enough for FILE)")
    init.add_argument("--node", metavar="AMOUNTS", help='what each has: "cpu: 64, mem: 256 GB" (default: that)')
    init.add_argument("--overflow", choices=("drop", "wait", "stop"), help="if a request fits nowhere (default: drop)")
    init.add_argument("--agents", help="with commas (default: first-fit,best-fit,worst-fit,dot-product)")
    init.add_argument("--out", default="first.yaml", metavar="FILE", help="the scenario to write (default: first.yaml)")


def _size(commands: Commands) -> None:
    size = _command(
        commands, "size", "sizing.size", "how many servers each agent needs until a metric meets a target",
        "Find for every agent the smallest number of servers with which the mean of a metric over the seeds meets a "
        "target. The same command goes on from its folder after an interruption.",
    )  # fmt: skip
    size.add_argument("file", metavar="FILE", help=SCENARIO)
    size.add_argument(
        "--until",
        metavar="TARGET",
        action="append",
        help='as in "wait_p95 <= 10 min"; given again, all must be met (default: what `size` in the scenario says, or '
        '"acceptance >= 99 %%")',
    )
    _agents_and_seeds(size)
    _sets(size)
    _jobs(size)
    size.add_argument("--out", metavar="DIR", help="folder of the answer and the runs (default: results/NAME/size)")


def _validate(commands: Commands) -> None:
    validate = _command(commands, "validate", "running.validate", "check scenario files")
    validate.add_argument("files", nargs="+", metavar="FILE", help=SCENARIO)
    _sets(validate)


def _reproduce(commands: Commands) -> None:
    purpose = "every published number beside ours, with a verdict"
    reproduce = _command(commands, "reproduce", "reproducing.reproduce", purpose)
    publications = "one or more of nara, cvd-rl, wrasse, spane, fgd, rlscheduler, funsearch, or all"
    reproduce.add_argument("publications", nargs="+", metavar="PUBLICATION", help=publications)
    quick = "fewer seeds and less time: what will probably come out, in minutes"
    reproduce.add_argument("--quick", action="store_true", help=quick)
    reproduce.add_argument("--out", metavar="DIR", help="folder of results and values (default: results/reproduce)")
    pages = "folder of the pages with the tables (default: that of --out)"
    reproduce.add_argument("--pages", metavar="DIR", help=pages)
    weights = "the weights that nara's authors published: rows of their own beside ours"
    reproduce.add_argument("--weights", metavar="DIR", help=weights)
    _jobs(reproduce)
    reproduce.add_argument("--dry-run", action="store_true", help="say what would run, and how long, and run nothing")


def _why(commands: Commands) -> None:
    why = _command(
        commands, "why", "why.why", "what a run refused and why; what servers lacked for a request",
        "Play a run of some results again, and tell what it refused for which reason, or what every server had when "
        "one request came. Nothing has to be recorded for it.",
    )  # fmt: skip
    why.add_argument("results", metavar="RESULTS", help="a folder that runs wrote")
    why.add_argument("--request", metavar="ID", help="the request to look at, by its id, or as 'row 12'")
    why.add_argument("--agent", metavar="AGENT", help="whose run (default: the first agent's)")
    why.add_argument("--seed", type=int, metavar="N", help="of which seed (default: the first)")
    _several(why, "--point", "points", "KEY=VALUE", "at which point of a sweep")
    why.add_argument("--out", metavar="FILE", help="a CSV file with all kinds of requests, or of --request all servers")


def _figures(commands: Commands) -> None:
    purpose = "draw results: differences, sweeps, gains, servers over time"
    figures = _command(
        commands, "figures", "drawing.figures", purpose,
        "Draw results. How figures look, and what they call things, `figures` and `headings` of the scenario say.",
    )  # fmt: skip
    figures.add_argument("results", nargs="+", metavar="RESULTS", help="folders that runs wrote; drawn together")
    kinds = "a name (`binwright list figures`), mine.py:my_figure, or all (default: the four that answer what these "
    _several(figures, "--kind", "kinds", "KIND", f"{kinds}results ask)")
    figures.add_argument("--out", help="folder, or the file of a single figure (default: RESULTS/figures)")
    _several(figures, "--metric", "metrics", "NAME", "only these")
    figures.add_argument("--agents", help="only these, with commas between")
    _several(figures, "--where", "where", "KEY=VALUE", "only these points, or seed=N")
    figures.add_argument("--x", metavar="KEY", help="the swept key to draw or rank over")
    moment = "the moment that a topology is drawn at (default: the busiest)"
    figures.add_argument("--at", metavar="TIME", help=moment)
    figures.add_argument("--baseline", metavar="AGENT", help="what the others are compared with (default: the first)")


def _traces(commands: Commands) -> None:
    traces = commands.add_parser("traces", help="look into traces of requests")
    actions = traces.add_subparsers(metavar="ACTION", dest="action", required=True)
    describe = _command(
        actions, "describe", "traces.describe", "what a trace's file holds; --fit: a generator like it",
        "Say what a trace's file holds. Of a table of your own, with columns of any names, it says which is probably "
        "what, in which unit, and why. With --fit, fit a generated workload to it: its most frequent demands, their "
        "lifetimes, and the rate of arrivals.",
    )  # fmt: skip
    describe.set_defaults(interrupted="Nothing is written.")
    describe.add_argument("file", help="a CSV or Parquet file, a scenario that reads one, or the name of a trace")
    describe.add_argument("--drop-faulty", action="store_true", help="leave out rows of a table that cannot be read")
    describe.add_argument(
        "--fit", action="store_true", help="fit a generator: print the scenario, or write it to --out"
    )
    _numbers(describe, flavours=(16, "different demands of --fit"))
    start = "--fit: to what comes from then on: a row, a time or a date (default: to all)"
    describe.add_argument("--start", help=start)
    describe.add_argument("--out", metavar="FILE", help="write a scenario that reads it so, or --fit's")


def _train(commands: Commands) -> None:
    train = _command(
        commands, "train", "training.train", "train an agent as the scenario's `train:` says",
        "Teach an agent what a scenario's `train:` says. The same command goes on from its folder: after an "
        "interruption, or with more iterations.",
    )  # fmt: skip
    train.add_argument("file", help="a scenario file, or the name of a shipped one (nara/train-alpha)")
    _sets(train)
    train.add_argument("--out", help="folder of logs and weights (default: results/NAME/training)")
    _jobs(train, "seeds and settings at a time (default: one per CPU)")
    _fresh(train)
    train.add_argument("--dry-run", action="store_true", help="say what the training will cost, and write nothing")


def _tune(commands: Commands) -> None:
    tune = _command(commands, "tune", "tuning.tune", "find the numeric options with which an agent does best")
    tune.add_argument("file", metavar="FILE", help="a scenario file, or the name of a shipped one (nara/table1)")
    tune.add_argument("--agent", required=True, help="best-home, or with options that stay: '{best-home: {links: 2}}'")
    ranges = "what is searched, as in stranded=0..2, or penalty=0.01..1:log for what varies by orders of magnitude"
    _several(tune, "--param", "params", "OPTION=RANGE", ranges)
    tune.add_argument("--metric", default="acceptance", help="of which the best mean is searched (default: acceptance)")
    _numbers(
        tune,
        rounds=(20, "rounds"),
        population=(16, "candidates in a round"),
        seeds=(8, "that each of them is tried on"),
        held_out=(100, "seeds at the end"),
        seed=(0, "of the search itself"),
    )
    _sets(tune)
    _jobs(tune)
    _on(tune)
    tune.add_argument("--out", help="folder of the answer, the log and the runs (default: results/NAME/tuning)")


def _search(commands: Commands) -> None:
    search = _command(
        commands, "search", "searching.search", "find a rule of placement: a race of random formulas",
        "Find a formula that places better than the heuristics do, and say what it is worth on seeds that the search "
        "never met. The same command goes on from its folder: after an interruption, or with more time.",
    )  # fmt: skip
    search.add_argument("file", metavar="FILE", help=SCENARIO)
    _sets(search)
    search.add_argument("--metric", default="acceptance", help="its best mean is searched (default: acceptance)")
    search.add_argument("--evaluations", type=int, metavar="N", help="plays of a rule on a seed (default: 100,000)")
    search.add_argument("--minutes", type=float, metavar="M", help="of playing, instead of or beside --evaluations")
    _numbers(
        search,
        seeds=(200, "of the search"),
        validation=(400, "seeds of the choice"),
        test=(100, "seeds of the last table"),
        seed=(0, "of the search itself"),
    )
    _jobs(search, "plays at a time (default: one per CPU)")
    search.add_argument("--out", help="folder of what is found and of the journal (default: results/NAME/search)")
    _fresh(search)


def _evaluate(commands: Commands) -> None:
    evaluate = _command(
        commands, "evaluate", "evaluating.evaluate", "score a rule that somebody, or a program, proposes",
        "Score a policy beside a baseline on the same seeds, in memory. Source of a file is not trusted: it is played "
        "with limits, and never imported.",
    )  # fmt: skip
    evaluate.takes_expressions = True
    policy = "an expression, FILE.py:function (default: score), or an agent as in a scenario"
    evaluate.add_argument("policy", metavar="POLICY", help=policy)
    evaluate.add_argument("--scenario", required=True, metavar="FILE", help=SCENARIO)
    evaluate.add_argument("--metric", default="acceptance", help="what is scored (default: acceptance)")
    evaluate.add_argument("--baseline", metavar="POLICY", help="what it is compared with (default: the first agent)")
    _numbers(evaluate, seeds=(20, "seeds"))
    sets = ("search", "validation", "test")
    evaluate.add_argument("--on", choices=sets, default="search", help="which seeds (default: search)")
    evaluate.add_argument("--seconds", type=float, default=10.0, metavar="S", help="limit of a function (default: 10)")
    evaluate.add_argument("--memory", type=int, default=512, metavar="MB", help="limit of a function (default: 512)")
    evaluate.add_argument("--json", action="store_true", help="print all of it as JSON")
    _sets(evaluate)


def _solve(commands: Commands) -> None:
    purpose = "solve an allocation problem written as balls, bins and resources"
    solve = _command(commands, "solve", "solving.solve", purpose)
    solve.add_argument("file", help="a specification (*.alloc), or the name of a shipped one (vm-placement)")
    solve.add_argument("--check", action="store_true", help="compile only; print what is proven, and the step bound")
    explain = "say what this answer, as --json or --csv, uses, and why a ball is where it is; solve nothing"
    solve.add_argument("--explain", metavar="ANSWER", help=explain)
    ball = "with --explain: what stands in the way of this ball (a number or a name) in every bin"
    _several(solve, "--ball", "balls", "BALL", ball)
    device = "cpu (all cores, the default), opencl, opencl:N, several as opencl:0,2-3, or reference"
    solve.add_argument("--device", default="cpu", help=device)
    solve.add_argument("--search", default="ours", help="ours (the default), or published")
    solve.add_argument("--time", default="10s", help="the search ends after this long (default: 10s)")
    solve.add_argument("--seed", type=int, default=0, help="of the random orders (default: 0)")
    _sets(solve, "change a PARAM", metavar="PARAM=NUMBER")
    solve.add_argument("--from", dest="now", metavar="FILE", help="where balls are now: an answer as --json or --csv")
    solve.add_argument("--moves", type=int, metavar="N", help="so many balls may leave the bin that they are in now")
    solve.add_argument("--drain", metavar="BINS", help="these bins are to be empty: 3,5-7, or names")
    solve.add_argument("--server", metavar="URL", help="let this service solve it (binwright serve)")
    solve.add_argument("--token-file", metavar="F", help="the service's token")
    shapes = solve.add_mutually_exclusive_group()
    shapes.add_argument("--json", action="store_true", help="print the answer as JSON")
    shapes.add_argument("--csv", action="store_true", help="print the answer as CSV: ball, bin")


def _serve(commands: Commands) -> None:
    serve = _command(commands, "serve", "serving.serve", "the solver as a web service, with a page to try it on")
    host = "address to listen on (default: 127.0.0.1, this machine only)"
    serve.add_argument("--host", default="127.0.0.1", help=host)
    serve.add_argument("--port", type=int, default=8000, help="default: 8000; 0 is any free one")
    serve.add_argument("--data", default="service", metavar="DIR", help="folder of the jobs (default: service)")
    serve.add_argument("--workers", type=int, metavar="N", help="jobs at a time (default: one per CPU)")
    device = "jobs may ask for these OpenCL devices, too: opencl, opencl:1, opencl:0,2-3"
    serve.add_argument("--device", metavar="D", help=device)
    serve.add_argument("--token-file", metavar="F", help="tokens, one per line: requests without one are refused")
    _several(serve, "--limit", "limits", "NAME=NUMBER", "change a limit (memory=2e9)")


def _pack(commands: Commands) -> None:
    pack = _command(commands, "pack", "packing.pack", "pack machines, all known at once, onto few servers")
    source = "a name (pgrank, ct1, u120, t60, ...: page 'Offline placement'), or a file (.csv, .txt, .bpp, .vbp)"
    pack.add_argument("input", metavar="INPUT", help=source)
    methods = "with commas between: ffd-prod,bfd-sum,dot-product,norm-greedy,published,solver (default: all)"
    pack.add_argument("--with", dest="methods", metavar="NAMES", help=methods)
    pack.add_argument("--time", default="10s", help="for each search (default: 10s)")
    pack.add_argument("--seed", type=int, help="of a generated input (default: 1)")
    pack.add_argument("--seeds", type=int, default=1, help="how often each search runs, with seeds 0, 1, ...")
    pack.add_argument("--count", type=int, help="machines of ct1 to ct10 and planted (default: 200)")
    pack.add_argument("--instance", metavar="NAME", help="which one of a file with several instances")
    pack.add_argument("--server", metavar="CAPACITY", help="what a server has of a CSV file's columns: cpu=8,mem=16")
    pack.add_argument("--json", action="store_true", help="print the table as JSON")
    pack.add_argument("--out", metavar="FILE", help="write the placements (.csv or .json)")
    pack.add_argument("--figure", metavar="FILE", help="draw the servers over time (.png, .svg or .pdf)")


def _list(commands: Commands) -> None:
    names = f"{', '.join(KINDS[:-1])} or {KINDS[-1]}"
    listing = _command(commands, "list", "catalogue.list_kind", "what there is to choose from: agents, scenarios, ...")
    listing.add_argument("kind", metavar="KIND", choices=KINDS, help=names)
    name = "with agents: only those that can run this scenario; with topology: a network, or a CSV or GraphML file"
    listing.add_argument("name", nargs="?", metavar="NAME", help=name)


def _agents(commands: Commands) -> None:
    agents = commands.add_parser("agents", help="check an agent of your own")
    actions = agents.add_subparsers(metavar="ACTION", dest="action", required=True)
    purpose = "play an agent in small worlds, and say what it does wrong"
    check = _command(actions, "check", "catalogue.check", purpose)
    agent = "mine.py:Mine, a registered name, or with options: '{mine.py:Mine: {skip: 2}}'"
    check.add_argument("agent", metavar="AGENT", help=agent)


GROUPS = {
    "First": (_run, _compare, _report, _init, _size, _solve),
    "Run": (_validate, _reproduce),
    "Understand": (_why, _figures, _traces),
    "Learn": (_train, _tune, _search, _evaluate),
    "Solve": (_pack, _serve),
    "Look up": (_list, _agents),
}
"""The commands in the order of `--help`, below what they are for."""
