"""Trains one agent with one seed, with logs, checkpoints and validation, and goes on where it was interrupted.

A folder holds `best` (the weights with the best validation) and, if asked for, `step-N` (those of every validation), as
.safetensors with a .json beside, `state.pt` (what training goes on from), and `log.parquet`, a row per iteration and
per validation. Notes of the weights say after which iteration they were validated (`trained`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from binwright.simcore.files import replacing, sync, write_table

Count: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=100_000_000)]
CountFromZero: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=100_000_000)]
Positive: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
FromZero: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]
PositiveShare: TypeAlias = Annotated[float, Field(gt=0, le=1)]
Row: TypeAlias = dict[str, Any]

TRAINING = 2**40
"""Seeds of training requests start here: far from those of any scenario."""
PATIENCE = 10.0
"""Seconds between two checkpoints at least; the last iteration has one."""
ANEW = "Give --fresh to begin again, or name another folder with --out."


class Trainer(ABC):
    """Trains one agent. Constructor arguments are the settings of the YAML.

    What happens in iteration n depends on the seed, on n, and on `state`: nothing else is needed to go on.
    """

    score: ClassVar[str] = "acceptance"
    """Which metric of `validate` is to be as large as possible."""
    warms: ClassVar[bool] = False
    """Whether its episodes begin as the scenario's `warm_start` says; a scenario with one is refused otherwise."""
    state: ClassVar[tuple[str, ...]] = ()
    """The attributes, dotted, that training goes on from: numbers, arrays, and modules, optimisers and dictionaries of
    tensors of torch."""

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

    def save(self) -> dict[str, Any]:
        """Return everything that training goes on from, as `torch.save` takes it."""
        tensor, values = extra("torch").as_tensor, {name: attrgetter(name)(self) for name in self.state}
        for name, value in values.items():
            if hasattr(value, "state_dict"):
                values[name] = value.state_dict()
            elif isinstance(value, np.ndarray | np.generic):
                values[name] = tensor(value)
        return values

    def load(self, state: dict[str, Any]) -> None:
        """Go on from what `save` returned."""
        for name in self.state:
            owner, _, attribute = name.rpartition(".")
            value, saved = attrgetter(name)(self), state[name]
            if hasattr(value, "load_state_dict"):
                value.load_state_dict(saved)
            elif isinstance(value, dict):
                for key, tensor in value.items():
                    tensor.data.copy_(saved[key])
            else:
                plain = isinstance(saved, int | float)
                setattr(attrgetter(owner)(self) if owner else self, attribute, saved if plain else saved.numpy()[()])


def arrays_of(tensors: Mapping[str, Any]) -> Tensors:
    """Return the arrays of tensors of torch by their names."""
    return {name: tensor.detach().numpy() for name, tensor in tensors.items()}


@dataclass(frozen=True, slots=True)
class Course:
    """Holds everything that the outcome of a training depends on but for the seed.

    `terms` says the same in plain data, so that no checkpoint is continued on other terms. Every `every` iterations the
    agent is validated with the seeds `held_out`; with `keep` all weights are kept.
    """

    trainer: Callable[[], Trainer]
    training: World
    validation: World
    iterations: int
    every: int
    held_out: Sequence[int]
    terms: dict[str, Any]
    keep: bool = False


