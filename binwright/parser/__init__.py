"""The parser of the command line: a function per command, which names the function that answers it."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, NoReturn, TypeAlias

from binwright.parser.drafts import add_fit, add_init
from binwright.parser.drawing import add_figures
from binwright.parser.learning import add_evaluate, add_search, add_train, add_tune
from binwright.parser.options import add_heading, add_sets, add_several, add_where_runs
from binwright.parser.solver import add_explain, add_jobs, add_pack, add_serve, add_solve
from binwright.simcore.errors import nearest, suggest
from binwright.simcore.removed import REMOVED

Commands: TypeAlias = "argparse._SubParsersAction[_Parser]"


class _Parser(argparse.ArgumentParser):
    """Suggests a command or an option where an unknown one is asked for."""

    takes_expressions = False
    """Whether a word such as -free_cpu is an expression, and not an option."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "allow_abbrev": False})

    def parse_args(self, arguments: Sequence[str] | None = None) -> argparse.Namespace:  # type: ignore[override]
        """Parse arguments; ends with an error, of the command that was asked for, where there are some too many."""
        asked, unknown = self.parse_known_args(arguments)
        if unknown:
            of = [one for words, _, one in every_command(self) if words[0] == asked.command] or [self]
            word = unknown[0].split("=")[0]
            near = nearest(word, sorted({option for one in of for option in one._option_string_actions}))
            meant = f"\n  Did you mean {near!r}?" if near and word.startswith("-") else ""
            meant = meant or _joined(sys.argv[1:] if arguments is None else arguments, word)
            of[0].error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
        return asked

    def format_help(self) -> str:
        """Write the help; that of all commands has them in groups, a line each."""
        if self.prog != "binwright":
            return super().format_help()
        said = {words[0]: purpose for words, purpose, _ in every_command(self) if len(words) == 1}
        names, lines = iter(said), [f"usage: {self.prog} [-q | -v] COMMAND ...", "", self.description or ""]
        for group, adds in GROUPS.items():
            lines += ["", group]
            lines += [f"  {name:<12}{said[name]}" for name in islice(names, len(adds))]
        how = ("-q", "no progress, and no notes"), ("-v", "say what is done"), ("--version", "print the version")
        lines += ["", "Options", *(f"  {option:<12}{what}" for option, what in how)]
        return "\n".join([*lines, "", "Options of a command: binwright help COMMAND", ""])

    def error(self, message: str) -> NoReturn:
        """Say what is wrong as all mistakes are said, and end."""
        self.exit(2, f"{self.prog}: {in_words(message)}\n  Options and arguments: {_help_of(self.prog)}\n")

    def _parse_optional(self, arg_string: str) -> Any:
        known = arg_string in self._option_string_actions
        if self.takes_expressions and not known and re.match("-[^-]", arg_string):
            return None
        return super()._parse_optional(arg_string)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            remedy = suggest(value, action.choices, "`binwright help`")
            if len(action.choices) == 1 and not nearest(value, action.choices):
                remedy = f"Did you mean `{self.prog} {next(iter(action.choices))} {value}`?"
            if instead := REMOVED.get(f"command {value}"):
                raise argparse.ArgumentError(None, f"the command {value} is gone\n  {instead}")
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


def _help_of(prog: str) -> str:
    """Say how to ask for a command's help."""
    top, _, command = prog.partition(" ")
    return " ".join(filter(None, (top, "help", command)))


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
    for add in COMMANDS:
        add(commands)
    for one in (top, *(command for _, _, command in every_command(top))):
        how = one.add_mutually_exclusive_group()
        for letter, word, said in (
            ("-q", "--quiet", "no progress, and no notes beside the answer"),
            ("-v", "--verbose", "say what is done, and show where it failed"),
        ):
            how.add_argument(letter, word, action="store_true", default=argparse.SUPPRESS, help=said)
    top.set_defaults(quiet=False, verbose=False)
    return top


def every_command(above: argparse.ArgumentParser, *words: str) -> Iterator[tuple[tuple[str, ...], str, _Parser]]:
    """Yield every command below a parser: its words, what it is for, and its own parser."""
    for action in above._actions:
        if isinstance(action, argparse._SubParsersAction):
            said = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                yield (*words, name), said.get(name, ""), command
                yield from every_command(command, *words, name)


def _run(commands: Commands) -> None:
    run = commands.add_parser("run", help="run scenarios, print their tables, write results and figures")
    run.set_defaults(answer="running.run")
    run.add_argument("files", nargs="+", metavar="FILE", help="a scenario file, or a shipped one's name (quickstart)")
    add_sets(run)
    run.add_argument(
        "--agents",
        help="these agents instead of the scenario's, with commas between; files are relative to the working folder",
    )
    run.add_argument("--seeds", type=int, help="how many seeds, instead of the scenario's replications")
    run.add_argument("--out", help="folder of the results (default: results/NAME); of several files OUT/NAME")
    add_where_runs(run)
    run.add_argument(
        "--engine",
        default="auto",
        help="simpy, compiled, or auto (default): compiled where the scenario allows it, with the same results",
    )
    run.add_argument("--fresh", action="store_true", help="run again what the folder has already")
    run.add_argument("--dry-run", action="store_true", help="say what would run, and run nothing")


