"""`compare`: results side by side, and whether the seeds can tell."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from binwright.cli import FAILED
from binwright.commands.console import out
from binwright.simcore.errors import ResultsError
from binwright.simcore.files import write_text

if TYPE_CHECKING:
    from binwright.analysis.compare.comparison import Comparison
    from binwright.analysis.measure.condition import Limit


def compare(args: Namespace) -> int:
    """`binwright compare RESULTS...`."""
    from binwright.analysis.compare.comparison import Comparison
    from binwright.analysis.measure.condition import limit_of
    from binwright.analysis.results.columns import merged
    from binwright.analysis.results.folder import check_target
    from binwright.analysis.results_api import Results, load_many

    form = args.format or _form(args.out)
    if args.out:
        check_target(args.out)
    results = load_many(args.results)
    if all(each.done.is_empty() for each in results):
        first = results[0]
        raise ResultsError(
            f"there is nothing to compare: every run failed, the first with {first.failed['error'][0]}",
            file=first.folder,
            remedy="Mend what failed, and run the scenario again.",
        )
    limits = [limit_of(text, merged(one.columns for one in results).metrics) for text in args.limits]
    since = Results(args.since) if args.since else None
    comparison = Comparison(results, args.baseline, args.metrics or None, since)
    if form == "terminal" and not args.out:
        out.print(comparison.rich(out.width))
    else:
        text: str = getattr(comparison, "markdown" if form == "terminal" else form)()
        if args.out:
            write_text(args.out, text)
        else:
            print(text, end="")
    if not limits:
        return 0
    looked_at = Comparison(results, args.baseline, [limit.metric.name for limit in limits], since)
    found = [_broken(looked_at, limit) for limit in limits]
    return FAILED if any(found) else 0


def _broken(comparison: Comparison, limit: Limit) -> bool:
    """Say on stderr who is beyond a limit; tells whether somebody is."""
    lines = comparison.broken(limit)
    print(f"{limit.text}:{'' if lines else ' nowhere'}", *lines, sep="\n  ", file=sys.stderr)
    return bool(lines)


def _form(out: str | None) -> str:
    """Choose the format by the ending of the file to write."""
    if not out:
        return "terminal"
    form = {".md": "markdown", ".csv": "csv", ".tex": "latex"}.get(Path(out).suffix)
    if form is None:
        remedy = "End it with .md, .csv or .tex, or say --format."
        raise ResultsError("does not say the format by its ending", file=out, key="--out", remedy=remedy)
    return form
