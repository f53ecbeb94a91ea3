"""One run whose cells are played by actors of a Ray cluster; this process routes, looks, keeps and writes."""

from __future__ import annotations

import logging
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from scenarios.batch.attempt import Task, attempt, failed
from scenarios.batch.journal import Row
from scenarios.batch.on_ray import PATIENCE, SLOW, TRIES, RayCluster, check_code, fetched, no_worker
from scenarios.build.engines import agents_of
from scenarios.build.world import build_world
from scenarios.run.going import Tell
from simcore.cores import ONE_THREAD
from simcore.errors import RunError

if TYPE_CHECKING:
    from fabric.compiled.cells_run import CellSimulation, Crew

LOG = logging.getLogger("binwright")


def rows_in_cells(cluster: RayCluster, tell: Tell, tasks: Sequence[Task]) -> Generator[tuple[Task, Row], None, None]:
    """Do tasks one after another, as a `Backend`, with the cells of each on the whole cluster.

    One that loses a worker or a node is done again, from where it was kept.
    """
    for task in tasks:
        yield task, _row(cluster, tell, task)


def _row(cluster: RayCluster, tell: Tell, task: Task) -> Row:
    for _ in range(TRIES):
        actors = Actors(cluster, task)
        row = attempt(task, tell, actors.hire)
        if not actors.lost:
            return row
    return failed(task, f"{actors.lost} (it was tried {TRIES} times)")


class Actors:
    """Plays the cells of one run. `lost` says what became of an actor, if one is lost."""

    def __init__(self, cluster: RayCluster, task: Task) -> None:
        self._cluster, self._task, self.lost = cluster, cluster.with_copy(task), ""

    @contextmanager
    def hire(self, simulation: CellSimulation) -> Iterator[Crew]:
        """Start actors, for `CellSimulation.hire`: as many as there are CPUs for them, and cells at most."""
        import ray

        from fabric.compiled.cells_apart import Team, part_of

        cells = simulation.cells
        made = ray.remote(num_cpus=1, max_restarts=0)(_Actor)
        actors = [made.remote() for _ in range(self._cluster.at_once(len(cells)))]
        try:
            there = _up(actors)
            shares = [share.tolist() for share in np.array_split(np.arange(len(cells)), len(there))]
            asked = ray.put(simulation.requests)
            parts = [[part_of(cells[cell]) for cell in share] for share in shares]
            with self._noting():
                begun = [actor.begin.remote(self._task, asked, mine) for actor, mine in zip(there, parts, strict=True)]
                for ref in begun:
                    fetched(ref)
            yield Team(simulation, shares, lambda number, *what: there[number].do.remote(*what), self._get)
        finally:
            for actor in actors:
                ray.kill(actor)

    def _get(self, refs: list[Any]) -> list[Any]:
        """Wait for what actors do; what goes wrong there is raised here, as if it were in a thread."""
        import ray

        with self._noting():
            try:
                found: list[Any] = ray.get(refs)
            except ray.exceptions.RayTaskError:
                for ref in refs:  # where several went wrong, the first cell's error is that of threads
                    _raise(ref)
                raise
        return found

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Note that an actor is lost."""
        import ray

        try:
            yield
        except ray.exceptions.RayError as error:
            self.lost = f"a Ray worker or node of its cells was lost: {str(error).splitlines()[0]}"
            raise RunError(self.lost) from None


def _raise(ref: Any) -> None:
    """Raise the error that an actor ended a call with, if it did."""
    import ray

    try:
        ray.get(ref)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None


def _up(actors: Sequence[Any]) -> list[Any]:
    """Wait for actors to come up; returns those that did: others may use the cluster, too."""
    import ray

    which = {actor.up.remote(): actor for actor in actors}
    ready, _ = ray.wait(list(which), num_returns=len(which), timeout=SLOW)
    if not ready:
        ready, _ = ray.wait(list(which), timeout=PATIENCE - SLOW)
    if not ready:
        raise no_worker()
    if len(ready) < len(actors):
        LOG.warning(f"binwright: {len(ready)} of {len(actors)} Ray workers came up within {SLOW} s, and do it all")
    return [actor for ref, actor in which.items() if ref in ready]


class _Actor:
    """Holds some cells, on a node."""

    def up(self) -> None:
        """Answer when it is up."""

    def begin(self, task: Task, asked: Any, parts: Sequence[Any]) -> None:
        """Take the cells; the rule is that of the task's agent, which is made here."""
        os.environ.update({name: os.environ.get(name, value) for name, value in ONE_THREAD.items()})
        check_code(task.version, task.code)
        from fabric.compiled.cells_apart import Apart

        agent, _ = agents_of(task.run, build_world(task.run.scenario))
        rule = agent.compiled
        assert rule
        self._cells = Apart(asked, rule.scan, parts)

    def do(self, what: str, *arguments: Any) -> Any:
        """Do a method of `Apart`."""
        return getattr(self._cells, what)(*arguments)
