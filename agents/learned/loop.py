"""Trains one agent with one seed, with logs, checkpoints and validation, and goes on where it was interrupted.

A folder holds `state` (what training goes on from), `best` (the weights with the best validation) and, if asked for,
`step-N` (those of every validation), as .safetensors with a .json beside, and `log.parquet`, a row per iteration and
per validation. Notes of the weights say after which iteration they were validated (`trained`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from operator import attrgetter
from pathlib import Path
from time import perf_counter, process_time
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
from pydantic import Field

from binwright.agents.learned.weights import Tensors, extra, read, write
from binwright.agents.world import World
from binwright.simcore.errors import UserError
from binwright.simcore.extras import pl
from binwright.simcore.files import sync, write_table

Count: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=100_000_000)]
CountFromZero: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=100_000_000)]
Positive: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
FromZero: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
PositiveShare: TypeAlias = Annotated[float, Field(gt=0, le=1)]
Row: TypeAlias = dict[str, Any]

TRAINING = 2**40
"""Seeds of training requests start here: far from those of any scenario."""
PATIENCE = 10.0
"""Seconds between two checkpoints; there is always one at the end, whatever ends it."""
ANEW = "Give --fresh to begin again, or name another folder with --out."


class Trainer(ABC):
    """Trains one agent. Constructor arguments are the settings of the YAML.

    What happens in iteration n depends on the seed, on n, and on what `save` saves: nothing else is needed to go on.
    """

    score: ClassVar[str] = "acceptance"
    """Which metric of `validate` is to be as large as possible."""
    warms: ClassVar[bool] = False
    """Whether its episodes begin as the scenario's `warm_start` says; a scenario with one is refused otherwise."""
    state: ClassVar[tuple[str, ...]] = ()
    """The attributes, dotted, that training goes on from: numbers, arrays that are replaced and not written to, and
    modules, optimisers and dictionaries of tensors of torch."""

    @abstractmethod
    def begin(self, training: World, validation: World, seed: int) -> None:
        """Make what is trained."""

    @abstractmethod
    def iterate(self, iteration: int) -> dict[str, float]:
        """Train for one iteration and return metrics. Iterations count from 1."""

    @abstractmethod
    def validate(self, world: World, seeds: Sequence[int]) -> dict[str, float]:
        """Return metrics of the agent, as it would be used, on a world's requests of these seeds."""

    @abstractmethod
    def weights(self) -> tuple[Tensors, dict[str, Any]]:
        """Return what the agent needs in use: arrays, and notes that say what they are for."""

    def save(self) -> tuple[Tensors, dict[str, Any]]:
        """Return everything that training goes on from: arrays, and notes that JSON can hold."""
        values = {name: attrgetter(name)(self) for name in self.state}
        notes = {name: value for name, value in values.items() if isinstance(value, int | float)}
        parts = (arrays_of(value, f"{name}.") for name, value in values.items() if name not in notes)
        return {name: array for part in parts for name, array in part.items()}, notes

    def load(self, tensors: Tensors, notes: dict[str, Any]) -> None:
        """Go on from what `save` returned."""
        for name in self.state:
            *owner, attribute = name.split(".")
            of = attrgetter(owner[0])(self) if owner else self
            value = getattr(of, attribute)
            if isinstance(value, int | float):
                setattr(of, attribute, notes[name])
            elif isinstance(value, np.ndarray):
                setattr(of, attribute, tensors[name])
            else:
                parts = {key.removeprefix(f"{name}."): tensors[key] for key in tensors if key.startswith(f"{name}.")}
                put_arrays(value, parts)


def arrays_of(value: Any, prefix: str = "") -> Tensors:
    """Return an array itself, or copies of the tensors of a module, an optimiser or a dictionary, by their names."""
    if isinstance(value, np.ndarray):
        return {prefix.removesuffix("."): value}
    if hasattr(value, "detach"):
        return {prefix.removesuffix("."): value.detach().cpu().numpy().copy()}
    if hasattr(value, "state_dict"):
        value = value.state_dict()["state"] if hasattr(value, "param_groups") else value.state_dict()
    parts = (arrays_of(part, f"{prefix}{name}.") for name, part in value.items())
    return {name: array for part in parts for name, array in part.items()}


