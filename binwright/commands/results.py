"""What concerns results: `compare`, `report`, `figures`, and `reproduce`, which sets them beside published ones."""

from argparse import Namespace
from pathlib import Path

from binwright.cli import FAILED
from binwright.commands.console import out, pair, print_line, print_location
from binwright.commands.progress import Live, StatusLine
from binwright.simcore.errors import ResultsError, UnknownName, UserError
from binwright.simcore.files import write_text

FORMS = {".md": "markdown", ".csv": "csv", ".tex": "latex"}
ALL, FOUR = "all", 4
"""The kind that is all of them; so many are drawn where none is named."""


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
        out.print(comparison.rich(out.width, whole=args.all))
    return 0


def report(args: Namespace) -> int:
    """Answer `binwright report RESULTS`."""
    from binwright.analysis.report.page import write
    from binwright.analysis.results_api import Results

    results = Results(args.results)
    with StatusLine("report"):
        path = write(results, args.out)
    print_location(f"Report:  {path}")
    return 0


def figures(args: Namespace) -> int:
    """`binwright figures RESULTS`: everything is drawn before the first file is written."""
    from binwright.analysis.figures import FIGURES, FIRST
    from binwright.analysis.figures.kind import draw, kind_named, short_name
    from binwright.analysis.figures.kinds.timeline import LOG
    from binwright.analysis.figures.style import FORMATS, rendered, save
    from binwright.analysis.results_api import load_many
    from binwright.api import names_in

    every = not args.kinds or ALL in args.kinds
    kinds = [*FIRST, *sorted({*FIGURES} - {*FIRST})] if every else list(dict.fromkeys(args.kinds))
    folder, file = _target(args, several=len(kinds) > 1, formats=FORMATS)
    learning = all(kind_named(kind).source == "training" for kind in kinds)
    trainings = [name for name in args.results if learning or (Path(name) / LOG).is_file()]
    results = load_many([name for name in args.results if name not in trainings])
    forms = (file and file.suffix.removeprefix(".").lower(), *(result.look.get("format") for result in results))
    form = next((form for form in forms if form in FORMATS), FORMATS[0])
    options = {
        "metrics": args.metrics,
        "agents": names_in(args.agents) if args.agents else (),
        "where": [pair("--where", text) for text in args.where],
        "x": args.x or "",
        "baseline": args.baseline,
        "style": args.style,
    }
    drawn, left_out = {}, dict[str, UserError]()
    with StatusLine("figures") as line:
        for name in kinds:
            line.drawing(name)
            try:
                kind = kind_named(name)
                if kind.source == "training" and trainings:
                    figure = kind.draw(trainings, **options)
                elif kind.source == "results" and results:
                    figure = draw(results, name, **options)
                elif every:
                    continue
                else:
                    remedy = f"It needs {kind.needs}."
                    raise ResultsError("cannot be drawn from what was named", key=f"--kind {name}", remedy=remedy)
                drawn[name] = figure, rendered(figure, form)
            except UserError as error:
                if not every or (not args.kinds and isinstance(error, UnknownName)):
                    raise
                left_out[name] = error
            if not args.kinds and len(drawn) == FOUR:
                break
    if not drawn:
        reasons = {str(why): why for why in left_out.values()}
        if len(reasons) > 1:
            remedy = f"`--kind NAME` says why for one of {', '.join(left_out)}."
            raise ResultsError("no figure can be drawn of these results", file=args.results[0], remedy=remedy)
        raise next(iter(reasons.values()))
    for name, (figure, content) in drawn.items():
        path = save(figure, file or folder / f"{short_name(name)}.{form}", content)
        print_location(f"Figure: {path}")
        if not figure.get_suptitle() and (caption := figure.get_label()):
            print_line(f"Caption: {caption}.")
    if not args.kinds and not args.x:
        print_location("--kind NAME draws others (`binwright list figures`), --kind all those that can be drawn.")
    else:
        for name, why in left_out.items():
            print_location(f"Not drawn: {name}: {why.problem}. {why.remedy}")
    return 0


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


def reproduce(args: Namespace) -> int:
    """`binwright reproduce PUBLICATION ...`."""
    from binwright.reproduction.reproduce import Reproduction
    from binwright.scenarios.batch.pool import checked_jobs

    checked_jobs(args.jobs)
    if args.out == "":
        raise UserError("is empty", key="--out", remedy="Name a folder, or leave it out.")
    result = Reproduction(args.publications, args.quick, args.out, args.tables)
    publications = result.publications
    batches = [batch for publication in publications for batch in publication.batches.values()]
    total, done = sum(len(batch.runs) for batch in batches), sum(len(batch.done()) for batch in batches)
    for why in dict.fromkeys(str(error) for publication in publications for error in publication.problems.values()):
        print_line(f"cannot run: {why}")
    print_location(f"{total} runs, {done} of them done already, into {result.folder}")
    if args.dry_run:
        return 0
    if not batches and not any(
        experiment.count for publication in publications for experiment in publication.whole.experiments
    ):
        print_line("There is nothing to compare, and nothing is written.")
        return FAILED
    with Live(total, done) as live:
        result.run(args.jobs, live)
    print(result.text())
    for file in result.write(result.folder):
        print_location(f"Written: {file}")
    return FAILED if any(publication.failed for publication in publications) else 0
