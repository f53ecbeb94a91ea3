"""`reproduce`: publications run here, and what they print beside what came out."""

from __future__ import annotations

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
    for key, folder in (("--out", args.out), ("--weights", args.weights)):
        if folder == "":
            raise UserError("is empty", key=key, remedy="Name a folder, or leave it out.")
    found = Reproduction(args.publications, "quick" if args.quick else "full", args.out, args.weights)
    publications = found.publications
    batches = [batch for one in publications for batch in one.batches.values()]
    total, done = sum(len(batch.runs) for batch in batches), sum(len(batch.done()) for batch in batches)
    for why in dict.fromkeys(str(error) for one in publications for error in one.problems.values()):
        print_line(f"cannot run: {why}")
    print_location(f"{total} runs, {done} of them done already, into {found.folder}")
    if args.dry_run:
        return 0
    if not batches and not any(experiment.count for one in publications for experiment in one.whole.experiments):
        print_line("There is nothing to compare, and nothing is written.")
        return FAILED
    with Live(total, done) as live:
        found.run(args.jobs, live)
    print(found.text())
    for file in found.write(found.folder):
        print_location(f"Written: {file}")
    return FAILED if any(one.failed for one in publications) else 0
