"""Texts that users wrote (names, units, headings, options) as they stand in one line, in Markdown and in LaTeX."""

import re

_APART = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+")
"""Whitespace, and what would steer a terminal, or turn what is behind it round."""
_MARKDOWN = re.compile(r"[\\`*<>|~$]|&(?=#?\w+;)|\](?=\()|(?<![^\W_])_|_(?![^\W_])")
"""An underscore within a word is one, and one at its end may begin emphasis; a bracket before another ends a link."""
_P = re.compile(r"p (=|[<>]=?) (?=\.?\d)")
"""The beginning of a p-value."""
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


def cut(text: str, most: int) -> str:
    """Cut what is too long in its middle."""
    end = max(0, most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - end]}…{text[len(text) - end :]}"[:most]


def unbroken(text: str) -> str:
    """Write a text in which no line ends within a p-value."""
    return _P.sub("p\u00a0\\1\u00a0", text)


def markdown(text: str) -> str:
    """Write a text so that Markdown shows it as it is, also in a cell of a table."""
    return _MARKDOWN.sub(r"\\\g<0>", plain(text))


def latex(text: str) -> str:
    """Write a text so that LaTeX sets it as it is, also in a cell of a table."""
    return "".join(_LATEX.get(sign, sign) for sign in plain(text))
