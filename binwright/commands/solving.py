"""`solve`: specifications of allocation problems and their answers."""

from __future__ import annotations

import csv
import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.live import Live
from rich.table import Table

from binwright.commands.console import entry, many_of, out, seconds
from binwright.solved import as_json, properties
from simcore.errors import UserError, suggest

if TYPE_CHECKING:
    from binwright.commands.serving import There

UNSOLVED = 1
"""Exit code: no allocation of all balls was found."""
SHOWN, RUNS, MOVES, WHY = 100, 200, 20, 3
"""Bins of a table, ranges of balls of a bin, moves, and balls left out whose obstacles are printed."""


Told = Callable[[dict[str, Any]], None]
"""Is told the best so far: a `Progress` as a dictionary, and of how many units."""


def solve(asked: Namespace) -> int:
    """Answer `binwright solve FILE`, or list devices with `--devices`."""
    if asked.devices:
        return _devices(asked.json)
    if asked.file is None:
        raise UserError(
            "there is nothing to solve",
            key="solve",
            remedy="Name a specification (*.alloc) or a shipped example: binwright solve vm-placement.",
        )
    limit = seconds("--time", asked.time)
    params = parameters(asked.sets)
    source: Here | There
    if asked.server is None:
        source = Here(asked, params)
    else:
        from binwright.commands.serving import There

        source = There(asked, params)
    if asked.check:
        known = source.properties()
        if asked.json:
            print(json.dumps(known))
        else:
            _print_properties(known)
        return 0
    quiet = asked.json or asked.csv
    with Live(console=out, transient=True, auto_refresh=False) as live:
        found = source.answer(limit, _shower(live) if out.is_terminal and not quiet else None)
    if asked.json:
        print(json.dumps(found))
    elif asked.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(("ball", "bin"))
        name_of = [_names(found, kind) for kind in ("ball", "bin")]
        rows = enumerate(found["alloc"])
        writer.writerows((name_of[0](ball), None if place is None else name_of[1](place)) for ball, place in rows)
    else:
        _print_answer(found)
    sys.stdout.flush()  # a thread may go on with compiling
    return 0 if found["status"] in ("optimal", "solved") else UNSOLVED


def _devices(as_json: bool) -> int:
    """List the OpenCL devices of this machine."""
    from agents.solver.backends.devices import INSTALL, devices

    known = devices()
    if as_json:
        listed = [{"device": f"opencl:{one.number}"} | asdict(one) | {"usable": one.usable} for one in known]
        print(json.dumps(listed))
        return 0
    for one in known:
        usable = "yes" if one.usable else f"no: {one.reason}"
        entry(f"opencl:{one.number}", one.name, driver=f"{one.platform} {one.driver}", kind=one.kind, usable=usable)
    if not any(one.usable for one in known):
        out.print(f"No OpenCL device can be used.\n{INSTALL}", highlight=False, markup=False, soft_wrap=True)
    return 0


class Here:
    """Solves in this process."""

    def __init__(self, asked: Namespace, params: dict[str, str]) -> None:
        self._began = monotonic()
        from agents.solver import changed, load_problem

        self._asked = asked
        given = load_problem(asked.file, params)
        self._problem = changed(given, *change(asked, given.ball_names, given.bin_names))

    def properties(self) -> dict[str, Any]:
        """Return what the compiler knows."""
        return properties(self._problem)

    def answer(self, seconds: float, tell: Told | None) -> dict[str, Any]:
        """Return the answer in the shape of `as_json`."""
        from agents.solver.solving.solve import solve

        asked, units = self._asked, len(self._problem.units)
        progress = None if tell is None else lambda now: tell(asdict(now) | {"units": units})
        how = {"device": asked.device, "search": asked.search, "seed": asked.seed}
        left = max(min(0.001, seconds), seconds - (monotonic() - self._began))  # reading may have taken it all
        return as_json(solve(self._problem, time=left, progress=progress, **how))


_MEANING = {
    "alloc_free": "what a ball uses does not depend on the others",
    "non_negative": "no ball frees what others use",
    "bin_local": "a ball touches dimensions of its own bin only",
    "bin_blind": "what a ball uses does not depend on which bin it is in",
    "distinct": "no call touches a dimension twice",
    "vector": "has a dense form, for the fast searches",
}


