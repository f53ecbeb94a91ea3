"""`compare`: results side by side, and whether the seeds can tell."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from binwright.commands.console import out
from simcore.errors import ResultsError
from simcore.files import write_text


def compare(asked: Namespace) -> int:
    """`binwright compare RESULTS...`."""
    from analysis.compare.comparison import Comparison
    from analysis.front import load_many
    from analysis.results.folder import check_target

    form = asked.format or _form(asked.out)
    if asked.out:
        check_target(asked.out)
    results = load_many(asked.results)
    if all(each.done.is_empty() for each in results):
        first = results[0]
        raise ResultsError(
            f"there is nothing to compare: every run failed, the first with {first.failed['error'][0]}",
            file=first.folder,
            remedy="Mend what failed, and run the scenario again.",
        )
    comparison = Comparison(results, asked.baseline, asked.metrics or None)
    if form == "terminal" and not asked.out:
        out.print(comparison.rich(out.width))
        return 0
    text: str = getattr(comparison, "markdown" if form == "terminal" else form)()
    if asked.out:
        write_text(asked.out, text)
    else:
        print(text, end="")
    return 0


def _form(out: str | None) -> str:
    """Choose the format by the ending of the file to write."""
    if not out:
        return "terminal"
    form = {".md": "markdown", ".csv": "csv", ".tex": "latex"}.get(Path(out).suffix)
    if form is None:
        remedy = "End it with .md, .csv or .tex, or say --format."
        raise ResultsError("does not say the format by its ending", file=out, key="--out", remedy=remedy)
    return form
