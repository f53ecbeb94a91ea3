"""The pages of the documentation: their snippets and their commands."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.support import ROOT

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMAND = r"^    (?:\$ )?(?:binwright|python -m|make|pip|\.venv/bin/).*\n(?:^      .*\n)*"
_INDENTED = re.compile(f"(?:{_COMMAND})+", re.MULTILINE)
_STARTS = ("binwright ", "python -m ", "make ", "pip ", ".venv/bin/", "binwright\n")


class Block(NamedTuple):
    """A fenced block: the page it is on, its language, its line there, and what is in it."""

    page: str
    language: str
    line: int
    text: str


def pages() -> list[Path]:
    """List all pages that are written by hand."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(page: Path) -> str:
    """Say where a page is, from the root of the repository."""
    return page.relative_to(ROOT).as_posix()


@cache
def blocks(*languages: str) -> list[Block]:
    """Find the fenced blocks of these languages."""
    return [
        Block(name_of(page), result[1], text[: result.start()].count("\n") + 1, result[2])
        for page in pages()
        for text in [page.read_text(encoding="utf-8")]
        for result in _FENCED.finditer(text)
        if result[1] in languages
    ]


@cache
def commands() -> list[Block]:
    """Find every command: lines of `sh` blocks, and indented ones; those that go on with a backslash are joined."""
    result: list[Block] = []
    for page in pages():
        text = page.read_text(encoding="utf-8")
        plain = _FENCED.sub(_blank, text)
        indented = [(plain[: each.start()].count("\n") + 1, each[0]) for each in _INDENTED.finditer(plain)]
        shell = [(each.line, each.text) for each in blocks("sh") if each.page == name_of(page)]
        for line, several in [*indented, *shell]:
            for number, command in enumerate(several.replace("\\\n", "  \n").split("\n")):
                stripped = command.strip().removeprefix("$ ")
                if command.startswith("  ") and result and several.split("\n")[number - 1].rstrip().endswith("\\"):
                    result[-1] = result[-1]._replace(text=f"{result[-1].text} {stripped}")
                elif stripped.startswith(_STARTS):
                    result += [Block(name_of(page), "sh", line + number, part.strip()) for part in stripped.split("&&")]
    return result


def _blank(block: re.Match[str]) -> str:
    """Keep the lines of a block that is taken out, so that those after it keep their numbers."""
    return "\n" * block[0].count("\n")
