"""Headings that a command gives: what to call an agent, a swept key or a metric in what it shows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from binwright.simcore.errors import UserError, suggest

if TYPE_CHECKING:
    from binwright.analysis.results.folder import ResultsFolder

FORM = "NAME=TEXT"


def head(results: Sequence[ResultsFolder], texts: Sequence[str]) -> None:
    """Show results under headings written `NAME=TEXT`; a name may hold `=`, as `best-fit(node=loose)`."""
    if not (results and texts):
        return
    known = {name for one in results for name in (*one.runs.columns, *one.runs["agent"].unique())}
    headings = dict(_heading(text, known) for text in texts)
    for one in results:
        one.columns = one.columns.headed(headings)


def _heading(text: str, known: Collection[str]) -> tuple[str, str]:
    if "=" not in text:
        raise UserError("names no value", key=f"--heading {text}", remedy=f"Write --heading {FORM}.")
    ends = [at for at, sign in enumerate(text) if sign == "="]
    for end in reversed(ends):
        for name in (text[:end], Path(text[:end]).name):  # an agent's file, by the path of its scenario
            if name in known:
                if not text[end + 1 :].strip():
                    raise UserError("has no text", key=f"--heading {text}", remedy=f"Write --heading {FORM}.")
                return name, text[end + 1 :]
    name = text[: ends[0]]
    remedy = suggest(name, known)
    raise UserError("is no agent, swept key or metric of these results", key=f"--heading {name}", remedy=remedy)
