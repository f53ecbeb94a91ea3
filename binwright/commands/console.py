"""How the commands print, and read what options say."""

from __future__ import annotations

import sys
from shutil import get_terminal_size
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.markup import escape

from binwright.simcore.errors import UserError
from binwright.simcore.units import TIME

if TYPE_CHECKING:
    from rich.table import Table


class _Console(Console):
    """What a user's files and errors say is printed as it is; `binwright.cli` answers a reader that went away."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def show_cursor(self, show: bool = True) -> bool:
        return False  # a line that lives leaves the cursor as it is, and so does whoever ends the process


out = _Console(soft_wrap=False, emoji=False)
notes = _Console(stderr=True, emoji=False)
"""What is said beside the answer, while it is looked for and afterwards: nothing with --quiet."""


def wrapped(text: str, stream: TextIO | None) -> str:
    """Break the lines of a text between words if it goes to a terminal; a path stays in one piece."""
    if stream is None or not stream.isatty():  # None: it is closed
        return text
    wrapper = TextWrapper(
        get_terminal_size().columns, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(map(wrapper.fill, text.split("\n")))


def note(text: str) -> None:
    """Say something beside the answer, as it is."""
    notes.print(wrapped(text, sys.stderr), highlight=False, markup=False, soft_wrap=True)


def print_line(text: str) -> None:
    """Print a line of the answer, as it is."""
    out.print(text, markup=False, highlight=False, soft_wrap=True)


def print_location(text: str) -> None:
    """Say on stdout, as it is, where the answer was written, or what it leaves out: not with --quiet."""
    if not notes.quiet:
        print_line(text)


def new_table(*headings: str, **how: Any) -> Table:
    """Begin a table as all commands print it; a heading that begins with ">" is of a column of numbers, flush right."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, **how)
    for heading in headings:
        is_number = heading.startswith(">")
        table.add_column(escape(heading.removeprefix(">")), justify="right" if is_number else "left", no_wrap=is_number)
    return table


def seconds(option: str, text: str) -> float:
    """Read a time on the command line, such as `10s`; mistakes name the option."""
    try:
        return TIME.parse(text)
    except UserError as error:
        raise UserError(error.problem, key=option, value=text, remedy=error.remedy) from None


def pair(option: str, text: str) -> tuple[str, str]:
    """Read what an option says as KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not equals:
        raise UserError("names no value", key=option, value=text, remedy=f"Write {option} KEY=VALUE.")
    return key, value


def read_yaml(key: str, text: str, example: str = "best-fit, or '{best-fit: {node: loose}}'") -> Any:
    """Read a value as a scenario has it: `best-fit`, `{best-fit: {node: loose}}`."""
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        remedy = f"Write it as in a scenario: {example}."
        raise UserError("is not a YAML value", key=key, value=text, remedy=remedy) from None


def entry(name: str, summary: str, **more: str) -> None:
    """One thing of a list: the first line of what it is, and a line each for what else is known."""
    first = summary.strip().partition("\n")[0]
    out.print(f"[bold cyan]{name}[/]  {escape(first)}", highlight=False, soft_wrap=True)
    for key, text in more.items():
        if text:
            out.print(f"    {key}: {text}", style="dim", highlight=False, soft_wrap=True, markup=False)
