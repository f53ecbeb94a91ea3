"""`report`: results as one HTML file."""

from __future__ import annotations

from argparse import Namespace

from binwright.commands.console import note, print_location
from binwright.commands.progress import StatusLine


def report(args: Namespace) -> int:
    """`binwright report RESULTS`."""
    from binwright.analysis.report import write
    from binwright.analysis.results_api import Results

    results = Results(args.results)
    with StatusLine("report") as line:
        path = write(results, args.out, note, line.drawing)
    print_location(f"Report:  {path}")
    return 0
