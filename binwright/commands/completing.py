"""`completion`: a script that completes commands, options and files in a shell."""

from __future__ import annotations

import argparse
from typing import Any

from binwright.parser import parser

FILES = {"FILE", "RESULTS", "ANSWER", "DIR", "file", "out"}
"""What the help calls arguments that stand for files and folders, or the parser where the help has no name."""


def completion(asked: argparse.Namespace) -> int:
    """Answer `binwright completion SHELL`."""
    import shtab

    top = parser()
    for action in _every(top):
        if (action.metavar or action.dest) in FILES:
            action.complete = shtab.FILE  # where shtab looks
    print(shtab.complete(top, asked.shell))
    return 0


def _every(top: argparse.ArgumentParser) -> list[Any]:
    """List the actions of a parser and of all commands below it."""
    found: list[Any] = []
    for action in top._actions:
        found.append(action)
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                found += _every(command)
    return found
