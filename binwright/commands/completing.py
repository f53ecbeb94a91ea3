"""`completion`: a script that completes commands, options and files in a shell."""

from __future__ import annotations

import argparse

from binwright.parser import every_command, parser

FILES = {"FILE", "RESULTS", "ANSWER", "DIR", "file", "out"}
"""What the help calls arguments that stand for files and folders, or the parser where the help has no name."""


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
