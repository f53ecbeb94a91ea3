"""`help` and `completion`: what the parser that answers knows."""

from __future__ import annotations

import argparse

from binwright.parser import every_command, parser
from binwright.simcore.errors import UserError, suggest

FILES = {"FILE", "RESULTS", "ANSWER", "DIR", "file", "out"}
"""What the help calls arguments that stand for files and folders, or the parser where the help has no name."""


def help(asked: argparse.Namespace) -> int:
    """`binwright help [COMMAND]`."""
    top = parser()
    known = {words: command for words, _, command in every_command(top)}
    words = tuple(asked.words)
    if words and words not in known:
        below = [" ".join(each) for each in known if len(each) > 1 and each[0] == words[0]]
        if below and len(words) > 1:
            remedy = suggest(" ".join(words), below)
        else:
            remedy = suggest(words[0], [each[0] for each in known], "`binwright help`")
        raise UserError("there is no such command", value=" ".join(words), remedy=remedy)
    (known[words] if words else top).print_help()
    return 0


def completion(asked: argparse.Namespace) -> int:
    """Answer `binwright completion SHELL`."""
    import shtab

    top = parser()
    for _, _, command in every_command(top):
        for action in command._actions:
            if (action.metavar or action.dest) in FILES:
                vars(action)["complete"] = shtab.FILE  # where shtab looks
    print(shtab.complete(top, asked.shell))
    return 0
