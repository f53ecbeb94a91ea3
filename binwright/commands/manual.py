"""`help`, `man` and `completion`: what the parser that answers knows."""

from __future__ import annotations

import argparse
import re
from collections.abc import Container, Iterator

import binwright
from binwright.parser import every_command, parser
from binwright.simcore.errors import UserError, suggest

CODES = {
    0: "What was asked for is done.",
    1: "Some runs failed, or a limit is broken.",
    2: "You have to mend something; the message says what.",
    70: "What should not have happened; the message names a file with the details, for a report.",
    130: "Ctrl-C; 129 and 143 are the end of the terminal and SIGTERM. The same command goes on.",
}

SHARED = {"help", "quiet", "verbose"}
"""What every command takes, and the page says once."""
FILES = {"FILE", "RESULTS", "ANSWER", "DIR", "file", "out"}
"""What the help calls arguments that stand for files and folders, or the parser where the help has no name."""


def man(asked: argparse.Namespace) -> int:
    """Answer `binwright man`."""
    print("\n".join(page()))
    return 0


def page() -> Iterator[str]:
    """Yield the lines of the manual page, in the language of man(7)."""
    top = parser()
    yield f'.TH BINWRIGHT 1 "" "Binwright {binwright.__version__}"'
    yield from (".SH NAME", f"binwright \\- {_plain(top.description)}")
    yield from (".SH SYNOPSIS", *_usage(top), ".SH OPTIONS OF ALL COMMANDS")
    yield from _arguments(top, ())
    yield ".SH COMMANDS"
    for words, purpose, command in every_command(top, "binwright"):
        yield from (f'.SS "{_plain(" ".join(words))}"', *_usage(command))
        yield from (".PP", _plain(command.description or f"{purpose[:1].upper()}{purpose[1:]}."))
        yield from _arguments(command)
    yield ".SH EXIT STATUS"
    for code, meaning in CODES.items():
        yield from (".TP", f"\\fB{code}\\fR", _plain(meaning))


def _usage(command: argparse.ArgumentParser) -> list[str]:
    usage = re.sub(r"\s+", " ", command.format_usage().removeprefix("usage: ")).strip()
    return [".PP", _plain(usage)]


def _arguments(command: argparse.ArgumentParser, hidden: Container[str] = SHARED) -> Iterator[str]:
    """Yield what a command takes, group by group, but for commands below it and what is hidden."""
    said = command._get_formatter()
    for group in command._action_groups:
        below = argparse._SubParsersAction
        actions = [one for one in group._group_actions if not isinstance(one, below) and one.dest not in hidden]
        if actions and group.description:
            yield from (".PP", _plain(group.description))
        for one in actions:
            yield from (".TP", f"\\fB{_plain(said._format_action_invocation(one))}\\fR")
            yield _plain(said._expand_help(one) if one.help else "")


def _plain(text: str | None) -> str:
    """Write a text so that man shows it as it is."""
    shown = (text or "").replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return f"\\&{shown}" if shown.startswith((".", "'")) else shown


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
