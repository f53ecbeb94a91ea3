"""Plays a function `score` in a process of its own: with limits of time and memory, without files and network.

The language of such a function already knows nothing but arithmetic (`agents.formulas.source`). The process keeps what
never ends, or fills the memory, from harming anybody, and can open nothing should that language have a hole.
"""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from binwright.agents.formulas.program import no_score
from binwright.scenarios.batch.pool import child
from binwright.scenarios.evaluation.prepared import AgentFactory, PreparedScenario, reason_of
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.cores import ONE_THREAD
from binwright.simcore.errors import RunError, UserError

MB = 2**20
STARTING = 300.0
"""Seconds that a process may take until it is ready."""
LONGEST, MOST = 86_400, 2**20
"""A day in seconds, and a terabyte in MB: the highest limits that may be asked for."""
_START = "from binwright.scenarios.evaluation.confined import work; work({handle})"


def check_limits(seconds: float, memory: int) -> None:
    """Refuse limits of a function that are none: seconds, and MB."""
    if not 0 < seconds <= LONGEST:
        remedy = f"Give seconds above 0, at most {LONGEST:,}."
        raise UserError("is no limit of time", key="seconds", value=seconds, remedy=remedy)
    if not 1 <= memory <= MOST or memory != int(memory):
        remedy = f"Give a whole number of MB from 1 to {MOST:,}."
        raise UserError("is no limit of memory", key="memory", value=memory, remedy=remedy)


class Confined:
    """A process that plays functions on some seeds; what they need of files is read before."""

    def __init__(self, scenario: Scenario, metric: str, seeds: Sequence[int], memory: int) -> None:
        self._memory = memory
        self._process, self._pipe = child(_START, {**os.environ, **ONE_THREAD})
        self._pipe.send((scenario, metric, list(seeds), memory))
        if not self._pipe.poll(STARTING):
            self.end()
            raise RunError("the process that plays functions did not start")
        problem = b""
        with suppress(EOFError):
            problem = self._pipe.recv_bytes()
        if problem:
            self.end()
            remedy = "Give an expression, or functions that you trust, as an agent or a @cheapest function."
            raise UserError(f"this system confines no functions: {problem.decode()}", key="memory", remedy=remedy)

    def play(self, source: str, name: str, seconds: float) -> tuple[list[float], str] | str:
        """Return what a function has on each seed and `no_score`, or why it has nothing; then `alive` may be False."""
        try:
            self._pipe.send_bytes(json.dumps([source, name]).encode())
            if not self._pipe.poll(seconds):
                self.end()
                return f"took longer than {seconds:g} s"
            answer = json.loads(self._pipe.recv_bytes(MB))
        except (EOFError, OSError):
            self.end()
            return f"ended its process, perhaps for want of memory: it may have {self._memory // MB:,} MB"
        return answer if isinstance(answer, str) else tuple(answer)

    @property
    def alive(self) -> bool:
        """Whether the process can play more."""
        return self._process.poll() is None

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        self._pipe.close()


def work(handle: int) -> None:
    """Serve as such a process until nobody listens."""
    from binwright.agents.formulas.source import ScoreFunction, checked

    pipe = Connection(handle)
    scenario, metric, seeds, memory = pipe.recv()
    prepared = PreparedScenario(scenario, metric)
    for seed in seeds:
        prepared.world.draw(seed)
    for score in ("0", "-1e999"):  # one that places and one that refuses: all that is loaded late is there then
        rule = checked(f"def score():\n    return {score}")
        prepared.value(lambda rule=rule: ScoreFunction(rule), seeds[0])  # type: ignore[misc]
    try:
        _limit(memory)
    except (ImportError, OSError, ValueError) as error:
        pipe.send_bytes(str(error).encode() or b"it has no limits")
        return
    pipe.send_bytes(b"")
    with suppress(EOFError):
        while True:
            source, name = json.loads(pipe.recv_bytes())
            pipe.send_bytes(json.dumps(_played(prepared, seeds, source, name)).encode())


def _played(prepared: PreparedScenario, seeds: Sequence[int], source: str, name: str) -> Any:
    from binwright.agents.formulas.source import ScoreFunction, checked

    try:
        made = AgentFactory(partial(ScoreFunction, checked(source), name))
        found = [prepared.value(made, seed) for seed in seeds]
    except BaseException as error:  # whatever it is, it is a reason
        return reason_of(error)
    return found, no_score(sum(agent.lost for agent in made.agents), sum(agent.decisions for agent in made.agents))


def _limit(memory: int) -> None:
    """Let this process open nothing more, write nothing and take only so many bytes more; raises where that fails."""
    import resource

    limits = {resource.RLIMIT_NOFILE: 0, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0, resource.RLIMIT_NPROC: 0}
    with Path("/proc/self/statm").open() as file:
        limits[resource.RLIMIT_AS] = int(file.read().split()[0]) * resource.getpagesize() + memory
    for what, most in limits.items():
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))
