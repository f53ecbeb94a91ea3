"""The command line: parses, calls, prints. What it does can be done from Python in as few lines."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from io import TextIOWrapper
from tempfile import NamedTemporaryFile
from types import FrameType
from typing import TextIO

from simcore.errors import UserError

FAILED, MISTAKE, BUG, INTERRUPTED, TERMINATED = 1, 2, 70, 130, 143
"""Exit codes: some run failed; the user has to mend something; we have to; Ctrl-C; SIGTERM, of a batch system for one.
"""
ENDS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Terminated(KeyboardInterrupt):
    """SIGTERM came, or the terminal is gone (SIGHUP): whatever knows to end in order at Ctrl-C does so."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.code = 128 + number


def parser() -> argparse.ArgumentParser:
    """Every command, its options, and the function below `binwright.commands` that answers it."""
    top = argparse.ArgumentParser(prog="binwright", description="Which allocator is better, by how much, and why?")
    top.add_argument("--version", action="store_true", help="print the version")
    commands = top.add_subparsers(metavar="COMMAND", dest="command")

    run = commands.add_parser("run", help="run scenarios, print their tables, write results and figures")
    run.set_defaults(answer="running.run")
    run.add_argument("files", nargs="+", metavar="FILE", help="a scenario file, or a shipped one's name (quickstart)")
    run.add_argument("--set", dest="sets", action="append", default=[], metavar="KEY=VALUE", help="change a value")
    run.add_argument("--agents", help="these agents instead of the scenario's, with commas between")
    run.add_argument("--seeds", type=int, help="how many seeds, instead of the scenario's replications")
    run.add_argument("--out", help="folder of the results (default: results/NAME); of several files OUT/NAME")
    run.add_argument("--jobs", type=int, metavar="N", help="runs at a time (default: one per CPU)")
    run.add_argument("--on", default="local", help="where runs are done: local (default), ray, or ray://HOST:PORT")
    run.add_argument(
        "--engine",
        default="auto",
        help="simpy, compiled, or auto (default): compiled where the scenario allows it, with the same results",
    )
    run.add_argument("--fresh", action="store_true", help="run again what the folder has already")
    run.add_argument("--dry-run", action="store_true", help="say what would run, and run nothing")

    compare = commands.add_parser("compare", help="every agent beside a baseline: by how much, and can the seeds tell")
    compare.set_defaults(answer="comparing.compare")
    compare.add_argument("results", nargs="+", metavar="RESULTS", help="folders that runs wrote")
    compare.add_argument("--baseline", metavar="AGENT", help="what the others are compared with (default: the first)")
    compare.add_argument(
        "--metric", dest="metrics", action="append", default=[], metavar="NAME", help="only these metrics"
    )
    compare.add_argument(
        "--format", choices=("terminal", "markdown", "csv", "latex"), help="default: terminal, or as the file ends"
    )
    compare.add_argument("--out", metavar="FILE", help="the file to write: .md, .csv or .tex")

    report = commands.add_parser("report", help="one HTML file: answer, tables, figures, failures and a replay")
    report.set_defaults(answer="reporting.report")
    report.add_argument("results", metavar="RESULTS", help="a folder that runs wrote")
    report.add_argument("--out", metavar="FILE", help="the file to write (default: RESULTS/report.html)")
    report.add_argument("--open", action="store_true", help="open it in the browser")

    train = commands.add_parser(
        "train",
        help="teach an agent what a scenario's `train:` says",
        description="Teach an agent what a scenario's `train:` says. The same command goes on from its folder: after "
        "an interruption, or with more iterations.",
    )
    train.set_defaults(answer="training.train")
    train.add_argument("file", help="a scenario file, or the name of a shipped one (nara/train-alpha)")
    train.add_argument("--set", dest="sets", action="append", default=[], metavar="KEY=VALUE", help="change a value")
    train.add_argument("--out", help="folder of logs and weights (default: results/NAME/training)")
    train.add_argument("--fresh", action="store_true", help="begin again, whatever the folder has already")

    tune = commands.add_parser("tune", help="find the numeric options with which an agent does best in a scenario")
    tune.set_defaults(answer="tuning.tune")
    tune.add_argument("file", metavar="FILE", help="a scenario file, or the name of a shipped one (nara/table1)")
    tune.add_argument("--agent", required=True, help="best-home, or with options that stay: '{best-home: {links: 2}}'")
    tune.add_argument(
        "--param",
        dest="params",
        action="append",
        default=[],
        metavar="OPTION=RANGE",
        help="what is searched, as in stranded=0..2, or penalty=0.01..1:log for what varies by orders of magnitude",
    )
    tune.add_argument("--metric", default="acceptance", help="of which the best mean is searched (default: acceptance)")
    tune.add_argument("--rounds", type=int, default=20, metavar="N", help="default: 20")
    tune.add_argument("--population", type=int, default=16, metavar="N", help="candidates in a round (default: 16)")
    tune.add_argument("--seeds", type=int, default=8, metavar="N", help="that each of them is tried on (default: 8)")
    tune.add_argument("--held-out", type=int, default=100, metavar="N", help="seeds at the end (default: 100)")
    tune.add_argument("--seed", type=int, default=0, metavar="N", help="of the search itself (default: 0)")
    tune.add_argument("--set", dest="sets", action="append", default=[], metavar="KEY=VALUE", help="change a value")
    tune.add_argument("--jobs", type=int, metavar="N", help="runs at a time (default: one per CPU)")
    tune.add_argument("--out", help="folder of the answer, the log and the runs (default: results/NAME/tuning)")

    figures = commands.add_parser("figures", help="draw results: bars, timelines, sweeps, spread, ranks and more")
    figures.set_defaults(answer="drawing.figures")
    figures.add_argument("results", nargs="*", metavar="RESULTS", help="folders that runs wrote; drawn together")
    figures.add_argument("--list", action="store_true", help="list the kinds of figures, and what each needs")
    figures.add_argument(
        "--kind",
        dest="kinds",
        action="append",
        default=[],
        metavar="KIND",
        help="a name, or mine.py:my_figure (default: all that can be drawn)",
    )
    figures.add_argument("--out", help="folder, or the file of a single figure (default: RESULTS/figures)")
    figures.add_argument("--format", choices=("png", "svg", "pdf"), help="default: png")
    figures.add_argument("--metric", dest="metrics", action="append", default=[], metavar="NAME", help="only these")
    figures.add_argument("--agents", help="only these, with commas between")
    figures.add_argument(
        "--where", action="append", default=[], metavar="KEY=VALUE", help="only these points, or seed=N"
    )
    figures.add_argument("--x", metavar="KEY", help="the swept key to draw over")
    figures.add_argument("--at", metavar="TIME", help="the moment that a topology is drawn at (default: the busiest)")
    figures.add_argument("--width", choices=("column", "page"), help="3.5 or 7.2 inches (default: as needed)")

    solve = commands.add_parser("solve", help="solve an allocation problem written as balls, bins and resources")
    solve.set_defaults(answer="solving.solve")
    solve.add_argument("file", nargs="?", help="a specification (*.alloc), or the name of a shipped one (vm-placement)")
    solve.add_argument("--check", action="store_true", help="compile only; print what is proven, and the step bound")
    solve.add_argument("--device", default="cpu", help="cpu (all cores, the default), opencl, opencl:N, or reference")
    solve.add_argument("--devices", action="store_true", help="list the OpenCL devices, and which can be used")
    solve.add_argument("--search", default="ours", help="ours (the default), or published")
    solve.add_argument("--time", default="10s", help="the search ends after this long (default: 10s)")
    solve.add_argument("--seed", type=int, default=0, help="of the random orders (default: 0)")
    solve.add_argument("--set", dest="sets", action="append", default=[], metavar="PARAM=NUMBER", help="change a PARAM")
    solve.add_argument("--server", metavar="URL", help="let this service solve it (binwright serve)")
    solve.add_argument("--token-file", metavar="F", help="the service's token")
    shapes = solve.add_mutually_exclusive_group()
    shapes.add_argument("--json", action="store_true", help="print the answer, or the list, as JSON")
    shapes.add_argument("--csv", action="store_true", help="print the answer as CSV: ball, bin")

    serve = commands.add_parser("serve", help="the solver as a web service, with a page to try it on")
    serve.set_defaults(answer="serving.serve")
    serve.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)"
    )
    serve.add_argument("--port", type=int, default=8000, help="default: 8000; 0 is any free one")
    serve.add_argument("--data", default="service", metavar="DIR", help="folder of the jobs (default: service)")
    serve.add_argument("--workers", type=int, metavar="N", help="jobs at a time (default: one per CPU)")
    serve.add_argument("--token-file", metavar="F", help="tokens, one per line: requests without one are refused")
    serve.add_argument(
        "--limit", dest="limits", action="append", default=[], metavar="NAME=NUMBER", help="change a limit (memory=2e9)"
    )

    pack = commands.add_parser("pack", help="put machines that are all known at once onto as few servers as possible")
    pack.set_defaults(answer="packing.pack")
    pack.add_argument("input", metavar="INPUT", help="pgrank, clkbot, imgproc, ct1 to ct8, planted, or a CSV file")
    pack.add_argument(
        "--with",
        dest="methods",
        default="ffd-prod,dot-product,norm-greedy,published,solver",
        metavar="NAMES",
        help="with commas between (default: %(default)s; more: z3,cp-sat)",
    )
    pack.add_argument("--time", default="10s", help="for each search and rival (default: 10s)")
    pack.add_argument("--seed", type=int, help="of a generated input (default: 1)")
    pack.add_argument("--seeds", type=int, default=1, help="how often each search runs, with seeds 0, 1, ...")
    pack.add_argument("--count", type=int, help="machines of ct1 to ct8 and planted (default: 200)")
    pack.add_argument("--server", metavar="CAPACITY", help="what a server has of a CSV file's columns: cpu=8,mem=16")
    pack.add_argument("--json", action="store_true", help="print the table as JSON")
    pack.add_argument("--out", metavar="FILE", help="write the placements (.csv or .json)")

    validate = commands.add_parser("validate", help="check scenario files")
    validate.set_defaults(answer="running.validate")
    validate.add_argument("files", nargs="+", metavar="FILE", help="a scenario file, or a shipped one's name")
    validate.add_argument("--set", dest="sets", action="append", default=[], metavar="KEY=VALUE", help="change a value")
    schema = commands.add_parser("schema", help="print the JSON schema of scenario files, for editors")
    schema.set_defaults(answer="running.schema")
    agents = commands.add_parser("agents", help="list the agents, or check one of your own")
    agents.set_defaults(answer="catalogue.agents")
    check = agents.add_subparsers(metavar="COMMAND").add_parser(
        "check", help="play an agent in small worlds, and say what it does wrong"
    )
    check.set_defaults(answer="catalogue.check")
    check.add_argument(
        "agent", metavar="AGENT", help="mine.py:Mine, a registered name, or with options: '{mine.py:Mine: {skip: 2}}'"
    )
    workloads = commands.add_parser("workloads", help="list traces, arrivals, lifetimes and demands, or draw demands")
    workloads.set_defaults(answer="catalogue.workloads")
    workloads.add_argument("demands", nargs="*", metavar="DEMAND", help="uniform, '{azure: {path: FILE}}', ... to draw")
    workloads.add_argument("--draw", metavar="FILE", help="draw the densities of these demands (PNG, SVG or PDF)")
    workloads.add_argument(
        "--set", dest="sets", action="append", default=[], metavar="KEY=VALUE", help="other keys of the workload"
    )

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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")  # a terminal that knows no ± shows ?
    top = parser()
    asked = top.parse_args(arguments)
    try:
        with _terminable():
            code = _answer(top, asked)
            sys.stdout.flush()
    except UserError as error:
        said, code = str(error), MISTAKE
    except KeyboardInterrupt as why:
        said = "Interrupted. Run the same command to resume."
        code = why.code if isinstance(why, Terminated) else INTERRUPTED
    except BrokenPipeError:
        _without(sys.stdout)  # its reader went away, `| head` for one
        return 0
    except OSError as error:
        where = str(error.filename or "what this command prints")
        said, code = f"{where}: {os.strerror(error.errno) if error.errno else error}", MISTAKE
        if not error.filename:
            _without(sys.stdout)
    except MemoryError as error:
        remedy = "Ask for less at a time: fewer servers, requests, machines of a network, or runs at a time (--jobs)."
        said, code = f"there is not enough memory: {error}\n  {remedy}", MISTAKE
    except Exception:
        said, code = _reported(), BUG
    else:
        return code
    try:
        print(f"binwright: {said}", file=sys.stderr, flush=True)
    except OSError:
        _without(sys.stderr)
    return code


