"""`reproduce`: publications run here, and what they print beside what came out."""

from argparse import Namespace

from binwright.cli import FAILED
from binwright.commands.console import print_line, print_location
from binwright.commands.progress import Live
from binwright.reproduction.reproduce import Reproduction
from binwright.simcore.errors import UserError


def reproduce(args: Namespace) -> int:
    """`binwright reproduce PUBLICATION ...`."""
    from binwright.scenarios.batch.pool import checked_jobs

    checked_jobs(args.jobs)
    if args.out == "":
        raise UserError("is empty", key="--out", remedy="Name a folder, or leave it out.")
    result = Reproduction(args.publications, args.quick, args.out)
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
