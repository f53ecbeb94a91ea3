"""`figures`: results drawn."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binwright.commands.console import print_line, print_location, seconds
from binwright.commands.progress import StatusLine
from binwright.simcore.errors import ResultsError, UserError

if TYPE_CHECKING:
    from binwright.analysis.figures.kind import Figure
    from binwright.analysis.results_api import Results

ALL, FOUR = "all", 4
"""The kind that is all of them; so many are drawn where none is asked for."""
OWN = {"gantt", "timeline"}
"""These draw what samples and requests have, and no metrics of runs."""


def figures(args: Namespace) -> int:
    """`binwright figures RESULTS`: everything is drawn before the first file is written."""
    from binwright.analysis.figures import FIGURES, FIRST
    from binwright.analysis.figures.kind import short_name
    from binwright.analysis.figures.style import FORMATS, save

    kinds, few = list(dict.fromkeys(args.kinds)) or [ALL], not args.kinds
    for name in kinds:
        if name not in (ALL, *FIGURES) and ":" not in name:
            problem, remedy = FIGURES.unknown(name)
            raise UserError(problem, key=f"--kind {name}", remedy=remedy)
    folder, file = _where(args, kinds, FORMATS)
    trainings, results = _given(args, kinds)
    if not trainings and all(name in (ALL, *FIGURES) for name in kinds) and not OWN.issuperset(kinds):
        _refuse_unknown(args.metrics, results)
    forms = (file and file.suffix.removeprefix(".").lower(), *(one.look.get("format") for one in results))
    form = next((form for form in forms if form in FORMATS), FORMATS[0])
    every = sorted(FIGURES, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))
    wanted = every if few else list(FIGURES) if ALL in kinds else kinds
    most = FOUR if few else len(wanted)
    with StatusLine("figures") as line:
        drawn, left_out = _draw(args, trainings, results, wanted, form, most, line, anything=ALL in kinds)
    for name, (figure, content) in drawn.items():
        path = save(figure, file or folder / f"{short_name(name)}.{form}", content)
        print_location(f"Figure: {path}")
        if not figure.get_suptitle() and (caption := figure.get_label()):
            print_line(f"Caption: {caption}.")
    for why, names in left_out.items() if len(drawn) < most or not few else ():
        print_location(f"Not drawn: {', '.join(names)}: {why}")
    if few and len(drawn) == most:
        print_location(
            "--kind NAME draws others (`binwright list figures`), and --kind all draws all that these results allow."
        )
    return 0


def _given(args: Namespace, kinds: list[str]) -> tuple[list[str], list[Results]]:
    """Tell the folders of trainings from results, and read these."""
    from binwright.analysis.figures.kind import kind_named
    from binwright.analysis.figures.kinds.learning import LOG
    from binwright.analysis.results_api import load_many

    trainings = [folder for folder in args.results if (Path(folder) / LOG).is_file()]
    others = [folder for folder in args.results if folder not in trainings]
    if ALL not in kinds and all(kind_named(kind).source == "training" for kind in kinds):
        trainings, others = args.results, []
    results = load_many(others)
    return trainings, results


def _refuse_unknown(metrics: list[str], results: list[Results]) -> None:
    """Refuse what none of the results has: no metric, no resource and no tier of links."""
    from binwright.analysis.results.columns import metric_named
    from binwright.analysis.results.combined import Together

    together = results[0] if len(results) == 1 else Together(results)
    for name in metrics:
        if name not in (*together.resources, *together.tiers):
            metric_named(name, together.done, together.metrics)


def _draw(
    args: Namespace,
    trainings: list[str],
    results: list[Results],
    kinds: list[str],
    form: str,
    most: int,
    line: StatusLine,
    *,
    anything: bool,
) -> tuple[dict[str, tuple[Figure, bytes]], dict[str, list[str]]]:
    """Draw figures by kind, `most` at most; with `anything`, also return why some cannot be drawn, and which."""
    from binwright.analysis.figures.kind import draw, kind_named
    from binwright.analysis.figures.style import rendered

    options: dict[str, Any] = {
        "metrics": args.metrics,
        "agents": re.split(r", *(?![^(]*\))", args.agents) if args.agents else (),
        "where": [_pair(text) for text in args.where],
        "x": args.x or "",
        "at": None if args.at is None else seconds("--at", args.at),
        "baseline": args.baseline,
    }
    drawn: dict[str, tuple[Figure, bytes]] = {}
    left_out: dict[str, list[str]] = {}
    last: UserError | None = None
    for name in kinds:
        if len(drawn) == most:
            break
        line.drawing(name)
        try:
            kind = kind_named(name)
            if not (trainings if kind.source == "training" else results):
                if anything:
                    continue
                raise ResultsError(
                    "cannot be drawn from what was named", key=f"--kind {name}", remedy=f"It needs {kind.needs}."
                )
            figure = kind.draw(trainings, **options) if kind.source == "training" else draw(results, name, **options)
            drawn[name] = figure, rendered(figure, form)
        except UserError as error:
            if not anything:
                raise
            problem = f"{error.key}: {error.problem}" if error.key not in (None, f"--kind {name}") else error.problem
            left_out.setdefault(f"{problem}. {error.remedy}", []).append(name)
            last = error
    if last and not drawn and len(left_out) == 1:
        raise last
    if not drawn:
        for why, names in left_out.items():
            print_location(f"Not drawn: {', '.join(names)}: {why}")
        remedy = "Mend what was asked for, or run the scenario with more recorded."
        raise ResultsError("no figure can be drawn of these results, as asked for", remedy=remedy)
    return drawn, left_out


def _where(args: Namespace, kinds: list[str], formats: tuple[str, ...]) -> tuple[Path, Path | None]:
    """Find the folder to write to, and the file in it if `--out` names one."""
    target = Path(args.out) if args.out else Path(args.results[0]) / "figures"
    ending = target.suffix.removeprefix(".").lower()
    if not args.out or target.is_dir() or not ending:
        return target, None
    if ending not in formats:
        raise UserError("unknown format for figures", key=f"--out {target}", remedy=f"Known: {', '.join(formats)}.")
    if len(kinds) > 1 or ALL in kinds:
        raise UserError("is one file for several figures", key=f"--out {target}", remedy="Name a folder.")
    return target.parent, target


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise UserError("names no value", key=f"--where {text}", remedy="Write --where KEY=VALUE.")
    return key, value
