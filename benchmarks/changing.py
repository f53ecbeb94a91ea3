"""`python -m benchmarks.changing [--servers N ...] [--agents NAMES] [--page FILE]`: a decision where servers change.

`--vmagent FOLDER` and `--spane FOLDER` are copies of github.com/mail-ecnu/VMAgent and github.com/ChanTinPing/SPANE,
which answer the same requests; `--python` is a Python that has what they import (numpy, pandas, gym, gymnasium).

Servers of two nodes of 40 cores and 90 GB, each node free to a random extent. Requests of the six commonest sizes of
Huawei-East-1 come and take their place, and for each one somebody leaves a random server. The same requests are
answered by the scan over all servers and by the form of the rule that looks only at what changed, in turns. Prints, in
Markdown, microseconds of CPU of a decision, or writes the page.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from agents import AGENTS
from agents.heuristics.servers.first_fit import first_fit
from benchmarks.cells import cluster_of
from benchmarks.cvd import markdown
from benchmarks.decisions import SIZES
from fabric.changed_servers import SERVERS_WORTH_IT, log_of
from fabric.compiled.numa_loop import as_argument, demand_of, move
from fabric.ledger import Ledger
from fabric.ranking import KEPT, standings
from simcore.jit import kernel, prepared
from simcore.record import SPREAD
from simcore.types import QUANTUM, Agent, Amounts, Compiled, Floats, Ints

PAGE = Path(__file__).parents[1] / "docs/experiments/decisions.md"
RULES = "first-fit,best-fit,worst-fit,balance-fit,dot-product,internal,value-es,hindsight,random-top,cvd-rl"
SERVERS = [50, 500, 5000, 50_000, 1_000_000]
WARM, MOST, LEAST, TURNS = 1000, 50_000, 12, 3
"""Decisions before the clock starts; decisions that are timed, at most and at least; turns of each form."""
SERVERS_TIMES = 20_000_000
"""So many servers a form looks at in a turn, where there is time for it."""
AIM, AIM_LEARNED = 3, 10
"""How many times as much a decision may cost with the most servers."""
RIVALS = {"VMAgent": ("first-fit", "best-fit"), "SPANE": ("first-fit", "best-fit", "balance-fit")}
RIVALS_SERVERS_TIMES = SERVERS_TIMES // 40
SAME_RULE = {("VMAgent", "first-fit"), ("SPANE", "first-fit"), ("SPANE", "balance-fit")}
"""What a rival calls by the name of our rule is the same rule: the answers must be."""
TEXT = """# A decision at fifty servers and at a million

What does a decision cost where there are many servers?

    python -m benchmarks.changing --page{options}