def _print_properties(known: dict[str, Any]) -> None:
    size = f"{known['balls']} balls, {known['bins']} bins, {known['dims']} dimensions"
    more = " with as few bins as may be tried" if known["bins"] == "?" else ""
    out.print(f"{size}{more}", highlight=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=False)
    for name, meaning in _MEANING.items():
        table.add_row(name.replace("_", "-"), "yes" if known[name] else "no", meaning)
    table.add_row("steps", f"{known['steps']:,}", "at most, per call of UTILFN")
    table.add_row("additions", f"{known['adds']:,}", "at most, per call of UTILFN")
    out.print(table)
    for guard in known["guards"]:
        out.print(f"line {guard['line']}: {guard['what']} is tested at run time, and rejects", highlight=False)


def _shower(live: Live) -> Told:
    """Print one line, again and again."""

    def show(now: dict[str, Any]) -> None:
        pace = now["checked"] / max(now["seconds"], 1e-9)
        bins = f"{now['bins']} bins (bound {now['bound']})"
        placed = f"{now['placed']} of {now['units']} placed"
        goals = "".join(f", {value:,.6g}" for value in now.get("goals", ()))
        live.update(f"{bins}, {placed}{goals}, {now['checked']:,} solutions checked, {pace:,.0f}/s", refresh=True)

    return show


def _names(found: dict[str, Any], kind: str) -> Callable[[int], str]:
    """Return what says how a ball or a bin of an answer is called."""
    names: list[str] | None = found.get(f"{kind}_names")
    return str if names is None else names.__getitem__


def _print_answer(found: dict[str, Any]) -> None:
    """Print the answer as a table, bin by bin."""
    ball_name, bin_name = _names(found, "ball"), _names(found, "bin")

    def listed(balls: list[int]) -> str:
        if not found["ball_names"]:
            return _ranges(balls)
        return ", ".join(map(ball_name, balls[:RUNS])) + (
            f" and {len(balls) - RUNS:,} more" if len(balls) > RUNS else ""
        )

    table = Table("bin", "balls", "", box=box.SIMPLE_HEAD, pad_edge=False)
    alloc = np.array([-1 if place is None else place for place in found["alloc"]])
    for place in range(min(found["bins"], SHOWN)):
        balls = np.flatnonzero(alloc == place)
        table.add_row(bin_name(place), str(len(balls)), listed(balls.tolist()))
    out.print(table)
    if found["bins"] > SHOWN:
        out.print(f"and {found['bins'] - SHOWN:,} bins more: --csv and --json have them all", highlight=False)
    left = np.flatnonzero(alloc < 0)
    if len(left):
        out.print(f"not placed: {listed(left.tolist())}", highlight=False, markup=False, soft_wrap=True)
        print_left(found["left"][:WHY], len(left), ball_name)
    if found["impossible"]:
        out.print(f"not all can be placed: {found['impossible']}", highlight=False, soft_wrap=True)
    for goal in found["goals"]:
        best = "no allocation is better" if goal["gap"] == 0 else f"bound {goal['bound']:,.15g}"
        line = f"{goal['aim'].lower()} {goal['text']}: {goal['value']:,.15g} ({best})"
        out.print(line, highlight=False, markup=False, soft_wrap=True)
    if found["moves"] is not None:
        _print_moves(found["moves"], ball_name, bin_name)
    for note in found["notes"]:
        out.print(note, highlight=False, soft_wrap=True)
    bins = many_of(found["bins"], "bin")
    if found["used"] < found["bins"]:
        bins = f"{found['used']} of {bins}"
    if found["searched"]:
        bins += f" (bound {found['bound']}, gap {found['gap']})"
    placed = f"{found['placed']} of {found['balls']} balls in {bins}"
    checked = f"{found['search']}: {many_of(found['checked'], 'solution')} checked in {found['seconds']:.2f} s"
    ended = ", interrupted" if found["interrupted"] else ""
    out.print(f"{found['status']}{ended}: {placed}; {checked}", highlight=False, soft_wrap=True)


