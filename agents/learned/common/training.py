"""Trains one agent with one seed, with logs, checkpoints and validation, and goes on where it was interrupted.

A folder holds `state` (what training goes on from), `best` (the weights with the best validation) and, if asked for,
`step-N` (those of every validation), all as .safetensors with a .json beside, and `log.parquet`, a row per iteration
and per validation; `below_best` is by how much a validation is below the best one so far. Notes of the weights say
after which iteration they were validated (`trained`), those of `best` also how many were done (`iterations`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, TypeAlias

from binwright.agents.learned.common.tensors import Tensors, extra, read, write
from binwright.agents.learned.common.trainer import Trainer, ValidatesAnywhere
from binwright.agents.world import World
from binwright.simcore.errors import UserError
from binwright.simcore.extras import pl
from binwright.simcore.files import sync, write_table

Row: TypeAlias = dict[str, Any]
WELL_BELOW = 0.05
"""A validation that is so far below the best one is worth a warning."""
PATIENCE = 10.0
"""Seconds between two checkpoints; there is always one at the end, whatever ends it."""


@dataclass(frozen=True, slots=True)
class Course:
    """Holds everything that the outcome of a training depends on but for the seed.

    `terms` says the same in plain data, so that no checkpoint is continued on other terms. Every `every` iterations the
    agent is validated with the requests of the seeds `held_out`, then in the worlds `also`, named, with seeds of their
    own; with `keep` the weights of every validation are kept, not only the best.
    """

    trainer: Callable[[], Trainer]
    training: World
    validation: World
    iterations: int
    every: int
    held_out: Sequence[int]
    device: str
    threads: int
    terms: dict[str, Any]
    keep: bool = False
    also: Sequence[tuple[str, World, Sequence[int]]] = ()

    def validated(self, trainer: Trainer) -> dict[str, float]:
        """Return the metrics of a validation; those in other worlds begin with the name of the world."""
        found = trainer.validate(self.held_out)
        for name, world, seeds in self.also:
            assert isinstance(trainer, ValidatesAnywhere)
            found |= {f"{name}_{metric}": value for metric, value in trainer.validate_in(world, seeds).items()}
        return found


class Training:
    """Trains one seed of a course, in a folder of its own."""

    def __init__(self, course: Course, folder: Path, seed: int) -> None:
        self.course, self.folder, self.seed = course, folder, seed
        self.rows: list[Row] = []
        self.step = 0
        """Iterations done."""
        self._best: float | None = None
        self._seconds = self._cpu = 0.0
        self._before: tuple[Tensors, dict[str, Any]] | None = None
        self.trainer = course.trainer()
        if self._state.exists():
            self._resume()

    @property
    def _state(self) -> Path:
        return self.folder / "state.safetensors"

    def _resume(self) -> None:
        tensors, notes = read(self._state, state=True)
        if notes["terms"] != self.course.terms:
            before, now = _flat(notes["terms"]), _flat(self.course.terms)
            differ = [key for key in {**now, **before} if now.get(key) != before.get(key)]
            agents = [next(iter(terms["train"]["agent"])) for terms in (self.course.terms, notes["terms"])]
            if agents[0] != agents[1]:  # then all settings differ
                before, now = {"the agent": agents[1]}, {"the agent": agents[0]}
                differ = ["the agent"]
            was = ", ".join(f"{key} was {before.get(key)}, is {now.get(key)}" for key in differ)
            raise UserError(
                f"this checkpoint was trained on other terms: {was}",
                file=self._state,
                remedy="Give --fresh to begin again, or name another folder with --out.",
            )
        self._before = tensors, notes["trainer"]
        self.step, self._best = notes["step"], notes["best"]
        self._seconds, self._cpu = notes["seconds"], notes["cpu_seconds"]
        # A log may be ahead of the checkpoint, never behind.
        log = pl.read_parquet(self.folder / "log.parquet").filter(pl.col("step") <= self.step)
        self.rows = [{key: value for key, value in row.items() if value is not None} for row in log.to_dicts()]

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do."""
        return self.step >= self.course.iterations

    def run(self, watch: Callable[[Row], None] = lambda row: None) -> None:
        """Train to the end, showing every row of the log to `watch`."""
        if self.done:
            return
        extra("torch").set_num_threads(self.course.threads)
        self.trainer.begin(self.course.training, self.course.validation, self.seed, self.course.device)
        if self._before:
            self.trainer.load(*self._before)
        good: Callable[[], None] | None = None  # writes what is known to be sound
        saved = perf_counter()
        try:
            while not self.done:
                before, cpu = perf_counter(), process_time()
                new = [self._row("train", self.trainer.iterate(self.step + 1), before, cpu)]
                self._sound(new[0])
                last = self.step + 1 == self.course.iterations
                if last or (self.step + 1) % self.course.every == 0:
                    new.append(self._row("validation", self.course.validated(self.trainer), before, cpu))
                    self._keep_best(new[-1])
                    if self.course.keep:
                        self._write(f"step-{self.step + 1}", new[-1])
                self.step += 1
                self._seconds, self._cpu = new[-1]["seconds"], new[-1]["cpu_seconds"]
                self.rows += new
                good = self._snapshot()
                for row in new:
                    watch(row)
                if perf_counter() - saved > PATIENCE:
                    good()
                    saved = perf_counter()
        finally:
            if good is not None:
                self._note_iterations()
                good()

    def _row(self, split: str, metrics: dict[str, float], before: float, cpu: float) -> Row:
        seconds, used = self._seconds + perf_counter() - before, self._cpu + process_time() - cpu
        said = {"step": self.step + 1, "seconds": seconds, "cpu_seconds": used, "split": split, "seed": self.seed}
        return {**said, **metrics}

    def _sound(self, row: Row) -> None:
        wrong = [key for key, value in row.items() if isinstance(value, float) and not isfinite(value)]
        if wrong:
            kept = f"state.safetensors has iteration {self.step}" if self.step else "there is no checkpoint yet"
            raise UserError(
                f"training went astray: {', '.join(wrong)} of iteration {self.step + 1} is not a finite number; {kept}",
                file=self.folder,
                remedy="Lower the learning rate (`rate`), and give --fresh or another folder with --out.",
            )

    def _keep_best(self, row: Row) -> None:
        score = row[self.trainer.score]
        row["below_best"] = max(0.0, (score if self._best is None else self._best) - score)
        if self._best is None or score > self._best:
            self._best = score
            self._write("best", row)

    def _write(self, name: str, row: Row) -> None:
        """Write the weights as they are, with the row of their validation."""
        tensors, notes = self.trainer.weights()
        notes |= {**self.trainer.met(), "trained": row, "terms": self.course.terms}
        write(self.folder / f"{name}.safetensors", tensors, notes)

    def _note_iterations(self) -> None:
        """Note beside the best weights how many iterations were done, those after them included."""
        file = self.folder / "best.safetensors"
        if file.exists():
            tensors, notes = read(file)
            write(file, tensors, {**notes, "iterations": self.step})

    def _snapshot(self) -> Callable[[], None]:
        """Keep all of this moment in memory and return a function that writes it."""
        tensors, trainer = self.trainer.save()
        rows = list(self.rows)
        notes = {
            "step": self.step,
            "seconds": self._seconds,
            "cpu_seconds": self._cpu,
            "best": self._best,
            "trainer": trainer,
            "terms": self.course.terms,
        }

        def put() -> None:
            write_log(self.folder / "log.parquet", rows)
            write(self._state, tensors, notes)

        return put


def _flat(terms: Any, at: str = "") -> Row:
    """Flatten plain data to dotted keys; lists are values."""
    if not isinstance(terms, dict):
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
