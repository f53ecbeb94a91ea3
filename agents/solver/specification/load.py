"""Get problems from files, from shipped examples, and from Python."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binwright.agents.solver.language.tables import Now
from binwright.agents.solver.model.problem import Problem
from binwright.simcore.errors import UserError, meant, suggest, unread
from binwright.simcore.extras import need

if TYPE_CHECKING:
    from binwright.agents.solver.specification.spec import Spec


EXAMPLES = Path(__file__).parents[1] / "examples"


def examples() -> dict[str, str]:
    """Return the shipped specifications: name and text."""
    return {file.stem: file.read_text(encoding="utf-8") for file in sorted(EXAMPLES.glob("*.alloc"))}


def load_problem(
    source: str | Path,
    params: Mapping[str, object] | None = None,
    now: Now | None = None,
    moves: int | None = None,
    drain: Iterable[int | str] = (),
) -> Problem:
    """Load the problem in a file, or in a shipped example by name; the rest is as in `problem`.

    With `BINS ?` it has the least number of bins that may be tried.
    """
    path = Path(source)
    if not path.is_file() and str(source) in examples():
        path = EXAMPLES / f"{source}.alloc"
    if not path.is_file():
        remedy = meant(path, ".alloc") or suggest(str(source), examples())
        raise UserError("no such file or example", file=path, remedy=remedy)
    return specification(text_of(path), file=path, params=params).changed(now, moves, drain).problem()


def text_of(path: Path) -> str:
    """Read a text file."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem, remedy = unread(error, path, "Give a text file in UTF-8.")
        raise UserError(problem, file=path, remedy=remedy) from None


def problem(
    text: str,
    *,
    tables: Mapping[str, Any] | None = None,
    params: Mapping[str, object] | None = None,
    now: Now | None = None,
    moves: int | None = None,
    drain: Iterable[int | str] = (),
) -> Problem:
    """Make a problem from a specification's text.

    `tables` are numpy arrays, or sequences of rows of unequal length; they take the place of TABLEs of the same name,
    or are added. `params` are the values of PARAMs. `now` has the bin that each ball is in now, -1 or None for none, or
    a mapping from balls to bins; `moves` is how many may leave it, `drain` has bins that are to be empty. Balls and
    bins that have names are named by them.
    """
    if not isinstance(text, str):
        raise UserError("is no text", key="problem", value=text, remedy="Give the text of a specification.")
    return specification(text, params=params, tables=tables).changed(now, moves, drain).problem()


def specification(text: str, **more: Any) -> "Spec":
    """Return `Spec(text, **more)`; raises `UserError` if lark is not installed."""
    need("lark", "solver", what="the solver")
    from binwright.agents.solver.specification.spec import Spec

    return Spec(text, **more)
