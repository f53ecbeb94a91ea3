"""`python -m benchmarks.solver_devices [--seconds S] [--attempts N] [--page]`: the published search on devices.

Attempts per second by numba and on every OpenCL device here, counts of what an attempt does, and what a graphics card
would make of them. Prints Markdown; with `--page` into docs/experiments/solver-devices.md.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time

from agents.solver.backends import cpu, opencl, reference
from agents.solver.backends.devices import Device, devices
from agents.solver.model.problem import Problem
from benchmarks import solver_counts as counts_of
from benchmarks.solver import WIDTH, pgrank
from benchmarks.solver_counts import H200, Counts, Predicted, counted, room, side_by_side, speculating
from benchmarks.solver_forms import hours, pods
from simcore.cores import usable_cpus

PAGE = Path(__file__).parents[1] / "docs/experiments/solver-devices.md"
TURNS = 3
PROBLEMS: dict[str, Callable[[], Problem]] = {
    "pgrank": pgrank,
    "pods": lambda: pods(1).problem,
    "hours": lambda: hours(1).problem,
}
HEAD = """# The published search on devices

How many attempts per second does the published search make on processors, by numba and by OpenCL, and how many would a
graphics card make? `python -m benchmarks.solver_devices --page` measured the first, counted what an attempt does,
computed a prediction from that, and wrote this page, on {cores} cores, load {load:.1f} when it began.
{found}

