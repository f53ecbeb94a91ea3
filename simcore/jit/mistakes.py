"""What is wrong with a kernel from outside, in words for whoever wrote it. Nothing has to be compiled for the most."""

from __future__ import annotations

import builtins
import dis
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

from binwright.simcore.errors import KernelError, from_here, nearest, short
from binwright.simcore.file_tracking import is_ours

Function = Callable[..., Any]

NEEDS_KERNEL = (
    "Write @kernel above that function (`from binwright.simcore.jit import kernel`): page 'An agent of your own'."
)
WHAT_IT_USES = "It can use numbers, arrays, loops and most of numpy: page 'An agent of your own'."


def undefined(function: Function, called: Callable[[object], Function | None], seen: set[Function]) -> None:
    """Refuse a name that nobody defines in a function from outside, or in one that it calls.

    `called` returns the function of what may be a kernel, and `seen` are those that need not be looked at again.
    """
    if function in seen:
        return
    seen.add(function)
    given: Any = function
    cells = zip(function.__code__.co_freevars, given.__closure__ or (), strict=True)
    known = {**vars(builtins), **given.__globals__, **{name: cell.cell_contents for name, cell in cells}}
    outside = not is_ours(Path(function.__code__.co_filename).resolve())
    for name, line in _named(function.__code__):
        if name in known:
            if (inner := called(known[name])) is not None:
                undefined(inner, called, seen)
        elif outside:
            near = nearest(name, {*function.__code__.co_varnames, *given.__globals__, *vars(builtins)})
            remedy = f"Did you mean {near!r}?" if near else "Define it above, or import it."
            raise mistake_in(function, f"uses {name}, which is not defined", remedy, line)


def _named(code: CodeType) -> Iterator[tuple[str, int | None]]:
    """Yield the names that a function takes from outside of it, with the lines where it does."""
    for one in dis.get_instructions(code):
        if one.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"):
            yield one.argval, one.positions.lineno if one.positions else None
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _named(inner)


def explained(failed: Sequence[tuple[Function, str]]) -> KernelError | None:
    """Say what numba said of the first function that is from outside; `None` where all are ours."""
    for function, said in failed:
        code = function.__code__
        file = Path(code.co_filename).resolve()
        if is_ours(file):
            continue
        text = re.sub(r"\x1b\[[0-9;]*m", "", said)
        lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("Failed in")]
        problem, remedy = lines[0], WHAT_IT_USES
        if problem.endswith("signature:") and len(lines) > 1:
            problem += f" {lines[1].removeprefix('>>> ')}"
        if plain := re.match(
            r"Untyped global name '(\w+)': Cannot determine Numba type of <class 'function'>", problem
        ):
            problem, remedy = f"it calls {plain[1]}, which is not compiled", NEEDS_KERNEL
        places = re.findall(r'File "([^"]+)", line (\d+)', text)
        line = next((int(line) for name, line in places if Path(name).resolve() == file), None)
        return mistake_in(function, f"cannot be compiled: {short(problem, 300)}", remedy, line)
    return None


def mistake_in(function: Function, problem: str, remedy: str, line: int | None = None) -> KernelError:
    """Make the error of a function: in its first line if none is known, its file as seen from the working folder."""
    code = function.__code__
    file, line = from_here(code.co_filename), line or code.co_firstlineno
    return KernelError(f"{code.co_qualname} {problem}", file=file, line=line, remedy=remedy)
