"""`compare` and `report`: results side by side, and as one HTML file."""

from argparse import Namespace
from pathlib import Path

from binwright.commands.console import out, print_location
from binwright.commands.progress import StatusLine
from binwright.simcore.errors import ResultsError
from binwright.simcore.files import write_text

FORMS = {".md": "markdown", ".csv": "csv", ".tex": "latex"}


def compare(args: Namespace) -> int:
    """Answer `binwright compare RESULTS...`."""
    from binwright.analysis.compare.comparison import Comparison
    from binwright.analysis.results_api import load_many

    form = FORMS.get(Path(args.out).suffix) if args.out else ""
    if form is None:
        remedy = "End it with .md, .csv or .tex."
        raise ResultsError("does not say the format by its ending", file=args.out, key="--out", remedy=remedy)
    results = load_many(args.results)
    if all(each.done.is_empty() for each in results):
        problem = f"there is nothing to compare: every run failed, the first with {results[0].failed['error'][0]}"
        raise ResultsError(problem, file=results[0].folder, remedy="Mend what failed, and run the scenario again.")
    comparison = Comparison(results, args.baseline, args.metrics or None)
    if form:
        write_text(args.out, getattr(comparison, form)())
    else:
        out.print(comparison.rich(out.width))
    return 0


def report(args: Namespace) -> int:
    """Answer `binwright report RESULTS`."""
    from binwright.analysis.report.page import write
    from binwright.analysis.results_api import Results

    results = Results(args.results)
    with StatusLine("report") as line:
        path = write(results, args.out, line.drawing)
    print_location(f"Report:  {path}")
    return 0