def put_arrays(value: Any, arrays: Tensors) -> None:
    """Put what `arrays_of` returned back into a module, an optimiser or a dictionary of tensors, which changes."""
    torch = extra("torch")
    if not hasattr(value, "param_groups"):
        tensors = value.state_dict() if hasattr(value, "state_dict") else value
        with torch.no_grad():
            for name, tensor in tensors.items():
                tensor.copy_(torch.from_numpy(arrays[name]))
        return
    states: dict[int, dict[str, Any]] = {}
    for key, array in arrays.items():
        number, name = key.split(".")
        states.setdefault(int(number), {})[name] = torch.from_numpy(array.copy())
    value.load_state_dict({**value.state_dict(), "state": states})


@dataclass(frozen=True, slots=True)
class Course:
    """Holds everything that the outcome of a training depends on but for the seed.

    `terms` says the same in plain data, so that no checkpoint is continued on other terms. Every `every` iterations the
    agent is validated with the seeds `held_out`, then in the worlds `also`; with `keep` all weights are kept.
    """

    trainer: Callable[[], Trainer]
    training: World
    validation: World
    iterations: int
    every: int
    held_out: Sequence[int]
    threads: int
    terms: dict[str, Any]
    keep: bool = False
    also: Sequence[tuple[str, World, Sequence[int]]] = ()

    def validated(self, trainer: Trainer) -> dict[str, float]:
        """Return the metrics of a validation; those in other worlds begin with the name of the world."""
        metrics = trainer.validate(self.validation, self.held_out)
        for name, world, seeds in self.also:
            metrics |= {f"{name}_{metric}": value for metric, value in trainer.validate(world, seeds).items()}
        return metrics