def _compare(commands: Commands) -> None:
    compare = commands.add_parser("compare", help="every agent beside a baseline: by how much, and can the seeds tell")
    compare.set_defaults(answer="comparing.compare")
    compare.add_argument("results", nargs="+", metavar="RESULTS", help="folders that runs wrote")
    compare.add_argument(
        "--baseline",
        metavar="AGENT",
        help="what the others are compared with; p-values are then corrected for these comparisons only (default: the "
        "first, and for every two agents)",
    )
    compare.add_argument("--since", metavar="RESULTS", help="earlier results: compare each agent with itself in them")
    add_several(compare, "--metric", "metrics", "NAME", "only these metrics")
    compare.add_argument(
        "--format", choices=("terminal", "markdown", "csv", "latex"), help="default: terminal, or as the file ends"
    )
    compare.add_argument("--out", metavar="FILE", help="the file to write: .md, .csv or .tex")
    add_heading(compare)
    add_several(
        compare,
        "--fail-if",
        "limits",
        "LIMIT",
        "exit with 1 if it holds for some agent: 'acceptance < -1 %%' of the baseline, 'wait_p95 > 10 min'",
    )


def _why(commands: Commands) -> None:
    why = commands.add_parser(
        "why",
        help="what a run refused and why; what servers lacked for a request",
        description="Play a run of some results again, and tell what it refused for which reason, or what every server "
        "had when one request came. Nothing has to be recorded for it.",
    )
    why.set_defaults(answer="why.why")
    why.add_argument("results", metavar="RESULTS", help="a folder that runs wrote")
    why.add_argument("--request", metavar="ID", help="the request to look at, by its id, or as 'row 12'")
    why.add_argument("--agent", metavar="AGENT", help="whose run (default: the first agent's)")
    why.add_argument("--seed", type=int, metavar="N", help="of which seed (default: the first)")
    add_several(why, "--point", "points", "KEY=VALUE", "at which point of a sweep")
    why.add_argument("--out", metavar="FILE", help="a CSV file with all kinds of requests, or of --request all servers")


def _report(commands: Commands) -> None:
    report = commands.add_parser("report", help="one HTML file: answer, tables, figures and failures")
    report.set_defaults(answer="reporting.report")
    report.add_argument("results", metavar="RESULTS", help="a folder that runs wrote")
    report.add_argument("--out", metavar="FILE", help="the file to write (default: RESULTS/report.html)")
    report.add_argument("--open", action="store_true", help="open it in the browser")
    add_heading(report)


def _reproduce(commands: Commands) -> None:
    reproduce = commands.add_parser("reproduce", help="every published number beside ours, with a verdict")
    reproduce.set_defaults(answer="reproducing.reproduce")
    reproduce.add_argument(
        "publications",
        nargs="+",
        metavar="PUBLICATION",
        help="one or more of nara, cvd-rl, wrasse, spane, fgd, rlscheduler, funsearch, or all",
    )
    reproduce.add_argument(
        "--quick", action="store_true", help="fewer seeds and less time: what will probably come out, in minutes"
    )
    reproduce.add_argument("--out", metavar="DIR", help="folder of results and values (default: results/reproduce)")
    reproduce.add_argument(
        "--pages", metavar="DIR", help="folder of the pages with the tables (default: that of --out)"
    )
    reproduce.add_argument(
        "--weights", metavar="DIR", help="the weights that nara's authors published: rows of their own beside ours"
    )
    reproduce.add_argument("--jobs", type=int, metavar="N", help="runs at a time (default: one per CPU)")
    reproduce.add_argument("--dry-run", action="store_true", help="say what would run, and how long, and run nothing")


def _size(commands: Commands) -> None:
    size = commands.add_parser(
        "size",
        help="how many servers each agent needs until a metric meets a target",
        description="Find for every agent the smallest number of servers with which the mean of a metric over the "
        "seeds meets a target. The same command goes on from its folder after an interruption.",
    )
    size.set_defaults(answer="sizing.size")
    size.add_argument("file", metavar="FILE", help="a scenario file, or the name of a shipped one (quickstart)")
    size.add_argument(
        "--until",
        metavar="TARGET",
        action="append",
        help='as in "wait_p95 <= 10 min"; given again, all must be met (default: what `size` in the scenario says, or '
        '"acceptance >= 99 %%")',
    )
    size.add_argument("--agents", help="these agents instead of the scenario's, with commas between")
    size.add_argument("--seeds", type=int, help="how many seeds, instead of the scenario's replications")
    add_sets(size)
    size.add_argument("--kind", metavar="GROUP", help="the group whose servers are counted, where there are several")
    size.add_argument(
        "--most", type=int, metavar="N", help="the most servers to try (default: a hundred times those there are)"
    )
    size.add_argument("--jobs", type=int, metavar="N", help="runs at a time (default: one per CPU)")
    size.add_argument("--out", metavar="DIR", help="folder of the answer and the runs (default: results/NAME/size)")


