"""`compare`: results side by side, and whether the seeds can tell."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from binwright.commands.console import out
from simcore.errors import ResultsError


def compare(asked: Namespace) -> int:
    """`binwright compare RESULTS...`."""
    from analysis.compare import Comparison
    from analysis.results import load_many

    comparison = Comparison(load_many(asked.results), asked.baseline, asked.metrics or None)
    if asked.format == "terminal" and not asked.out:
        out.print(comparison.rich(out.width))
        return 0
    text: str = getattr(comparison, "markdown" if asked.format == "terminal" else asked.format)()
    if asked.out:
        _write(Path(asked.out), text)
    else:
        print(text, end="")
    return 0


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.unfinished")
        unfinished.write_text(text, "utf-8")
        unfinished.replace(path)
    except OSError as error:
        raise ResultsError(
            f"cannot write the comparison: {error.strerror}", file=path, remedy="Name another file with --out."
        ) from None
