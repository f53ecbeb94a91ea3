"""`fit`: scenarios that are written for people to go on with."""

from __future__ import annotations

import sys
from argparse import Namespace

from binwright.commands.traces import say_written
from simcore.errors import UserError


def fit(asked: Namespace) -> int:
    """Answer `binwright fit FILE`."""
    from scenarios.draft.asked import asked_of
    from scenarios.draft.text import write_new

    for option, least in (("flavours", 1), ("points", 3), ("requests", 1)):
        value = getattr(asked, option)
        if value is not None and value < least:
            raise UserError("is too few", key=f"--{option}", value=value, remedy=f"Give {least} or more.")
    requests = asked_of(asked.file)
    text = requests.fitted(asked.flavours, asked.points, asked.requests)
    for doubt in requests.proposal.doubts if requests.proposal else ():
        print(f"? {doubt}", file=sys.stderr)
    if asked.out:
        write_new(asked.out, text)
        say_written(asked.out)
    else:
        print(text, end="")
    return 0