class Training:
    """Trains one seed of a course, in a folder of its own; `step` iterations are done."""

    def __init__(self, course: Course, folder: Path, seed: int) -> None:
        self.course, self.folder, self.seed = course, folder, seed
        self.rows: list[Row] = []
        self.step, self._best, self._seconds, self._cpu = 0, None, 0.0, 0.0
        self._checkpoint: tuple[Tensors, dict[str, Any]] | None = None
        self._state = folder / "state.safetensors"
        self.trainer = course.trainer()
        if self._state.exists():
            self._resume()

    def _resume(self) -> None:
        tensors, notes = read(self._state, state=True)
        if notes["terms"] != self.course.terms:
            before, now = _flat(notes["terms"]), _flat(self.course.terms)
            differ = [key for key in {**now, **before} if now.get(key) != before.get(key)]
            was = ", ".join(f"{key} was {before.get(key)}, is {now.get(key)}" for key in differ)
            raise UserError(f"this checkpoint was trained on other terms: {was}", file=self._state, remedy=ANEW)
        self._checkpoint = tensors, notes["trainer"]
        self.step, self._best = notes["step"], notes["best"]
        self._seconds, self._cpu = notes["seconds"], notes["cpu_seconds"]
        # A log may be ahead of the checkpoint, never behind.
        log = pl.read_parquet(self.folder / "log.parquet").filter(pl.col("step") <= self.step)
        self.rows = [{key: value for key, value in row.items() if value is not None} for row in log.to_dicts()]

    def run(self, watch: Callable[[Row], None] = lambda row: None) -> None:
        """Train to the end, showing every row of the log to `watch`."""
        if self.step >= self.course.iterations:
            return
        extra("torch").set_num_threads(self.course.threads)
        self.trainer.begin(self.course.training, self.course.validation, self.seed)
        if self._checkpoint:
            try:
                self.trainer.load(*self._checkpoint)
            except KeyError as error:
                problem = f"this checkpoint is of another version of binwright: it has no {error}"
                raise UserError(problem, file=self._state, remedy=ANEW) from None
        sound: Callable[[], None] | None = None  # writes the last checkpoint that is known to be sound
        saved = perf_counter()
        try:
            while self.step < self.course.iterations:
                rows = self._iterate()
                sound = self._snapshot()
                for row in rows:
                    watch(row)
                if perf_counter() - saved > PATIENCE:
                    sound()
                    saved = perf_counter()
        finally:
            if sound is not None:
                best = self.folder / "best.safetensors"
                if best.exists():
                    tensors, notes = read(best)
                    write(best, tensors, {**notes, "iterations": self.step})
                sound()

    def _iterate(self) -> list[Row]:
        """Train for one iteration, and validate where it is time to; returns the new rows of the log."""
        begun, step = (perf_counter(), process_time()), self.step + 1
        rows = [self._row("train", self.trainer.iterate(step), *begun)]
        wrong = [key for key, value in rows[0].items() if isinstance(value, float) and not isfinite(value)]
        if wrong:
            left = f"state.safetensors has iteration {self.step}" if self.step else "there is no checkpoint yet"
            raise UserError(
                f"training went astray: {', '.join(wrong)} of iteration {step} is not a finite number; {left}",
                file=self.folder,
                remedy="Lower the learning rate (`rate`), and give --fresh or another folder with --out.",
            )
        if step == self.course.iterations or step % self.course.every == 0:
            row = self._row("validation", self.course.validated(self.trainer), *begun)
            score, rows = row[self.trainer.score], [*rows, row]
            if self._best is None or score > self._best:
                self._best = score
                self._write("best", row)
            if self.course.keep:
                self._write(f"step-{step}", row)
        self.step, self._seconds, self._cpu = step, rows[-1]["seconds"], rows[-1]["cpu_seconds"]
        self.rows += rows
        return rows

    def _row(self, split: str, metrics: dict[str, float], begun: float, cpu: float) -> Row:
        seconds, used = self._seconds + perf_counter() - begun, self._cpu + process_time() - cpu
        head = {"step": self.step + 1, "seconds": seconds, "cpu_seconds": used, "split": split, "seed": self.seed}
        return {**head, **metrics}

    def _write(self, name: str, row: Row) -> None:
        """Write the weights as they are, with the row of their validation."""
        tensors, notes = self.trainer.weights()
        write(self.folder / f"{name}.safetensors", tensors, {**notes, "trained": row, "terms": self.course.terms})

    def _snapshot(self) -> Callable[[], None]:
        """Keep all of this moment in memory and return a function that writes it."""
        tensors, trainer = self.trainer.save()
        rows, progress = list(self.rows), {"step": self.step, "seconds": self._seconds, "cpu_seconds": self._cpu}
        notes = {**progress, "best": self._best, "trainer": trainer, "terms": self.course.terms}

        def put() -> None:
            write_log(self.folder / "log.parquet", rows)
            write(self._state, tensors, notes)

        return put


def _flat(terms: Any, at: str = "") -> Row:
    """Flatten plain data to dotted keys; lists and empty mappings are values."""
    if not isinstance(terms, dict) or not terms:
        return {at: terms}
    return {key: value for name in terms for key, value in _flat(terms[name], f"{at}.{name}" if at else name).items()}


def write_log(file: Path, rows: Sequence[Row]) -> None:
    """Write rows as Parquet, whole or not at all; a row has null for what it does not say."""
    write_table(file, pl.DataFrame(rows, infer_schema_length=None))


def forget(folder: Path) -> None:
    """Remove what a training has left."""
    if (state := folder / "state.safetensors").exists():
        state.unlink()
        sync(folder)  # nothing else may be missing while it is there
    for name in ("state.json", "best.safetensors", "best.json", "log.parquet"):
        (folder / name).unlink(missing_ok=True)
    for file in folder.glob("step-*.*"):
        file.unlink()
