"""Say what to write instead of what other languages have."""

from __future__ import annotations

import re
from collections.abc import Collection

_LETTERS = {
    ";": "Leave it out: nothing stands between statements.",
    "^": "There are no powers: write x * x.",
    "&": "Write and.",
    "|": "Write or.",
    "!": "Write not, or != between two values.",
    "'": 'Texts and names stand between double quotation marks: "web-1".',
    "{": "Blocks have no brackets: if a < b ... end, for i in n ... end.",
    "}": "A block ends with end.",
    "\\": "Leave it out: line ends mean nothing.",
    '"': 'Texts end on their line: "file.csv".',
}
_STATEMENTS = {
    "while": "A loop runs over a range: for i in n ... end.",
    "return": "UTILFN returns nothing: it adds to UTIL, or says REJECT.",
    "break": "A loop runs to its end: bound its range, or test with if.",
    "continue": "Put what follows into if ... end.",
    "else": "Every else belongs to an if before it.",
    "elif": "Every elif belongs to an if before it.",
}
_ASSIGNED = (
    "Names are assigned once, by let x = ...; to add up, write sum(i in n: x), or UTIL.NAME[...] += x. == compares."
)


def for_letter(letter: str) -> str:
    """Say what to write instead of a letter that means nothing."""
    if letter.isalnum():
        return "Names have the letters A to Z, digits and _."
    return _LETTERS.get(letter, "Comments begin with #.")


def for_word(word: str, before: str, after: str, expected: Collection[str]) -> str | None:
    """Say what to write instead of a word, by the text around it; None if nothing is known.

    `expected` has the kinds of words that may stand there.
    """
    statement = "UTIL" in expected
    if word == "=" and "COMPARE" in expected:
        return "Write == to compare."
    if statement and re.match(r"\s*[-+*/]?=(?!=)", after):
        given = f"{word} is given, and == compares: if {word} == 1 ... end."
        return given if word in ("BALL", "BIN", "BALLS", "BINS", "ALLOC", "NULL") else _ASSIGNED
    if statement and re.match(r"\s*\[[^]]*\]\s*[-+]?=", after):
        return f"Utilisation is written UTIL.{word}[...] += x."
    if statement and word == "then":
        return "Leave it out: only a value has then, if a < b then x else y; a statement is if a < b ... end."
    if statement and word == ":":
        return "Leave it out: the block follows at once."
    if word == "[" and before.endswith("]"):
        return "Write all indices into one pair of brackets: T[a, b]."
    if statement and word == "?":
        return "Write if a < b then x else y."
    if statement and word == "is":
        return "Write == or !=."
    if re.search(r"\b[0-9][0-9.]*\Z", before) and re.fullmatch(r"[A-Za-z_]\w*", word):
        return "Numbers have no units, and no _ in them."
    if re.search(r"\b[0-9]+\Z", before) and word == "," and re.match(r"[0-9]{3}\b", after):
        return "Numbers have no commas in them."
    if word == "*" and before.endswith("*"):
        return "There are no powers: write x * x."
    if word == ">" and before.endswith("<"):
        return "Write !=."
    if word == "." and (digits := re.match(r"[0-9]+", after)):
        return f"Write 0.{digits.group()}."
    if word == ")" and "COMMA" in expected and re.search(r"\b(min|max)\s*\([^()]*\Z", before):
        return "Give it two values or more, max(a, b); over a range it is for goals."
    if expected == {"ELSE"}:
        return "A value has both: if a < b then x else y."
    if expected == {"IN"}:
        return "Write NAME in RANGE: i in 3, i in 2 .. 5, or the entries of a row, i in T[0]."
    return _STATEMENTS.get(word) if statement else None