`pgrank` is 474 machines with five resources in 87 servers, which none can do, so every attempt is made to its end;
`pods` spreads replicas over zones, which makes balls look at where others are; `hours` has loads by the hour of which
one may be over (SOFT). How attempts lie over a device is told [in the
guide](../guides/solver.md#how-do-attempts-lie-over-a-device).

## Measured

Attempts per second of processor time, of all threads together, so that what else runs matters little: the median of
{rounds} turns of {seconds:g} s for each, and in brackets the least and the most. `32 lanes` is what graphics cards run,
which processors can run, too: one attempt per work-group, whose lanes speculate, or with SOFT 32 attempts side by side.
A processor takes the lanes in turns, so what they try in vain costs time there, and it is not chosen there. Several
devices here share the same cores: they show what sharing attempts out costs, not what it gains.

| problem | balls, bins | by | attempts per second of processor time |
| --- | --- | --- | --- |
"""
COUNTED = """
## Counted

What an attempt does on average, over attempts 0 to {last} in every grouping of the bins: the definition in plain Python
is run and watched. UTILFN counts as compiled, up to the first addition beyond a capacity. Instructions are those of 32
bits in UTILFN; an operation on 64 bits takes several:
{costs};
a read {read}, one of ALLOC {placed}, an addition with its test {add}, a turn of a loop {loop}.

| problem | units tried | placed | calls of UTILFN | instructions | of the longest | numbers read | groups filled |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""
ROUNDS = """
**Does it pay to speculate?** {width} lanes that run in lock-step take a round for as many calls as there are lanes, if
they find something to do. If they try bins for one unit only, all but one are idle in groups of one bin. If they also
try the units that come next, those that fail are done with many at a time, and what succeeds ends the round.

| problem | calls of UTILFN | rounds, bins only | rounds, units, too | times fewer | lanes busy before | and now |
| --- | --- | --- | --- | --- | --- | --- |
"""
PREDICTED = """
## Predicted for an {name}

This is arithmetic, not a measurement. The card has {processors} multiprocessors at {clock:.2f} GHz, each with
{issued:g} instructions on integers per cycle for the {lanes} lanes of a lock-step, room for {resident} work-groups, and
memory with {bandwidth:.1f} TB/s (data sheet). A number comes after {near:g} cycles from the first cache, {middle:g}
from the second and {far:g} from memory, and a result is there for the next instruction after {dependent:g} (as commonly
measured, rounded).

**One attempt per work-group**, whose lanes speculate: per attempt

- instructions I = rounds x ({round} + instructions of the longest call) + {draw} x units tried + {apply} x additions of
  a unit x placed + {group} x groups + {begin} x units;
- by instructions: multiprocessors x {issued:g} x clock / I attempts per second;
- by waiting: multiprocessors x {resident} x clock / (I x {dependent:g} + (rounds x {chain} + units tried) x cycles of a
  read), with all reads from the second cache, or from the first;
- by bytes: bandwidth / (2 x room + 8 x numbers read), where the room is what an attempt writes to.

**One attempt per lane**, {lanes} side by side, as where lanes cannot speculate:

- instead of rounds, the calls that neighbours wait for (of every unit those of the slowest of {sampled} attempts), each
  with {beside:g} instructions beside those of an average call and half as many reads that wait for one another; all
  else as above, for {lanes} attempts at once;
- by waiting: with all reads from memory, or from the second cache;
- by bytes: bandwidth / (2 x room + {sector} x (numbers read + 4 x units tried)), for lanes read at places of their own,
  and the least that memory gives is {sector} bytes.

| problem | how | room, bytes | instructions allow | waiting allows | bytes allow | predicted: millions per second |
| --- | --- | --- | --- | --- | --- | --- |
"""
FOOT = """
The prediction is the least of the three, rounded to two digits, in millions, and assumes that all multiprocessors have
work all the time. The numbers of instructions beside UTILFN are estimates from the kernels' source, and compilers and
caches do what they do: within a factor of three is all that such a sum can promise, and below is likelier than above.

What it says nonetheless: without speculation on units a card would make {slower:.1f} times fewer attempts at `pgrank`.
One attempt per lane would be held back by memory there: it makes {wider:.1f} times as many at best, and has to be given
{crowd:,} attempts before all lanes have one, where an attempt per work-group needs {few:,}.
"""


def shapes(problem: Problem, device: Device) -> Iterator[tuple[str, dict[str, int]]]:
    """List how a device may make attempts: as it chooses, and on processors also as graphics cards do."""
    yield "", {}
    if device.kind == "CPU":
        speculates = len(problem.soft_allowed) == 0
        yield (", 32 lanes", {"width": WIDTH} if speculates else {"beside": WIDTH})


def measured(name: str, problem: Problem, seconds: float) -> Iterator[str]:
    """Measure a problem by numba and on all devices, alone and together, in turns; yields rows."""
    usable = [one for one in devices() if one.usable]
    most = 1 << 40
    runs: dict[str, Iterator[reference.Found]] = {"numba": cpu.attempts(problem, 1, 0, most)}
    for device in usable:
        for how, options in shapes(problem, device):
            make = partial(opencl.attempts, problem, 1, 0, most, devices=[device.number])
            runs[f"opencl:{device.number}{how}"] = make(**options)  # type: ignore[arg-type]  # numbers all
    if len(usable) > 1:
        numbers = [device.number for device in usable]
        listed = ",".join(map(str, numbers))
        runs[f"opencl:{listed}"] = opencl.attempts(problem, 1, 0, most, devices=numbers)
    for found in runs.values():
        paced(found, seconds)
    turns = [[paced(found, seconds) for found in runs.values()] for _ in range(TURNS)]
    for how, *each in zip(runs, *turns, strict=True):
        rate = f"{median(each):,.0f} ({min(each):,.0f} to {max(each):,.0f})"
        yield f"| {name} | {problem.balls:,}, {problem.bins:,} | {how} | {rate} |"


def paced(found: Iterator[reference.Found], seconds: float) -> float:
    """Count attempts per second of processor time, once the first are made."""
    before, began = next(found).checked, process_time()
    for one in found:
        checked, busy = one.checked, process_time() - began
        if busy > seconds:
            break
    return (checked - before) / busy


def millions(value: float) -> str:
    """Write attempts per second in millions, with two digits."""
    return f"{float(f'{value / 1e6:.2g}'):g}"


def row(name: str, how: str, problem: Problem, one: Predicted) -> str:
    """Write a prediction."""
    waiting = " to ".join(map(millions, one.latency))
    limits = f"{millions(one.issue)} | {waiting} | {millions(one.memory)}"
    least, most = millions(one.least), millions(one.most)
    return f"| {name} | {how} | {room(problem):,} | {limits} | {least if least == most else f'{least} to {most}'} |"


def predictions(name: str, problem: Problem, counts: Counts) -> Iterator[tuple[str, str, Predicted]]:
    """Predict what suits a problem: lanes that speculate, with and without units, and attempts side by side."""
    if len(problem.soft_allowed) == 0:
        for what, how in (("rounds", "bins and units"), ("rounds_of_bins", "bins only")):
            yield name, f"per work-group, {how}", speculating(problem, counts, H200, counts.each(what))
    yield name, "per lane", side_by_side(problem, counts, H200)


def page(seconds: float, attempts: int) -> str:
    """Write the page, line by line."""
    usable = [one for one in devices() if one.usable]
    found = "Devices:\n" + (",\n".join(map(str, usable)) or "none") + "."
    if all(one.kind != "GPU" for one in usable):
        found += "\nNo graphics card was at hand."
    problems = {name: make() for name, make in PROBLEMS.items()}
    text = HEAD.format(cores=usable_cpus(), load=os.getloadavg()[0], found=found, seconds=seconds, rounds=TURNS)
    text += "".join(f"{line}\n" for name, problem in problems.items() for line in measured(name, problem, seconds))
    counts = {name: counted(problem, 1, range(attempts), H200.lanes) for name, problem in problems.items()}
    kinds = sorted(set(counts_of.COSTS.values()))
    alike = {cost: [kind for kind, one in counts_of.COSTS.items() if one == cost] for cost in kinds}
    costs = ", ".join(f"{'/'.join(names)} {cost}" for cost, names in alike.items())
    more = {"read": counts_of.READ, "placed": counts_of.PLACED, "add": counts_of.ADD, "loop": counts_of.LOOP}
    text += COUNTED.format(last=attempts - 1, costs=costs, **more)
    for name, one in counts.items():
        each = [one.each(what) for what in ("units", "placed", "calls", "instructions")]
        cells = [*each, one.longest, one.each("reads"), one.each("groups")]
        text += f"| {name} | {' | '.join(f'{cell:,.0f}' for cell in cells)} |\n"
    text += ROUNDS.format(width=H200.lanes)
    for name, one in counts.items():
        if len(problems[name].soft_allowed):
            continue
        calls, before, now = one.each("calls"), one.each("rounds_of_bins"), one.each("rounds")
        busy = " | ".join(f"{calls / rounds / H200.lanes:.0%}" for rounds in (before, now))
        text += f"| {name} | {calls:,.0f} | {before:,.0f} | {now:,.0f} | {before / now:.1f} | {busy} |\n"
    constants = {"dependent": counts_of.DEPENDENT, "chain": counts_of.CHAIN, "beside": counts_of.BESIDE}
    constants |= {"round": counts_of.ROUND, "draw": counts_of.DRAW, "apply": counts_of.APPLY}
    constants |= {"group": counts_of.GROUP, "begin": counts_of.BEGIN, "sampled": attempts}
    card = vars(H200) | {"clock": H200.clock / 1e9, "bandwidth": H200.bandwidth / 1e12}
    text += PREDICTED.format(**card, **constants)
    every = [one for name, problem in problems.items() for one in predictions(name, problem, counts[name])]
    text += "".join(f"{row(name, how, problems[name], one)}\n" for name, how, one in every)
    units, bins, lanes = (one for name, _, one in every if name == "pgrank")
    few = H200.processors * H200.resident
    slower, wider = units.least / bins.least, lanes.most / units.least
    return text + FOOT.format(slower=slower, wider=wider, few=few, crowd=few * H200.lanes)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the page, or write it."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--seconds", type=float, default=1.5)
    asked.add_argument("--attempts", type=int, default=16, help="that are counted, in every grouping")
    asked.add_argument("--page", action="store_true")
    given = asked.parse_args(argv)
    text = page(given.seconds, given.attempts)
    if given.page:
        PAGE.write_text(text, encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
