"""The commands of the parser that are about the solver: problems, packing, and the service."""

from __future__ import annotations

import argparse
from typing import Any, TypeAlias

from binwright.parser.options import add_sets, add_several

Commands: TypeAlias = "argparse._SubParsersAction[Any]"


def add_solve(commands: Commands) -> None:
    """Add `solve`."""
    solve = commands.add_parser("solve", help="solve an allocation problem written as balls, bins and resources")
    solve.set_defaults(answer="solving.solve")
    solve.add_argument("file", nargs="?", help="a specification (*.alloc), or the name of a shipped one (vm-placement)")
    solve.add_argument("--check", action="store_true", help="compile only; print what is proven, and the step bound")
    solve.add_argument(
        "--device",
        default="cpu",
        help="cpu (all cores, the default), opencl, opencl:N, several as opencl:0,2-3, or reference",
    )
    solve.add_argument("--devices", action="store_true", help="list the OpenCL devices, and which can be used")
    solve.add_argument("--search", default="ours", help="ours (the default), or published")
    solve.add_argument("--time", default="10s", help="the search ends after this long (default: 10s)")
    solve.add_argument("--seed", type=int, default=0, help="of the random orders (default: 0)")
    add_sets(solve, "change a PARAM", metavar="PARAM=NUMBER")
    _change(solve)
    solve.add_argument("--server", metavar="URL", help="let this service solve it (binwright serve)")
    solve.add_argument("--token-file", metavar="F", help="the service's token")
    solve.add_argument("--priority", type=int, metavar="N", help="of the job at the service: the highest is first")
    shapes = solve.add_mutually_exclusive_group()
    shapes.add_argument("--json", action="store_true", help="print the answer, or the list, as JSON")
    shapes.add_argument("--csv", action="store_true", help="print the answer as CSV: ball, bin")


def _change(command: argparse.ArgumentParser) -> None:
    """Add what says where balls are now, and what is to become of them."""
    command.add_argument("--from", dest="now", metavar="FILE", help="where balls are now: an answer as --json or --csv")
    command.add_argument("--moves", type=int, metavar="N", help="so many balls may leave the bin that they are in now")
    command.add_argument("--drain", metavar="BINS", help="these bins are to be empty: 3,5-7, or names")


def add_explain(commands: Commands) -> None:
    """Add `explain`."""
    explain = commands.add_parser("explain", help="say what an answer of solve uses, and why a ball is where it is")
    explain.set_defaults(answer="explaining.explain")
    explain.add_argument("file", help="a specification (*.alloc), or the name of a shipped one")
    explain.add_argument("answer_file", metavar="ANSWER", help="what solve --json or solve --csv printed")
    help = "say for every bin what stands in the way of this ball (a number or a name)"
    add_several(explain, "--ball", "balls", "BALL", help)
    add_sets(explain, "change a PARAM", metavar="PARAM=NUMBER")
    _change(explain)
    explain.add_argument("--json", action="store_true", help="print all of it as JSON")


def _service(command: argparse.ArgumentParser) -> None:
    command.add_argument("--server", required=True, metavar="URL", help="the service (binwright serve)")
    command.add_argument("--token-file", metavar="F", help="the service's token")


def add_jobs(commands: Commands) -> None:
    """Add `jobs`."""
    jobs = commands.add_parser("jobs", help="list your jobs at a service, show the answer of one, or cancel it")
    jobs.set_defaults(answer="queueing.jobs")
    jobs.add_argument("job", nargs="?", metavar="JOB", help="a job's id: show what became of it")
    _service(jobs)
    jobs.add_argument("--state", dest="states", metavar="S", help="only queued, running, done, ...: with commas")
    jobs.add_argument("--last", type=int, default=20, metavar="N", help="so many, newest first (default: 20)")
    jobs.add_argument("--cancel", action="store_true", help="cancel JOB; the best so far becomes its answer")
    jobs.add_argument("--json", action="store_true", help="print JSON")


def add_serve(commands: Commands) -> None:
    """Add `serve`."""
    serve = commands.add_parser("serve", help="the solver as a web service, with a page to try it on")
    serve.set_defaults(answer="serving.serve")
    serve.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)"
    )
    serve.add_argument("--port", type=int, default=8000, help="default: 8000; 0 is any free one")
    serve.add_argument("--data", default="service", metavar="DIR", help="folder of the jobs (default: service)")
    serve.add_argument("--workers", type=int, metavar="N", help="jobs at a time (default: one per CPU)")
    serve.add_argument(
        "--device", metavar="D", help="jobs may ask for these OpenCL devices, too: opencl, opencl:1, opencl:0,2-3"
    )
    serve.add_argument("--token-file", metavar="F", help="tokens, one per line: requests without one are refused")
    add_several(serve, "--limit", "limits", "NAME=NUMBER", "change a limit (memory=2e9)")


def add_pack(commands: Commands) -> None:
    """Add `pack`."""
    pack = commands.add_parser("pack", help="pack machines, all known at once, onto few servers")
    pack.set_defaults(answer="packing.pack")
    pack.add_argument(
        "input",
        metavar="INPUT",
        help="a name (pgrank, ct1, u120, t60, ...: page 'Offline placement'), or a file (.csv, .txt, .bpp, .vbp)",
    )
    pack.add_argument(
        "--with",
        dest="methods",
        metavar="NAMES",
        help="with commas between: ffd-prod,bfd-sum,dot-product,norm-greedy,published,solver (default: all)",
    )
    pack.add_argument("--time", default="10s", help="for each search (default: 10s)")
    pack.add_argument("--seed", type=int, help="of a generated input (default: 1)")
    pack.add_argument("--seeds", type=int, default=1, help="how often each search runs, with seeds 0, 1, ...")
    pack.add_argument("--count", type=int, help="machines of ct1 to ct10 and planted (default: 200)")
    pack.add_argument("--instance", metavar="NAME", help="which one of a file with several instances")
    pack.add_argument("--server", metavar="CAPACITY", help="what a server has of a CSV file's columns: cpu=8,mem=16")
    pack.add_argument("--json", action="store_true", help="print the table as JSON")
    pack.add_argument("--out", metavar="FILE", help="write the placements (.csv or .json)")
    pack.add_argument("--figure", metavar="FILE", help="draw the servers over time (.png, .svg or .pdf)")