def _validate(commands: Commands) -> None:
    validate = commands.add_parser("validate", help="check scenario files")
    validate.set_defaults(answer="running.validate")
    validate.add_argument("files", nargs="+", metavar="FILE", help="a scenario file, or a shipped one's name")
    add_sets(validate)


def _scenarios(commands: Commands) -> None:
    scenarios = commands.add_parser("scenarios", help="list the scenarios that are shipped, for run and others by name")
    scenarios.set_defaults(answer="catalogue.scenarios")


def _schema(commands: Commands) -> None:
    schema = commands.add_parser("schema", help="print the JSON schema of scenario files, for editors")
    schema.set_defaults(answer="running.schema")
    schema.add_argument("--out", metavar="FILE", help="write it there, and say the line that tells an editor of it")


def _agents(commands: Commands) -> None:
    agents = commands.add_parser("agents", help="list the agents, or check one of your own")
    agents.set_defaults(answer="catalogue.agents")
    agents.add_argument("--for", dest="scenario", metavar="FILE", help="only those that can run this scenario")
    add_sets(agents, "change a value of the scenario")
    check = agents.add_subparsers(metavar="COMMAND").add_parser(
        "check", help="play an agent in small worlds, and say what it does wrong"
    )
    check.set_defaults(answer="catalogue.check")
    check.add_argument(
        "agent", metavar="AGENT", help="mine.py:Mine, a registered name, or with options: '{mine.py:Mine: {skip: 2}}'"
    )


def _movers(commands: Commands) -> None:
    movers = commands.add_parser("movers", help="list the movers, which plan migrations of running requests")
    movers.set_defaults(answer="catalogue.movers")


def _workloads(commands: Commands) -> None:
    workloads = commands.add_parser("workloads", help="list traces, arrivals, lifetimes and demands, or draw demands")
    workloads.set_defaults(answer="catalogue.workloads")
    workloads.add_argument("demands", nargs="*", metavar="DEMAND", help="uniform, '{azure: {path: FILE}}', ... to draw")
    workloads.add_argument("--draw", metavar="FILE", help="draw the densities of these demands (PNG, SVG or PDF)")
    add_sets(workloads, "other keys of the workload")


def _topology(commands: Commands) -> None:
    topology = commands.add_parser("topology", help="a network: its tiers, oversubscription, and a drawing")
    topology.set_defaults(answer="catalogue.topology")
    topology.add_argument("name", help="alpha, beta, gamma, delta, fabric, fat-tree, tree, or a CSV or GraphML file")
    add_sets(topology, "its options", metavar="OPTION=VALUE")
    topology.add_argument("--parts", action="store_true", help="list every link and switch by number")
    topology.add_argument("--draw", metavar="FILE", help="draw it (PNG, SVG or PDF)")


def _traces(commands: Commands) -> None:
    traces = commands.add_parser("traces", help="look into traces of requests")
    actions = traces.add_subparsers(metavar="ACTION", dest="action", required=True)
    known = actions.add_parser("list", help="the known traces: whether they are here, and where to get them")
    known.set_defaults(answer="traces.list_known")
    describe = actions.add_parser(
        "describe",
        help="what a trace's file holds",
        description="Say what a trace's file holds. Of a table of your own, with columns of any names, it says which "
        "is probably what, in which unit, and why.",
    )
    describe.set_defaults(answer="traces.describe_file")
    describe.add_argument("--drop-faulty", action="store_true", help="leave out rows of a table that cannot be read")
    describe.add_argument("file", help="a CSV or Parquet file, a scenario that reads one, or the name of a trace")
    describe.add_argument("--out", metavar="FILE", help="write a scenario that reads it so")
    convert = actions.add_parser("convert", help="write a trace as Parquet")
    convert.set_defaults(answer="traces.convert_file")
    convert.add_argument("file", help="a file of any known format, or the name of a trace")
    convert.add_argument("--out", help="the file to write (default: the same name with .parquet)")


def _completion(commands: Commands) -> None:
    completion = commands.add_parser(
        "completion",
        help="a script that completes commands, options and files in your shell",
        description='Print a script for your shell. For bash: eval "$(binwright completion bash)" in ~/.bashrc.',
    )
    completion.set_defaults(answer="manual.completion")
    completion.add_argument("shell", choices=("bash", "zsh", "tcsh"))


def _help(commands: Commands) -> None:
    help = commands.add_parser("help", help="what a command is for, and its options: binwright help run")
    help.set_defaults(answer="manual.help")
    help.add_argument("words", nargs="*", metavar="COMMAND", help="the command (default: list all)")


GROUPS = {
    "First": (_run, _compare, _report, add_init, _size, add_solve),
    "Run": (_validate, _reproduce),
    "Understand": (_why, add_figures),
    "Plan": (add_pack, add_fit),
    "Learn": (add_train, add_tune, add_search, add_evaluate),
    "Solve": (add_explain, add_serve, add_jobs),
    "Look up": (_scenarios, _agents, _movers, _workloads, _topology, _traces, _schema, _completion, _help),
}
"""The commands in the order of `--help`, below what they are for."""
COMMANDS = tuple(chain.from_iterable(GROUPS.values()))