def print_left(found: list[dict[str, Any]], count: int, name_of: Callable[[int], str]) -> None:
    """Say what stands in the way of balls that are left out, of so many."""
    for one in found:
        rules = (f"{rule} in {'1 bin' if bins == 1 else f'{bins:,} bins'}" for rule, bins in one["in_the_way"].items())
        way = ", ".join(rules) or "nothing, in some bin: it fits"
        out.print(f"{name_of(one['ball'])} is not placed: {way}", highlight=False, markup=False, soft_wrap=True)
    if 0 < len(found) < count:
        out.print(f"and {count - len(found):,} more: binwright explain FILE ANSWER --ball N", highlight=False)


def _print_moves(moves: list[dict[str, Any]], ball_name: Callable[[int], str], bin_name: Callable[[int], str]) -> None:
    """Say which balls leave their bins."""
    each = (
        f"{ball_name(one['ball'])} from {bin_name(one['from'])} to "
        f"{'nowhere' if one['to'] is None else bin_name(one['to'])}"
        for one in moves
    )
    listed = ", ".join(islice(each, MOVES))
    more = f", and {len(moves) - MOVES:,} more" if len(moves) > MOVES else ""
    how_many = "1 ball moves" if len(moves) == 1 else f"{len(moves):,} balls move"
    out.print(f"{how_many}{': ' if moves else ''}{listed}{more}", highlight=False, soft_wrap=True)


def change(
    asked: Namespace, ball_names: Sequence[str] = (), bin_names: Sequence[str] = ()
) -> tuple[list[int] | None, int | None, list[int]]:
    """Read what `--from`, `--moves` and `--drain` say: the bins of all balls, the number, and the bins."""
    now = None if asked.now is None else bins_of(Path(asked.now), ball_names, bin_names)
    return now, asked.moves, [] if asked.drain is None else list(_drained(asked.drain, bin_names))


def _drained(text: str, names: Sequence[str]) -> Iterator[int]:
    """Read 3,5-7, or names of bins."""
    for part in (one.strip() for one in text.split(",")):
        low, dash, high = part.partition("-")
        if part in names:
            yield names.index(part)
        elif not names and low.isdecimal() and (not dash or high.isdecimal()):
            yield from range(int(low), int(high or low) + 1)
        else:
            remedy = suggest(part, names) if names else "Write numbers and ranges: 3,5-7."
            raise UserError("is no list of bins", key="--drain", value=text, remedy=remedy)


def bins_of(file: Path, ball_names: Sequence[str] = (), bin_names: Sequence[str] = ()) -> list[int]:
    """Read the bins of an answer, as `--json` or `--csv` printed it; -1 for balls that have none.

    Where balls have names, those that are not in the file are new, and those that are only there are gone.
    """
    from agents.solver.specification.load import text_of

    text = text_of(file)
    try:
        if text.lstrip().startswith("{"):
            found = json.loads(text)
            ball_name, bin_name = _names(found, "ball"), _names(found, "bin")
            places = enumerate(found["alloc"])
            rows = [(ball_name(ball), None if place is None else bin_name(place)) for ball, place in places]
        else:
            rows = [(row["ball"], row["bin"] or None) for row in csv.DictReader(text.splitlines())]
        if ball_names:
            bins = dict(rows)
            places_of = [bins.get(name) for name in ball_names]
        else:
            numbered = {int(ball): place for ball, place in rows}
            if len(numbered) != len(rows) or numbered.keys() != set(range(len(rows))):
                raise ValueError("balls are not 0, 1, 2, ...")
            places_of = [numbered[ball] for ball in range(len(rows))]
        if bin_names:
            number_of = {name: number for number, name in enumerate(bin_names)}
            return [-1 if place is None else number_of.get(place, -1) for place in places_of]
        return [-1 if place is None else int(place) for place in places_of]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        remedy = "Give what solve --json or solve --csv printed: the columns ball and bin, a row for every ball."
        raise UserError(f"does not say where balls are: {error}", file=file, remedy=remedy) from None


def _ranges(numbers: Iterable[int]) -> str:
    """0-2, 5."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    more = f" and {len(runs) - RUNS:,} ranges more" if len(runs) > RUNS else ""
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in runs[:RUNS]) + more


def parameters(sets: Iterable[str]) -> dict[str, str]:
    """Read what `--set PARAM=NUMBER` says."""
    return dict(map(_param, sets))


def _param(text: str) -> tuple[str, str]:
    """`RACKS=4`."""
    name, equals, value = text.partition("=")
    if not equals:
        raise UserError("is not a parameter", key=f"--set {text}", remedy="Write --set PARAM=number.")
    return name, value
