"""Training an agent in a scenario: every seed and setting of its `train:`, in folders that a later call goes on from.

Several are trained at a time, in processes of this machine: each comes to the same weights and the same log, but for
times, as if they were trained one after the other.
"""

import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from binwright.agents.learned.loop import Course, Row, Training, forget
from binwright.agents.world import World
from binwright.scenarios.batch.journal import lock
from binwright.scenarios.batch.pool import Pool, Work, checked_jobs, serve
from binwright.scenarios.build.plan import named, plain
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
    """Names one seed of the training of a scenario in `folder`; `point` is its number in a sweep."""

    scenario: Scenario
    folder: Path
    seed: int
    point: int = 0

    @property
    def own(self) -> Path:
        """The folder of this seed alone."""
        return self.folder / f"seed-{self.seed}"


@contextmanager
def taken(trainings: Sequence[TrainingJob], fresh: bool) -> Iterator[None]:
    """Take the folders of these trainings; `fresh` removes what they have left there. At the end their logs are one."""
    folders = dict.fromkeys(job.folder for job in trainings)
    with ExitStack() as stack:
        for folder in folders:
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
            for folder in folders:
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


def check_sweep(scenario: Scenario) -> None:
    """Refuse a scenario of whose `train:` a point could not begin. Files of requests need not be here."""
    for _, point in points(scenario):
        for each in (_episodes_of(point), point) if point.train else ():
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
    unnamed = ("iterations", "seeds", "seed", "threads", "sweep")
    base["train"] = {key: value for key, value in spec.dump().items() if key not in unnamed}
    numbers = spec.iterations, judging.every, held_out, spec.threads
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


TABLE = "sweep.parquet"
"""A row per point and seed: the settings, the best validation, and how long it took."""
SETTING = "set."
"""What the names of settings begin with as columns: logs have columns such as `loss` of their own."""


def points(scenario: Scenario) -> list[tuple[dict[str, Any], Scenario]]:
    """List every combination of settings, and the scenario that trains with them; the last setting varies fastest."""
    spec = scenario.train
    if spec is None or not spec.sweep:
        return [({}, scenario)]
    settings = [dict(zip(spec.sweep, values, strict=True)) for values in product(*spec.sweep.values())]
    varied = []
    for point in settings:
        source = source_of(scenario)
        for key, value in point.items():
            keys = ("train", "agent", spec.agent.chosen[0], key)
            source.set(keys, value, {keys: source.place(("train", "sweep", key))})
        source.set(("train", "sweep"), {}, {})
        varied.append((point, validate(source)))
    return varied


def train(
    scenario: Scenario,
    folder: Path,
    fresh: bool = False,
    watch: Callable[[Row], None] = lambda row: None,
    say: Callable[[str], None] = lambda text: None,
    jobs: int | None = 1,
) -> pl.DataFrame:
    """Train what is missing of every seed of every point, `jobs` at a time, and return the log, also log.parquet.

    `jobs` of None are as many as CPUs have room for. `fresh` begins anew. `watch` is called with every new row of the
    log, `say` with what begins before there is one.

    Of a sweep every point has a folder of its own, the log has the settings as columns, such as `set.rate`,
    `watch` is called with rows that have the number of their point, too, and the folder gets sweep.parquet
    (`summary`) after every training.
    """
    checked_jobs(jobs)
    swept, spec = points(scenario), spec_of(scenario)
    trainings = [
        TrainingJob(each, folder / named(point) if spec.sweep else folder, seed, number)
        for number, (point, each) in enumerate(swept)
        for seed in range(spec.seed, spec.seed + spec.seeds)
    ]
    logs = dict[int, pl.DataFrame]()

    def hear(job: TrainingJob, new: Row | str) -> None:
        if isinstance(new, str):
            say(f"{named(swept[job.point][0])} ({job.point + 1} of {len(swept)}), {new}" if spec.sweep else new)
        else:
            watch({**new, "point": job.point} if spec.sweep else new)

    def summed_up(job: TrainingJob) -> pl.DataFrame:
        settings = {SETTING + key: pl.lit(plain(value)) for key, value in swept[job.point][0].items()}
        logs[job.point] = log_in(job.folder).with_columns(**settings)
        log = pl.concat([logs[point] for point in sorted(logs)], how="diagonal_relaxed")
        if spec.sweep:
            write_table(folder / TABLE, summary(scenario, log))
        return log

    seeds = f"seeds {spec.seed} to {spec.seed + spec.seeds - 1}"
    say(f"{spec.agent.chosen[0]} in {scenario.name}: {spec.iterations} iterations, {seeds}, into {folder}")
    check_sweep(scenario)
    course_of(swept[0][1])  # what cannot begin is found out before anything is written
    hands = min(len(trainings), jobs or max(1, usable_cpus() // spec.threads))
    with taken(trainings, fresh):
        for job in trainings if hands == 1 else ():
            learn(job, partial(hear, job))
            log = summed_up(job)
        if hands > 1:
            with closing(Pool(hands, TRAININGS)) as pool:
                for job, problem in pool.rows(trainings, hear):
                    if problem:  # the first one ends all trainings
                        raise problem
                    log = summed_up(job)
    return log


def summary(scenario: Scenario, log: pl.DataFrame) -> pl.DataFrame:
    """Summarise the log of a sweep: a row per point and seed with the settings and the best validation.

    Columns: the settings, `seed`, the trainer's score, `step` of it, and `cpu_seconds` of the whole training.
    """
    spec = scenario.train
    assert spec is not None
    score, keys = spec.agent.registry.load(spec.agent.chosen[0]).score, [*(SETTING + key for key in spec.sweep), "seed"]
    judged = log.filter(pl.col("split") == "validation").sort(score, descending=True, maintain_order=True)
    best = judged.unique(keys, keep="first", maintain_order=True).select(*keys, score, "step")
    took = log.group_by(keys, maintain_order=True).agg(pl.col("cpu_seconds").max())
    return took.join(best, on=keys, how="left", maintain_order="left").select(*keys, score, "step", "cpu_seconds")


def log_of(folder: Path, point: dict[str, Any], seed: int) -> pl.DataFrame:
    """Read the iterations that a seed has done."""
    own = (folder / named(point) if point else folder) / f"seed-{seed}"
    file = own / "log.parquet"
    if not (file.exists() and (own / "state.pt").exists()):
        return pl.DataFrame()
    return pl.read_parquet(file).filter(pl.col("split") == "train")
