"""Training an agent in a scenario: every seed of its `train:`, in folders that a later call goes on from."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from binwright.agents.learned.loop import Course, Row, Training, forget, write_log
from binwright.agents.world import World
from binwright.scenarios.batch.journal import lock
from binwright.scenarios.build.world import build_learning
from binwright.scenarios.schema.explain import locate
from binwright.scenarios.schema.load import source_of, validate
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.sweep import FIXED
from binwright.scenarios.schema.train import WHAT_TO_TRAIN, Train
from binwright.scenarios.schema.yaml_source import CHOICES, Source, undotted
from binwright.simcore.errors import ScenarioError, UserError, WorkloadError
from binwright.simcore.fields import Keys
from binwright.simcore.files import clear, make_folder, writing
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


def announced(scenario: Scenario, folder: Path) -> str:
    """Say what is trained, for how long, and where it goes."""
    spec = spec_of(scenario)
    seeds = f"seeds {spec.seed} to {spec.seed + spec.seeds - 1}"
    return f"{spec.agent.chosen[0]} in {scenario.name}: iterations 1 to {spec.iterations}, {seeds}, into {folder}"


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
        stack.callback(lambda: [gathered(folder) for folder in folders])
        yield


def learn(job: TrainingJob, course: Course, watch: Callable[[Row], None], say: Callable[[str], None]) -> None:
    """Go on with a training, to its end."""
    training = Training(course, job.own, job.seed)
    say(f"seed {job.seed}: after iteration {training.step} of {course.iterations}; episodes are prepared first")
    try:
        training.run(watch)
    except UserError as error:
        if error.key in (None, "agents") and error.file is None:
            error.key = "train.agent"
        if error.key:
            locate(error, job.scenario._source, undotted(error.key))
        raise


def check_training(scenario: Scenario) -> None:
    """Refuse a scenario whose `train:`, if it has one, could not begin. Files of requests need not be here."""
    if scenario.train:
        for each in (*_others(scenario).values(), scenario):
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
    others = _others(scenario)
    for each in (*others.values(), scenario):
        try:
            _world_of(each).draw(held_out[0])  # what cannot be drawn is found out before anything is written
        except WorkloadError as error:
            locate(error, each._source, undotted(error.key or "workload"))
            raise
    unnamed = ("iterations", "seeds", "seed", "threads", "sweep")
    return Course(
        lambda: kind(**settings),
        _world_of(others.pop("")),
        _world_of(scenario),
        spec.iterations,
        judging.every,
        held_out,
        spec.threads,
        {**base, "train": {key: value for key, value in spec.dump().items() if key not in unnamed}},
        judging.keep,
        [
            (name, _world_of(each), range(judging.seed, judging.seed + judging.also[name].episodes))
            for name, each in others.items()
        ],
    )


def _world_of(scenario: Scenario) -> World:
    """Make the world of a scenario for the trainer that its `train:` names."""
    agent = spec_of(scenario).agent
    return build_learning(scenario, agent.registry.load(agent.chosen[0]).warms)


def _others(scenario: Scenario) -> dict[str, Scenario]:
    """Return the scenario of the training episodes, named "", and those in which the agent is judged, too."""
    spec = spec_of(scenario)
    found = {"": _varied(scenario, spec.episodes, ("train", "episodes"))}
    for name, there in spec.validation.also.items():
        found[name] = _varied(scenario, there.changes, ("train", "validation", "also", name, "changes"))
    return found


def _check_trainer(spec: Train) -> None:
    """Refuse to validate elsewhere, or to train on a GPU, with a trainer that does not."""
    name = spec.agent.chosen[0]
    kind: type[Trainer] = spec.agent.registry.load(name)
    if spec.validation.also and not issubclass(kind, ValidatesAnywhere):
        problem = f"{name} is validated in its scenario only"
        raise UserError(problem, key="train.validation.also", remedy="Take `also` out.")
    if spec.device == "cuda" and not kind.uses_gpu:
        remedy = "Write `device: auto` or `cpu`."
        raise UserError(f"{name} trains on CPUs only", key="train.device", value=spec.device, remedy=remedy)


def _device_of(spec: Train) -> str:
    """Return the device to train on: CUDA where there is any and the trainer uses it, unless told otherwise."""
    available = extra("torch").cuda.is_available()
    if spec.device == "cuda" and not available:
        remedy = "Write `device: auto` or `cpu`."
        raise UserError("there is no CUDA device here", key="train.device", value=spec.device, remedy=remedy)
    kind: type[Trainer] = spec.agent.registry.load(spec.agent.chosen[0])
    return "cuda" if available and spec.device != "cpu" and kind.uses_gpu else "cpu"


def spec_of(scenario: Scenario) -> Train:
    """Return a scenario's `train:`, which must be there."""
    if scenario.train is None:
        raise ScenarioError("is missing", file=scenario.file, key="train", remedy=WHAT_TO_TRAIN)
    return scenario.train


def _varied(scenario: Scenario, changes: dict[str, Any], at: tuple[str, ...]) -> Scenario:
    """Change these dotted keys of a scenario, as it says at the keys `at`."""
    source = source_of(scenario)
    for key, value in changes.items():
        _lay(source, undotted(key), value, (*at, key))
    try:
        return validate(source)
    except ScenarioError as error:
        error.key = f"{'.'.join(at)}.{error.key}"
        raise


def _lay(source: Source, keys: Keys, value: Any, at: Keys) -> None:
    """Put a value there, mappings key by key as `extends` does; it is written at the keys `at`."""
    old = source.value(keys)
    if isinstance(old, dict) and isinstance(value, dict) and (keys[-1] not in CHOICES or old.keys() & value):
        for key, inner in value.items():
            _lay(source, (*keys, key), inner, (*at, key))
    else:
        source.set(keys, value, {keys: source.place(at)})


def gathered(folder: Path) -> pl.DataFrame:
    """Gather the logs of all seeds in a folder into one, and write it."""
    logs = [pl.read_parquet(file) for file in sorted(folder.glob("seed-*/log.parquet"))]
    if not logs:
        return pl.DataFrame()
    log = pl.concat(logs, how="diagonal_relaxed").sort("seed", "step", maintain_order=True)
    write_log(folder / "log.parquet", log.to_dicts())
    return log
