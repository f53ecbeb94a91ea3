"""What it saves cvd-rl's training to value servers that look alike once: python -m benchmarks.sights [--episodes N].

Updates of `cvd/published` (50 servers, batches of 2,048 decisions) after some episodes of the network that training
begins with: how many servers a batch values, of how many, and the CPU time of an update, beside updates by a trainer
that values each server by itself. Needs the trace.
"""

from __future__ import annotations

import argparse
from dataclasses import fields
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.learned.cvd_rl.trainer import CvdTrainer
from benchmarks.cvd import markdown
from scenarios.learn.training import course_of
from scenarios.schema.load import load_scenario
from simcore.types import Ints


class Each(CvdTrainer):
    """Values each server by itself."""

    def inputs(self, rows: Ints, slots: Ints) -> tuple[npt.NDArray[Any], ...]:
        """Return what the network sees of every server and every choice, though they may be alike."""
        seen, places, servers = super().inputs(rows, slots)
        return seen[places.ravel()], np.arange(places.size).reshape(places.shape), servers


def measured(kind: type[CvdTrainer], episodes: int, updates: int) -> tuple[float, int, float]:
    """Return how many sights a batch values, of how many, and the CPU milliseconds of an update."""
    course = course_of(load_scenario("cvd/published", [f"train.agent.cvd-rl.pool={episodes}"]))
    given = course.trainer()
    assert isinstance(given, CvdTrainer)
    settings = {one.name: getattr(given, one.name) for one in fields(given)}
    trainer = kind(**settings | {"episodes": episodes, "updates": 1})
    trainer.begin(course.training, course.validation, 0, "cpu")
    trainer.iterate(1)
    rng = np.random.default_rng(0)
    known, valued, of = len(trainer.remembered.code), [], 0
    for _ in range(updates):
        rows = rng.integers(known, size=trainer.batch)
        slots = np.broadcast_to(np.arange(trainer.slots()), (trainer.batch, trainer.slots()))
        seen, places, _servers = trainer.inputs(rows, slots)
        valued.append(len(seen))
        of = places.size
    trainer._learn(rng, 3)
    before = process_time()
    trainer._learn(rng, updates)
    return float(np.mean(valued)), of, (process_time() - before) / updates * 1000


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=15, help="episodes that are remembered (default: 15)")
    parser.add_argument("--updates", type=int, default=30, help="updates that are timed (default: 30)")
    options = parser.parse_args()
    rows = [["servers and choices are valued", "valued in a batch", "of", "CPU of an update"]]
    for name, kind in (("once for each sight", CvdTrainer), ("each", Each)):
        valued, of, milliseconds = measured(kind, options.episodes, options.updates)
        rows.append([name, f"{valued:,.0f}", f"{of:,}", f"{milliseconds:.1f} ms"])
    print(markdown(rows))


if __name__ == "__main__":
    main()
