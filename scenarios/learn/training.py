"""Training an agent in a scenario: every seed of its `train:`, in folders that a later call goes on from.

Several are trained at a time, in processes of this machine: each comes to the same weights and the same log, but for
times, as if they were trained one after the other.
"""

import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import polars as pl

from binwright.agents.learned.loop import Course, Row, Training, forget
from binwright.agents.world import World
from binwright.scenarios.batch.batch import lock
from binwright.scenarios.batch.pool import Pool, Work, checked_jobs, serve
from binwright.scenarios.build.world import build_learning
from binwright.scenarios.schema.explain import locate
from binwright.scenarios.schema.load import source_of, validate
from binwright.scenarios.schema.scenario import FIXED, Scenario
from binwright.scenarios.schema.train import WHAT_TO_TRAIN, Train
from binwright.scenarios.schema.yaml_source import Source, undotted
from binwright.simcore.cores import usable_cpus
from binwright.simcore.errors import ScenarioError, UserError, WorkloadError
from binwright.simcore.files import clear, make_folder, write_table, writing
from binwright.simcore.options import check_options


class TrainingJob(NamedTuple):
    """Names one seed of the training of a scenario in `folder`."""

    scenario: Scenario
    folder: Path
    seed: int

    @property
    def own(self) -> Path:
        """The folder of this seed alone."""
        return self.folder / f"seed-{self.seed}"


@contextmanager
def taken(folder: Path, trainings: Sequence[TrainingJob], fresh: bool) -> Iterator[None]:
    """Take the folder of trainings; `fresh` removes what they have left there. At the end their logs are one."""
    with ExitStack() as stack:
        with writing(folder):
            make_folder(folder)
            lock(stack.enter_context((folder / ".lock").open("a")), folder)
            clear(folder)
        for job in trainings:
            clear(job.own)
            if fresh:
                forget(job.own)
        try:
            yield
        finally:
            if len(log := log_in(folder)):
                write_table(folder / "log.parquet", log)


def learn(job: TrainingJob, say: Callable[[Row | str], None]) -> None:
    """Go on with a training, to its end; says rows of its log, and words of what begins."""
    training = Training(course_of(job.scenario), job.own, job.seed)
    iterations = training.course.iterations
    say(f"seed {job.seed}: after iteration {training.step} of {iterations}; episodes are prepared first")
    try:
        training.run(say)
    except UserError as error:
        if error.key in (None, "agents") and error.file is None:
            error.key = "train.agent"
        if error.key:
            locate(error, job.scenario._source, undotted(error.key))
        raise


def check_training(scenario: Scenario) -> None:
    """Refuse a scenario whose `train:` could not begin. Files of requests need not be here."""
    for each in (_episodes_of(scenario), scenario) if scenario.train else ():
        _world_of(each)


def course_of(scenario: Scenario) -> Course:
    """Prepare what a scenario's `train:` says, so that training can begin."""
    spec = spec_of(scenario)
    name, options = spec.agent.chosen
    kind = spec.agent.registry.load(name)
    settings = check_options(kind, options)
    base = {key: value for key, value in scenario.dump().items() if key not in FIXED}
    judging = spec.validation
    held_out = range(judging.seed, judging.seed + judging.episodes)
    episodes = _episodes_of(scenario)
    training, validation = _world_of(episodes), _world_of(scenario)
    for each, world in ((episodes, training), (scenario, validation)):
        try:
            world.draw(held_out[0])  # what cannot be drawn is found out before anything is written
        except WorkloadError as error:
            locate(error, each._source, undotted(error.key or "workload"))
            raise
    unnamed = ("iterations", "seeds", "seed")
    base["train"] = {key: value for key, value in spec.dump().items() if key not in unnamed}
    numbers = spec.iterations, judging.every, held_out
    return Course(lambda: kind(**settings), training, validation, *numbers, base, judging.keep)


def _world_of(scenario: Scenario) -> World:
    """Make the world of a scenario for the trainer that its `train:` names."""
    agent = spec_of(scenario).agent
    return build_learning(scenario, agent.registry.load(agent.chosen[0]).warms)


def spec_of(scenario: Scenario) -> Train:
    """Return a scenario's `train:`, which must be there."""
    if scenario.train is None:
        raise ScenarioError("is missing", file=scenario.file, key="train", remedy=WHAT_TO_TRAIN)
    return scenario.train


def _episodes_of(scenario: Scenario) -> Scenario:
    """Return the scenario of the training episodes, which differs in some dotted keys."""
    source = source_of(scenario)
    for key, value in spec_of(scenario).episodes.items():
        above, keys = Source(None), undotted(key)
        above.set(keys, value, {keys: source.place(("train", "episodes", key))})
        source.lay_over(above)
    try:
        return validate(source)
    except ScenarioError as error:
        error.key = f"train.episodes.{error.key}"
        raise


def log_in(folder: Path) -> pl.DataFrame:
    """Read the logs of all seeds in a folder, if there are any, as one."""
    logs = [pl.read_parquet(file) for file in sorted(folder.glob("seed-*/log.parquet"))]
    return pl.concat(logs, how="diagonal_relaxed").sort("seed", "step", maintain_order=True) if logs else pl.DataFrame()


def _lost(job: TrainingJob, how: str) -> UserError:
    remedy = "What is trained is kept: the same command goes on."
    return UserError(f"the process that trained seed {job.seed} {how}", file=job.own, remedy=remedy)


# The libraries of a training may use the same threads as alone, so that sums have the same order.
TRAININGS = Work("from binwright.scenarios.learn.training import work; work({handle})", {}, _lost)


def work(handle: int) -> None:
    """Run the trainings that come, in this process, and tell what becomes of them, until nobody listens."""
    serve(handle, _answer, lambda: os._exit(0))


def _answer(job: TrainingJob, say: Callable[[Row | str], None]) -> Exception | None:
    """Run a training; returns what went wrong."""
    try:
        learn(job, say)
    except ConnectionError:
        raise
    except UserError as error:
        return error
    except Exception:
        return RuntimeError(f"training seed {job.seed} ended with\n{traceback.format_exc()}")
    return None


def train(
    scenario: Scenario,
    folder: Path,
    fresh: bool = False,
    watch: Callable[[Row], None] = lambda row: None,
    say: Callable[[str], None] = lambda text: None,
    jobs: int | None = 1,
) -> pl.DataFrame:
    """Train what is missing of every seed, `jobs` at a time, and return the log, also log.parquet.

    `jobs` of None are as many as there are CPUs. `fresh` begins anew. `watch` is called with every new row of the log,
    `say` with what begins before there is one.
    """
    checked_jobs(jobs)
    spec = spec_of(scenario)
    seeds = range(spec.seed, spec.seed + spec.seeds)
    trainings = [TrainingJob(scenario, folder, seed) for seed in seeds]

    def hear(job: TrainingJob, new: Row | str) -> None:
        if isinstance(new, str):
            say(new)
        else:
            watch(new)

    which = f"{spec.iterations} iterations, seeds {seeds[0]} to {seeds[-1]}"
    say(f"{spec.agent.chosen[0]} in {scenario.name}: {which}, into {folder}")
    course_of(scenario)  # what cannot begin is found out before anything is written
    hands = min(len(trainings), jobs or usable_cpus())
    with taken(folder, trainings, fresh):
        for job in trainings if hands == 1 else ():
            learn(job, partial(hear, job))
        if hands > 1:
            with closing(Pool(hands, TRAININGS)) as pool:
                for _, problem in pool.rows(trainings, hear):
                    if problem:  # the first one ends all trainings
                        raise problem
        return log_in(folder)