def _answer(top: argparse.ArgumentParser, asked: argparse.Namespace) -> int:
    if asked.version:
        from importlib.metadata import version

        print(f"binwright {version('binwright')}")
        return 0
    if asked.command is None:
        top.print_help()
        return MISTAKE
    module, _, function = asked.answer.partition(".")
    code: int = getattr(import_module(f"binwright.commands.{module}"), function)(asked)
    return code


def _reported() -> str:
    """Write the exception into a file that can be sent to us, and return what to say of it."""
    from importlib.metadata import version

    what = traceback.format_exception_only(*sys.exc_info()[:2])[-1].strip()
    problem = f"this should not have happened: {what}"
    text = f"binwright {version('binwright')}, Python {sys.version}\n{sys.argv}\n\n{traceback.format_exc()}"
    try:
        with NamedTemporaryFile("w", prefix="binwright-", suffix=".txt", delete=False, encoding="utf-8") as file:
            file.write(text)
    except OSError:
        return f"{problem}\n{text}"
    return f"{problem}\n  It is a mistake of Binwright's. Please report it with {file.name}, which has the details."


def _without(stream: TextIO) -> None:
    """Forget what could not be written to a stream, or Python says so once more when it ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextmanager
def _terminable() -> Iterator[None]:
    """Within, SIGTERM and SIGHUP are `Terminated`, once: more of them do not disturb the end of the process.

    Only a main thread hears signals; `nohup` keeps SIGHUP from us.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = [number for number in ENDS if signal.getsignal(number) is not signal.SIG_IGN]

    def terminate(number: int, frame: FrameType | None) -> None:
        for one in heard:
            signal.signal(one, signal.SIG_IGN)
        raise Terminated(number)

    before = {number: signal.signal(number, terminate) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(main())
