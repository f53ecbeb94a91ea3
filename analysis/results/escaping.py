"""Texts that users wrote (names, units, headings, options) as they stand in one line, in Markdown and in LaTeX."""

import re
from collections.abc import Iterable

_APART = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+")
"""Whitespace, and what would steer a terminal, or turn what is behind it round."""
_MARKDOWN = re.compile(r"[\\`*<>|~$]|&(?=#?\w+;)|\](?=\()|(?<![^\W_])_|_(?![^\W_])")
"""An underscore within a word is one, and one at its end may begin emphasis; a bracket before another ends a link."""
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "`": r"\textasciigrave{}",
    "[": "{[}",  # after the end of a row these two would belong to it
    "*": "{*}",
    "µ": r"\textmu{}",
    "≤": r"\ensuremath{\leq}",
    "≥": r"\ensuremath{\geq}",
    "\N{MINUS SIGN}": r"\ensuremath{-}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}


def plain(text: str) -> str:
    """Write a text in one line, without control characters."""
    return _APART.sub(" ", text).strip()


def cut(text: str, most: int, beside: Iterable[str] = ()) -> str:
    """Cut what is too long in its middle, or, where another text `beside` it would look the same, what they share."""
    if len(text) <= most:
        return text
    end = max(0, most - 1) // 2
    short = f"{text[: most - 1 - end]}…{text[len(text) - end :]}"[:most]
    alike = [other for other in beside if other != text and len(other) > most and cut(other, most) == short]
    if not alike or most < 2:
        return short
    head = most // 3
    shared = [*(len(set(letters)) > 1 for letters in zip(text, *alike, strict=False)), True].index(True)
    return f"{text[:head]}…{cut(text[shared:], most - head - 1, [other[shared:] for other in alike])}"


def markdown(text: str) -> str:
    """Write a text so that Markdown shows it as it is, also in a cell of a table."""
    return _MARKDOWN.sub(r"\\\g<0>", plain(text))


def latex(text: str) -> str:
    """Write a text so that LaTeX sets it as it is, also in a cell of a table."""
    return "".join(_LATEX.get(sign, sign) for sign in plain(text))
