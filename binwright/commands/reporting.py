"""`report`: results as one HTML file."""

from __future__ import annotations

from argparse import Namespace

from binwright.commands.console import say, show, where
from binwright.commands.progress import Line


def report(asked: Namespace) -> int:
    """`binwright report RESULTS`."""
    from binwright.analysis.report import write
    from binwright.analysis.results_api import Results

    results = Results(asked.results)
    with Line("report") as line:
        path = write(results, asked.out, say, line.drawing)
    where(f"Report:  {path}")
    if asked.open:
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            show("No browser was found: open that file in one.")
    return 0
