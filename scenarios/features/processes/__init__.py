"""Processes of one's own: generator functions of SimPy that see a run, and change its cluster and its requests."""

from collections.abc import Callable, Generator
from functools import partial
from inspect import isgeneratorfunction
from typing import Any, ClassVar

from pydantic import Field

from binwright.agents.world import Luck
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.features.feature import Feature, Point
from binwright.scenarios.features.moves.run import Moving
from binwright.simcore.clock import Event
from binwright.simcore.errors import RunError, place_in
from binwright.simcore.fields import Model, checked, wrong
from binwright.simcore.options import Registered, check_options
from binwright.simcore.registry import Registry

PROCESSES = Registry("process", "binwright.processes", {}, functions=True)


class ProcessSpec(Registered):
    """A generator function, `package.module:function` or `file.py:function`, alone or with its options."""

    registry: ClassVar[Registry] = PROCESSES
    what: ClassVar[str] = "process"
    by_word: ClassVar[bool] = True

    @classmethod
    def check(cls, name: str, options: Any) -> None:
        function = checked(cls.registry.load, (name,))(name)
        if not isgeneratorfunction(function):
            remedy = "Write `def mine(simulation): ...` with a `yield simulation.env.timeout(60)` in it."
            raise wrong("is no generator function", remedy, (name,))
        check_options(partial(function, None), options, (name,))

    def build(self) -> Callable[[Simulation], Generator[Event, Any, None]]:
        name, options = self.chosen
        function = self.registry.load(name)
        return partial(function, **check_options(partial(function, None), options))


class _Keys(Model):
    processes: tuple[ProcessSpec, ...] = Field(
        (), examples=["[mine.py:autoscale]", "[{mine.py:autoscale: {when: 0.8}}]"]
    )
    """Generator functions of SimPy that get the simulation: they may grow, drain, fail, move and more."""


class _Feature(Feature):
    key = "processes"
    keys: ClassVar = {"": _Keys}
    learned = False
    drains = grows = True

    def stepped(self, scenario: Any, together: bool) -> bool:
        return together

    def begin(self, point: Point, simulation: Simulation, luck: Luck) -> None:
        if simulation.moving is None and not point.scenario.cluster.predicted:
            Moving(simulation, point.scenario.moves)
        for spec in point.scenario.processes:
            simulation.env.process(_driven(simulation, spec.chosen[0], spec.build()))


def _driven(
    simulation: Simulation, name: str, process: Callable[[Simulation], Generator[Event, Any, None]]
) -> Generator[Event, Any, None]:
    """Go on with a process, which sees all that is free now; what it raises is an error that says where."""
    view = simulation.view
    try:
        generator, value = process(simulation), None
        while True:
            view.free, view.now = view.everything_free, simulation.now
            event = generator.send(value)
            if not isinstance(event, Event):
                raise TypeError(f"it yielded {event!r}, which is no event such as simulation.env.timeout(60)")
            value = yield event
    except StopIteration:
        return
    except Exception as error:
        at = place_in(getattr(process, "func", process).__module__, error)
        raise RunError(f"the process {name} raised {error!r} at {at}, at {simulation.now:g} s") from error


FEATURE = _Feature()
