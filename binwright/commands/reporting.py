"""`report`: results as one HTML file."""

from __future__ import annotations

from argparse import Namespace

from binwright.commands.console import say, show, where
from binwright.commands.headings import head
from binwright.commands.progress import Line


def report(asked: Namespace) -> int:
    """`binwright report RESULTS`."""
    from analysis.report import write
    from analysis.results_api import Results
    from binwright.replays import played

    results = Results(asked.results)
    head([results], asked.headings)
    with Line("report"):
        again = played(results.folder)
    path = write(results, asked.out, say, again)
    where(f"Report:  {path}")
    if asked.open:
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            show("No browser was found: open that file in one.")
    return 0
