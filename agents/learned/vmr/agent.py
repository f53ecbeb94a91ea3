"""Defragments with the moves that vmr learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from binwright.agents.learned.common.tensors import Tensors, find, fitting, read
from binwright.agents.learned.vmr.form import LAYERS, Forward, shapes
from binwright.agents.learned.vmr.observation import NODE, PLACE, REQUEST, lost
from binwright.agents.learned.vmr.planning import follow
from binwright.agents.rules.moving import Standing, checked_size, moved, standing
from binwright.simcore.errors import UserError
from binwright.simcore.moves import Move, Mover, Running
from binwright.simcore.rng import stream
from binwright.simcore.types import QUANTUM, Ints, Request, View

SIZE = 16.0


class Vmr(Mover):
    """A network chooses a request, then a place for it, and again: two stages, as VMR2L.

    It lowers what requests of a `size`, in units of the first resource, cannot use of it node by node; 16 by default,
    or as trained. `weights` names shipped ones, `path` is a file that `binwright train` wrote; `untrained` are those
    with which training begins with seed 0, and `random` prefers nothing. Besides its favourite plan it tries so many
    `samples`, drawn by what it prefers, and takes the best of all: the first of equals.
    """

    reference = "Ding et al. 2025, VMR2L: Towards VM Rescheduling Optimization Through Deep RL, EuroSys"
    makes_room = False

    def __init__(
        self, weights: str = "generated", path: str | None = None, size: float | None = None, samples: int = 0
    ) -> None:
        self._control = weights if weights in CONTROLS and path is None else None
        self._file = None if self._control else find("vmr", weights, path, CONTROLS)
        self._size, self._samples = checked_size(size), samples
        if samples < 0:
            raise UserError("fewer than none", key="samples", value=samples, remedy="Give 0 or more.")

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Load the weights."""
        if self._file is None:
            tensors, notes = (untrained() if self._control == "untrained" else indifferent()), {}
        else:
            notes = read(self._file)[1]
            tensors = fitting(self._file, shapes(), described())
        self._forward, self._rng = Forward(tensors), rng
        self._quanta = round((self._size or notes.get("size", SIZE)) * QUANTUM)

    def plan(self, view: View, running: Running, moves: int, request: Request | None = None) -> Sequence[Move]:
        """Return the moves, in order; none where a request is to be made room for, which it has not learned."""
        if request is not None or not len(running.row):
            return []
        now = standing(view, running)
        best, least = np.zeros((0, 2), np.int64), int(now.free[:, :, 0].size * self._quanta)
        for sample in range(self._samples + 1):
            trial = Standing(*(part.copy() for part in now))
            drawn = self._rng if sample or self._control == "random" else None
            plan: Ints = follow(self._forward, trial, self._quanta, moves, drawn)
            after = sum(lost(server, self._quanta) for server in trial.free)
            if after < least:
                best, least = plan, after
        return moved(running, now, best)


CONTROLS: tuple[Literal["untrained"], Literal["random"]] = ("untrained", "random")


def indifferent() -> Tensors:
    """Return weights that prefer nothing."""
    return {name: np.zeros(shape, np.float32) for name, shape in shapes().items()}


def untrained(seed: int = 0) -> Tensors:
    """Return weights as at the beginning of training: uniform, by the number of inputs."""
    rng, found = stream(seed, "train", "weights"), {}
    for name, (inputs, outputs) in LAYERS.items():
        bound = 1 / np.sqrt(inputs)
        found[f"{name}.weight"] = rng.uniform(-bound, bound, (outputs, inputs)).astype(np.float32)
        found[f"{name}.bias"] = rng.uniform(-bound, bound, outputs).astype(np.float32)
    return found


def described() -> dict[str, Any]:
    """Return what the notes beside the weights say of what is seen."""
    return {"agent": "vmr", "seen": [NODE, REQUEST, PLACE]}