measured it and wrote this page, on one core of {cores}, load {load:.1f} when it began. Servers have two nodes of 40
cores and 90 GB, each free to a random extent; requests of the six commonest sizes of Huawei-East-1 take their place,
and for each one somebody leaves a random server. Microseconds of CPU of a decision, the least of {turns} turns, less
what it takes to apply it.
The scan looks at all servers; the other form looks at those that changed since the demand was last asked for
([how](../developers/compiled-runs.md#what-changed)). Both had the same requests, in turns, and gave the same answers.
The last column compares the most servers with the fewest, each in the form that runs take there.
{rivals}
{table}

Runs take the form that looks at what changed from {worth_it} servers on, for first-fit from {first_worth_it:,} on. A
decision for one demand then looks at every server that changed since that demand was last asked for: with six demands
and two changes a request, twelve looks a decision on average. With few servers these are in the processor's nearest
cache, with a million they are in memory, which is asked for all twelve before the first is needed. The last row, which
has no rule at all, grows for the same reason.

`random-top` and `cvd-rl` choose among places that two orders like best. They keep a tree for each order, and a decision
looks besides at the few blocks of servers that are best.

The aim was that a decision costs at most {aim} times as much at the most servers as at the fewest, and at most
{aim_learned} times for rules that are learned. Within {aim} times are {met}.
Rules that cost next to nothing on few servers miss the aim.

The first two decisions for a demand look at all servers in either form, and are not in the times. Every demand that is
kept looks at every change: with twice as many kinds of demands a decision takes up to twice as long. At most {kept}
demands are kept, or {kept_twice} where there are two orders, in 3 bytes a server and order each; one more takes the
place of the one that was not asked for for the longest time.

`sched-rl` and `padrl` scan: what the one sees are all servers, and every request changes what all of the other's scores
have in common.
"""
TEXT_RIVALS = """
[VMAgent](https://github.com/mail-ecnu/VMAgent) and [SPANE](https://github.com/ChanTinPing/SPANE) answered the same
requests in the same turns, each in a process of its own, fewer of them, by what they call by the name of the rule.
First-fit and balance-fit are the same rules there, and gave the same answers. Best-fit is not: VMAgent's takes the
place that leaves most of its scarcer resource, SPANE's the place that has the least of it, by shares. SPANE's looks for
whether a request is spread where its environment no longer says it, and is told. Of VMAgent the choice alone is timed;
SPANE's rules are told which places fit, so finding that out is part of the time.
"""


class Requests(NamedTuple):
    """Holds what comes and goes: `demand` int64 [n, 2], `spread` bool [n], and the node that is left, int64 [n]."""

    demand: Ints
    spread: npt.NDArray[np.bool_]
    leaving: Ints
    nothing: Amounts


@kernel
def decide(
    rule: Any, weights: Any, free: Ints, capacity: Ints, log: Ints, asked: Requests, first: int, codes: Ints
) -> None:
    """Answer requests from the `first` on into `codes` int64 [any], and apply them; changes `free` and `log`."""
    servers = len(free)
    for i in range(len(codes)):
        demand, spread = demand_of(asked.demand, first + i, asked.nothing), asked.spread[first + i]
        code = rule(free, capacity, demand, spread, *weights)
        codes[i] = code
        if code < 0:
            continue
        move(free, free, log, demand, code // 2, SPREAD if spread else code % 2, -1)
        server, node = asked.leaving[first + i] // 2, asked.leaving[first + i] % 2
        for _ in range(50):  # whoever is first to have held as much
            fits = True
            for r in range(2):
                part = (demand[r] + 1) // 2 if spread else demand[r]
                fits &= free[server, node, r] + part <= capacity[server, node, r]
                fits &= not spread or free[server, 1 - node, r] + part <= capacity[server, 1 - node, r]
            if fits:
                move(free, free, log, demand, server, SPREAD if spread else node, 1)
                break
            server = (server + 1) % servers


State: TypeAlias = tuple[Ints, Ints, Requests]
"""What is free, the capacity, and requests."""


def drawn(servers: int, count: int) -> State:
    """Draw what is free, and requests."""
    rng = np.random.default_rng(servers)
    capacity = np.ascontiguousarray(cluster_of(servers).capacity)
    free = rng.integers(0, 41, (servers, 2, 1)) * np.array([1, 2]) + rng.integers(0, 11, (servers, 2, 2))
    chosen = rng.choice(len(SIZES), count, p=[size[2] for size in SIZES])
    demand = np.array([size[:2] for size in SIZES], np.int64)[chosen]
    leaving = rng.integers(0, 2 * servers, count)
    requests = Requests(demand * QUANTUM, demand[:, 1] > 10, leaving, (0, 0))
    return np.minimum(free * QUANTUM, capacity), capacity, requests


class Rival:
    """A rival, as a process of its own that answers the requests of `drawn`."""

    def __init__(self, name: str, folder: Path, python: str, servers: int, stack: ExitStack) -> None:
        free, capacity, requests = drawn(servers, WARM + MOST)
        path = Path(stack.enter_context(TemporaryDirectory()), "asked.npz")
        cpu, mem = (capacity[0, 0] // QUANTUM).tolist()
        given = {"free": free / QUANTUM, "cpu": cpu, "mem": mem, "demand": requests.demand / QUANTUM}
        np.savez(path, **given, spread=requests.spread, leaving=requests.leaving)
        script = Path(__file__).with_name("rival_decisions.py")
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        command = [python, "-P", str(script), name.lower(), str(folder.resolve()), str(path)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = stack.enter_context(subprocess.Popen(command, env=environment, cwd=path.parent, **pipes))
        assert self._process.stdin
        assert self._process.stdout
        self._asked: IO[str] = stack.enter_context(self._process.stdin)  # closed first, which ends it
        self._said: IO[str] = self._process.stdout
        self._name, self._count = name, max(LEAST, min(MOST, RIVALS_SERVERS_TIMES // servers))

    def timed(self, rule: str) -> tuple[float, Ints]:
        """Return the seconds of a decision, and the answers."""
        print(rule, self._count, file=self._asked, flush=True)
        line = self._said.readline()
        if not line:
            raise SystemExit(f"{self._name} does not run, see above. Does --python have what it imports?")
        found = json.loads(line)
        return found["seconds"], np.array(found["codes"])


@kernel
def told(free: Ints, capacity: Ints, demand: Amounts, spread: bool, answers: Floats) -> int:
    """Answer, as a `Scan`, with what is next in `answers` float64 [1 + any], whose first number counts; it changes."""
    answers[0] += 1
    return int(answers[int(answers[0])])


def timed(rule: Compiled, name: str, given: State, rivals: Mapping[str, Rival]) -> dict[str, float]:
    """Return the microseconds of a decision by the scan, by what changed and by the rivals, in turns.

    "none" are those of applying an answer, which are in no other form's.
    """
    free, capacity, requests = given
    scan: Any = rule.scan
    took: dict[str, float] = {}
    codes: dict[str, Ints] = {}
    for _ in range(TURNS):
        for form in ("scan", "what changed", "none"):
            state, log = free.copy(), log_of(len(free))
            by: Any = scan
            weights: tuple[Any, ...] = tuple(each.copy() for each in rule.weights)  # a random stream changes
            if form == "what changed":
                by, weights = scan.incremental, (*weights, log, *standings(state))
            elif form == "none":
                by, weights = told, (np.concatenate([[0], codes["what changed"]]).astype(np.float64),)
            look = len(free) if form == "scan" else 1
            warm, count = WARM if look == 1 else 1, min(MOST, max(LEAST, SERVERS_TIMES // look))
            first, answers = np.zeros(warm, np.int64), np.zeros(count, np.int64)
            fixed = as_argument(by, 2, weights), weights, state, capacity, log, requests
            run = prepared(decide, *fixed, 0, first)
            run(*fixed, 0, first)
            began = time.thread_time()
            run(*fixed, warm, answers)
            seconds = (time.thread_time() - began) / count
            took[form] = min(took.get(form, np.inf), seconds)
            codes[form] = np.concatenate([first, answers])
        for label, rival in rivals.items():
            seconds, codes[label] = rival.timed(name)
            took[label] = min(took.get(label, np.inf), seconds)
    for label, answers in codes.items():
        both = min(len(answers), len(codes["what changed"]))
        same = answers[:both] == codes["what changed"][:both]
        if label not in rivals or (label, name) in SAME_RULE:
            if not same.all():
                raise AssertionError(f"{name}: {label} answers request {int(np.argmin(same))} differently")
        else:
            print(f"{name}, {len(free):,} servers: {same.mean():.0%} of {label}'s answers are ours", file=sys.stderr)
    none = took["none"]
    return {form: (seconds - none * (form in ("scan", "what changed"))) * 1e6 for form, seconds in took.items()}


def rule_of(name: str, servers: int) -> Compiled:
    """Load an agent's rule."""
    agent: Agent = AGENTS.load(name)()
    agent.start(Ledger(cluster_of(min(servers, 50))).view, np.random.default_rng(0))
    rule = agent.compiled
    assert rule
    return rule


def table(names: list[str], servers: list[int], folders: Mapping[str, Path], python: str) -> tuple[str, str]:
    """Measure; returns a table in Markdown, and the rules whose costs grow by no more than `AIM`, in words."""
    rules = {name: rule_of(name, max(servers)) for name in names}
    times: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for count in servers:
        with ExitStack() as stack:
            rivals = {label: Rival(label, folder, python, count, stack) for label, folder in folders.items()}
            for name, rule in rules.items():
                known = {label: rival for label, rival in rivals.items() if name in RIVALS[label]}
                times[name].append(timed(rule, name, drawn(count, WARM + MOST), known))
    rows, met = [["rule", "", *(f"{count:,} servers" for count in servers), "times"]], []
    for name, rule in rules.items():
        worth_it = rule.scan.worth_it
        chosen = [
            each["what changed" if count >= worth_it else "scan"]
            for count, each in zip(servers, times[name], strict=True)
        ]
        met += [f"`{name}`"] if chosen[-1] <= AIM * chosen[0] else []
        for kind in times[name][0]:
            ratio = f"{chosen[-1] / chosen[0]:.1f}" * (kind == "what changed")
            if kind != "none":
                cells = [_shown(each[kind]) for each in times[name]]
                rows.append([f"`{name}`" * (kind == "scan"), kind, *cells, ratio])
    none = [min(each["none"] for each in column) for column in zip(*times.values(), strict=True)]
    rows.append(["to apply an answer", "", *(_shown(each) for each in none), f"{none[-1] / none[0]:.1f}"])
    return markdown(rows), ", ".join(met) or "none"


def _shown(microseconds: float) -> str:
    return f"{microseconds:.2f}" if microseconds < 100 else f"{microseconds:,.0f}"


def main() -> None:
    """Print a table, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, nargs="*", default=SERVERS)
    parser.add_argument("--agents", default=RULES)
    parser.add_argument("--page", type=Path, nargs="?", const=PAGE)
    for name in RIVALS:
        parser.add_argument(f"--{name.lower()}", type=Path, metavar="FOLDER")
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    folders = {name: getattr(options, name.lower()) for name in RIVALS if getattr(options, name.lower())}
    names = options.agents.split(",")
    found, met = table(names, options.servers, folders, options.python)
    if options.page:
        given = {"cores": os.cpu_count(), "load": load, "turns": TURNS, "table": found, "kept": KEPT}
        given |= {"aim": AIM, "aim_learned": AIM_LEARNED, "met": met, "kept_twice": KEPT // 2}
        first: Any = first_fit
        given |= {"worth_it": SERVERS_WORTH_IT, "first_worth_it": first.worth_it}
        given |= {"options": "".join(f" --{name.lower()} FOLDER" for name in folders)}
        text = TEXT.format(**given, rivals=TEXT_RIVALS if folders else "")
        options.page.write_text(text, "utf-8")
    print(found)


if __name__ == "__main__":
    main()
