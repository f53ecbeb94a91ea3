"""`figures`: results drawn."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from binwright.commands.console import pair, print_line, print_location
from binwright.commands.progress import StatusLine
from binwright.simcore.errors import ResultsError, UserError

if TYPE_CHECKING:
    from binwright.analysis.figures.kind import Figure
    from binwright.analysis.results_api import Results

ALL, FOUR = "all", 4
"""The kind that is all of them; so many are drawn where none is named."""


def figures(args: Namespace) -> int:
    """`binwright figures RESULTS`: everything is drawn before the first file is written."""
    from binwright.analysis.figures import FIGURES, FIRST
    from binwright.analysis.figures.kind import kind_named, short_name
    from binwright.analysis.figures.kinds.timeline import LOG
    from binwright.analysis.figures.style import FORMATS, save
    from binwright.analysis.results_api import load_many

    kinds = list(dict.fromkeys(args.kinds))
    every = not kinds or ALL in kinds
    folder, file = _target(args, several=every or len(kinds) > 1, formats=FORMATS)
    learning = not every and all(kind_named(kind).source == "training" for kind in kinds)
    trainings = [name for name in args.results if learning or (Path(name) / LOG).is_file()]
    results = load_many([name for name in args.results if name not in trainings])
    forms = (file and file.suffix.removeprefix(".").lower(), *(result.look.get("format") for result in results))
    form = next((form for form in forms if form in FORMATS), FORMATS[0])
    names = sorted(FIGURES, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST)) if every else kinds
    most = 0 if not every else len(names) if kinds else FOUR
    drawn, left_out = _draw(args, names, most, trainings, results, form)
    for name, (figure, content) in drawn.items():
        path = save(figure, file or folder / f"{short_name(name)}.{form}", content)
        print_location(f"Figure: {path}")
        if not figure.get_suptitle() and (caption := figure.get_label()):
            print_line(f"Caption: {caption}.")
    if not kinds and len(drawn) == FOUR:
        print_location("--kind NAME draws others (`binwright list figures`), --kind all those that can be drawn.")
    else:
        for name, why in left_out.items():
            print_location(f"Not drawn: {name}: {why.problem}. {why.remedy}")
    return 0


def _draw(
    args: Namespace, kinds: list[str], most: int, trainings: list[str], results: list[Results], form: str
) -> tuple[dict[str, tuple[Figure, bytes]], dict[str, UserError]]:
    """Draw figures by kind: all of them, or so many of those that can be drawn, and say why others cannot."""
    from binwright.analysis.figures.kind import draw, kind_named
    from binwright.analysis.figures.style import rendered

    options = {
        "metrics": args.metrics,
        "agents": re.split(r", *(?![^(]*\))", args.agents) if args.agents else (),
        "where": [pair("--where", text) for text in args.where],
        "x": args.x or "",
        "baseline": args.baseline,
    }
    drawn: dict[str, tuple[Figure, bytes]] = {}
    left_out: dict[str, UserError] = {}
    with StatusLine("figures") as line:
        for name in kinds:
            line.drawing(name)
            try:
                kind = kind_named(name)
                learns = kind.source == "training"
                if not (trainings if learns else results):
                    if most:
                        continue
                    remedy = f"It needs {kind.needs}."
                    raise ResultsError("cannot be drawn from what was named", key=f"--kind {name}", remedy=remedy)
                figure = kind.draw(trainings, **options) if learns else draw(results, name, **options)
                drawn[name] = figure, rendered(figure, form)
            except UserError as error:
                if not most:
                    raise
                left_out[name] = error
            if len(drawn) == most:
                break
    if not drawn:
        nothing = UserError("there is nothing to draw", remedy="Name folders that `binwright run` or `train` wrote.")
        raise [nothing, *left_out.values()][-1]
    return drawn, left_out


def _target(args: Namespace, *, several: bool, formats: tuple[str, ...]) -> tuple[Path, Path | None]:
    """Find the folder to write to, and the file in it if `--out` names one."""
    target = Path(args.out) if args.out else Path(args.results[0]) / "figures"
    ending = target.suffix.removeprefix(".").lower()
    if not args.out or target.is_dir() or not ending:
        return target, None
    if ending not in formats:
        raise UserError("unknown format for figures", key=f"--out {target}", remedy=f"Known: {', '.join(formats)}.")
    if several:
        raise UserError("is one file for several figures", key=f"--out {target}", remedy="Name a folder.")
    return target.parent, target