class Training:
    """Trains one seed of a course, in a folder of its own; `rows` are its log."""

    def __init__(self, course: Course, folder: Path, seed: int) -> None:
        self.course, self.folder, self.seed, self.rows = course, folder, seed, list[Row]()
        self.trainer, self._file, self._state = course.trainer(), folder / "state.pt", dict[str, Any]()
        if self._file.exists():
            self._resume()

    @property
    def step(self) -> int:
        """How many iterations are done."""
        return self.rows[-1]["step"] if self.rows else 0

    def _resume(self) -> None:
        load = extra("torch").load
        try:
            saved = load(self._file, weights_only=True)
        except Exception:  # torch has no error class of its own for damage
            raise UserError("this checkpoint is damaged", file=self._file, remedy=ANEW) from None
        if saved["terms"] != self.course.terms:
            before, now = _flat(saved["terms"]), _flat(self.course.terms)
            pairs = {key: (before.get(key, "absent"), now.get(key, "absent")) for key in {**now, **before}}
            was = "; ".join(f"{key} was {old}, is {new}" for key, (old, new) in pairs.items() if old != new)
            raise UserError(f"this checkpoint was trained on other terms: {was}", file=self._file, remedy=ANEW)
        self._state = saved["trainer"]
        if self._state.keys() != {*self.trainer.state}:
            raise UserError("this checkpoint is of another version of binwright", file=self._file, remedy=ANEW)
        # A log may be ahead of the checkpoint, never behind.
        log = pl.read_parquet(self.folder / "log.parquet").filter(pl.col("step") <= saved["step"])
        self.rows = [{key: value for key, value in row.items() if value is not None} for row in log.to_dicts()]

    def run(self, watch: Callable[[Row], None] = lambda row: None) -> None:
        """Train to the end, showing every row of the log to `watch`."""
        if self.step >= self.course.iterations:
            return
        extra("torch").set_num_threads(1)  # small networks gain nothing from more
        self.trainer.begin(self.course.training, self.course.validation, self.seed)
        if self._state:
            self.trainer.load(self._state)
        saved = perf_counter()
        while self.step < self.course.iterations:
            rows = self._iterate()
            self.rows += rows
            if self.step == self.course.iterations or perf_counter() - saved >= PATIENCE:
                self._save()
                saved = perf_counter()
            for row in rows:
                watch(row)

    def _iterate(self) -> list[Row]:
        """Train for one iteration, and validate where it is time to; returns the new rows of the log."""
        begun, step = (perf_counter(), process_time()), self.step + 1
        rows = [self._row("train", self.trainer.iterate(step), *begun)]
        wrong = [key for key, value in rows[0].items() if not (isinstance(value, str) or np.isfinite(value))]
        wrong += ["weights"] * (not all(np.isfinite(array).all() for array in self.trainer.weights()[0].values()))
        if wrong:
            problem = f"training went astray: {', '.join(wrong)} of iteration {step} is not a finite number"
            remedy = "Lower the learning rate (`rate`), and give --fresh or another folder with --out."
            raise UserError(problem, file=self.folder, remedy=remedy)
        if step == self.course.iterations or step % self.course.every == 0:
            metrics = self.trainer.validate(self.course.validation, self.course.held_out)
            row, score = self._row("validation", metrics, *begun), self.trainer.score
            rows.append(row)
            if not any(before["split"] == "validation" and before[score] >= row[score] for before in self.rows):
                self._write("best", row)
            if self.course.keep:
                self._write(f"step-{step}", row)
        return rows

    def _row(self, split: str, metrics: dict[str, float], begun: float, cpu: float) -> Row:
        before = self.rows[-1] if self.rows else {"seconds": 0.0, "cpu_seconds": 0.0}
        seconds, used = before["seconds"] + perf_counter() - begun, before["cpu_seconds"] + process_time() - cpu
        head = {"step": self.step + 1, "seconds": seconds, "cpu_seconds": used, "split": split, "seed": self.seed}
        return {**head, **metrics}

    def _write(self, name: str, row: Row) -> None:
        """Write the weights as they are, with the row of their validation."""
        tensors, notes = self.trainer.weights()
        write(self.folder / f"{name}.safetensors", tensors, {**notes, "trained": row, "terms": self.course.terms})

    def _save(self) -> None:
        """Write a checkpoint, behind the log, and into the notes of the best weights how far the training is."""
        if (best := self.folder / "best.safetensors").exists():
            tensors, notes = read(best)
            write(best, tensors, {**notes, "iterations": self.step})
        write_table(self.folder / "log.parquet", pl.DataFrame(self.rows, infer_schema_length=None))
        state = {"step": self.step, "terms": self.course.terms, "trainer": self.trainer.save()}
        with replacing(self._file) as unfinished:
            extra("torch").save(state, unfinished)


def _flat(terms: Any, at: str = "") -> Row:
    """Flatten plain data to dotted keys; lists and empty mappings are values."""
    if not isinstance(terms, dict) or not terms:
        return {at: terms}
    return {key: value for name in terms for key, value in _flat(terms[name], f"{at}.{name}" if at else name).items()}


def forget(folder: Path) -> None:
    """Remove what a training has left."""
    if (state := folder / "state.pt").exists():
        state.unlink()
        sync(folder)  # nothing else may be missing while it is there
    for pattern in ("state.*", "best.*", "step-*.*", "log.parquet"):
        for file in folder.glob(pattern):
            file.unlink()
