"""The command line: parses, calls, prints. What it does can be done from Python in as few lines."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from simcore.errors import UserError

FAILED, MISTAKE, INTERRUPTED = 1, 2, 130
"""Exit codes: some run failed; the user has to mend something; Ctrl-C."""


def parser() -> argparse.ArgumentParser:
    """Every command, its options, and the function below `binwright.commands` that answers it."""
    top = argparse.ArgumentParser(prog="binwright", description="Which allocator is better, by how much, and why?")
    top.add_argument("--version", action="store_true", help="print the version")
    commands = top.add_subparsers(metavar="COMMAND", dest="command")

    run = commands.add_parser("run", help="run a scenario, print its table, write results and a figure")
    run.set_defaults(answer="running.run")
    run.add_argument("file", help="a scenario file, or the name of a shipped one (quickstart)")
    run.add_argument("--set", dest="sets", action="append", default=[], metavar="KEY=VALUE", help="change a value")
    run.add_argument("--agents", help="these agents instead of the scenario's, with commas between")
    run.add_argument("--seeds", type=int, help="how many seeds, instead of the scenario's replications")
    run.add_argument("--out", help="folder of the results (default: results/NAME)")
    run.add_argument("--fresh", action="store_true", help="run again what the folder has already")
    run.add_argument("--dry-run", action="store_true", help="say what would run, and run nothing")

    validate = commands.add_parser("validate", help="check scenario files")
    validate.set_defaults(answer="running.validate")
    validate.add_argument("files", nargs="+", metavar="FILE")
    schema = commands.add_parser("schema", help="print the JSON schema of scenario files, for editors")
    schema.set_defaults(answer="running.schema")
    agents = commands.add_parser("agents", help="list the agents")
    agents.set_defaults(answer="catalogue.agents")
    workloads = commands.add_parser("workloads", help="list traces, arrivals and lifetimes")
    workloads.set_defaults(answer="catalogue.workloads")

    topology = commands.add_parser("topology", help="a network: its tiers, oversubscription, and a drawing")
    topology.set_defaults(answer="catalogue.topology")
    topology.add_argument("name", help="alpha, beta, gamma, delta, fabric, fat-tree, tree, or a CSV or GraphML file")
    topology.add_argument("--set", dest="sets", action="append", default=[], metavar="OPTION=VALUE", help="its options")
    topology.add_argument("--parts", action="store_true", help="list every link and switch by number")
    topology.add_argument("--draw", metavar="FILE", help="draw it (PNG, SVG or PDF)")

    traces = commands.add_parser("traces", help="look into traces of requests")
    actions = traces.add_subparsers(metavar="ACTION", dest="action", required=True)
    known = actions.add_parser("list", help="the known traces: whether they are here, and where to get them")
    known.set_defaults(answer="traces.list_known")
    describe = actions.add_parser("describe", help="what a trace's file holds")
    describe.set_defaults(answer="traces.describe_file")
    describe.add_argument("file", help="a file of any known format, or the name of a trace")
    convert = actions.add_parser("convert", help="write a trace as Parquet")
    convert.set_defaults(answer="traces.convert_file")
    convert.add_argument("file", help="a file of any known format, or the name of a trace")
    convert.add_argument("--out", help="the file to write (default: the same name with .parquet)")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer a command; returns the exit code."""
    top = parser()
    asked = top.parse_args(arguments)
    if asked.version:
        from importlib.metadata import version

        print(f"binwright {version('binwright')}")
        return 0
    if asked.command is None:
        top.print_help()
        return MISTAKE
    module, _, function = asked.answer.partition(".")
    try:
        code: int = getattr(import_module(f"binwright.commands.{module}"), function)(asked)
    except UserError as error:
        print(f"binwright: {error}", file=sys.stderr)
        return MISTAKE
    except KeyboardInterrupt:
        print("binwright: interrupted; the same command goes on from here", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output went away, `| head` for one
        return 0
    return code


if __name__ == "__main__":
    sys.exit(main())
