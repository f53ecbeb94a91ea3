"""Trains an agent with all seeds and every combination of some settings: the `sweep` of a scenario's `train:`."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any

import polars as pl

from binwright.agents.learned.common.training import Row
from binwright.scenarios.build.plan import named, plain
from binwright.scenarios.learn.parallel import at_a_time, side_by_side
from binwright.scenarios.learn.training import (
    announced,
    check_training,
    course_of,
    gathered,
    lessons_of,
    spec_of,
    taken,
    train,
)
from binwright.scenarios.schema.load import source_of, validate
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.train import Train
from binwright.simcore.files import write_table

TABLE = "sweep.parquet"
"""A row per point and seed: the settings, the best validation, and how long it took."""
SETTING = "set."
"""What the names of settings begin with as columns: logs have columns such as `loss` of their own."""


def points(scenario: Scenario) -> list[tuple[dict[str, Any], Scenario]]:
    """List every combination of settings, and the scenario that trains with them; the last setting varies fastest."""
    spec = scenario.train
    if spec is None or not spec.sweep:
        return [({}, scenario)]
    combined = (dict(zip(spec.sweep, values, strict=True)) for values in product(*spec.sweep.values()))
    return [(point, _with(scenario, spec, point)) for point in combined]


def train_all(
    scenario: Scenario,
    folder: Path,
    fresh: bool = False,
    watch: Callable[[Row], None] = lambda row: None,
    say: Callable[[str], None] = lambda text: None,
    jobs: int | None = 1,
) -> pl.DataFrame:
    """Train what is missing of every seed of every point, `jobs` at a time, as `scenarios.learn.training.train` does.

    Returns the log. Of a sweep every point has a folder of its own, the log has the settings as columns, such as
    `set.rate` (`written`), `watch` is called with rows that have the number of their point, too, and the folder gets
    sweep.parquet (`summary`) after every training.
    """
    found = points(scenario)
    spec = spec_of(scenario)
    folders = [folder / named(point) if spec.sweep else folder for point, _ in found]
    logs: dict[int, pl.DataFrame] = {}

    def note(number: int, log: pl.DataFrame) -> None:
        logs[number] = log.with_columns(
            **{key: pl.lit(value) for key, value in written(spec.sweep, found[number][0]).items()}
        )
        if spec.sweep:
            write_table(folder / TABLE, summary(scenario, _joined(logs)))

    lessons = [
        lessons_of(each, own, number) for number, ((_, each), own) in enumerate(zip(found, folders, strict=True))
    ]
    if (hands := at_a_time(list(chain(*lessons)), jobs)) == 1:
        for number, (point, each) in enumerate(found):
            if spec.sweep:
                say(f"{named(point)} ({number + 1} of {len(found)})")
            seen = partial(_numbered, watch, number) if spec.sweep else watch
            note(number, train(each, folders[number], fresh, seen, say))
        return _joined(logs)
    say(announced(scenario, folder))
    check_sweep(scenario)
    course_of(found[0][1])  # what cannot begin is found out before anything is written
    with ExitStack() as stack:
        for some in lessons:
            stack.enter_context(taken(some, fresh))
        heard = stack.enter_context(closing(side_by_side(list(chain(*lessons)), hands)))
        stack.callback(lambda: [gathered(own) for own in folders])  # whatever ends it
        for lesson, new in heard:
            if new.row:
                watch({**new.row, "point": lesson.point} if spec.sweep else new.row)
            elif new.said:
                say(f"{named(found[lesson.point][0])}, {new.said}" if spec.sweep else new.said)
            elif new.over:
                note(lesson.point, gathered(lesson.folder))
    return _joined(logs)


def _joined(logs: Mapping[int, pl.DataFrame]) -> pl.DataFrame:
    return pl.concat([log for _, log in sorted(logs.items())], how="diagonal_relaxed")


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


def check_sweep(scenario: Scenario) -> None:
    """Refuse a scenario of whose `train:` a point could not begin."""
    for _, each in points(scenario):
        check_training(each)


def written(sweep: Mapping[str, Sequence[Any]], point: Mapping[str, Any]) -> dict[str, Any]:
    """Write a point of a sweep as columns of tables, such as `set.rate`.

    What is neither a number nor text becomes JSON, as in runs.parquet; so do numbers and truth values of a setting that
    has text, or values of both kinds, at other points.
    """
    found = {}
    for key, value in point.items():
        kinds = {_kind(plain(each)) for each in sweep[key]}
        shown = plain(value)
        found[SETTING + key] = shown if isinstance(shown, str) or len(kinds) == 1 else json.dumps(shown)
    return found


def _kind(value: float | str) -> type:
    return float if type(value) is int else type(value)


def _numbered(watch: Callable[[Row], None], number: int, row: Row) -> None:
    watch({**row, "point": number})


def _with(scenario: Scenario, spec: Train, point: dict[str, Any]) -> Scenario:
    """Return the scenario with these settings of the trainer, and without the sweep."""
    source = source_of(scenario)
    for key, value in point.items():
        keys = ("train", "agent", spec.agent.chosen[0], key)
        source.set(keys, value, {keys: source.place(("train", "sweep", key))})
    source.set(("train", "sweep"), {}, {})
    return validate(source)
