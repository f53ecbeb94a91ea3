"""What some results hold, as runs.parquet itself says it: nobody has to guess it from names of columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import TypeAdapter

from binwright.analysis.measure.metric import Metric
from binwright.analysis.results.escaping import plain
from binwright.simcore.errors import UnknownName, suggest
from binwright.simcore.extras import pl
from binwright.simcore.files import replacing

if TYPE_CHECKING:
    from binwright.analysis.results.folder import ResultsFolder

RUNS = "runs.parquet"


@dataclass(frozen=True, slots=True)
class Columns:
    """Says what results have.

    That is the cluster's `resources`, the keys that are `swept`, every metric, in the order in which tables show them,
    what people read in place of the names of agents and keys, and how many runs are `planned`.
    """

    resources: tuple[str, ...] = ()
    swept: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()
    headings: Mapping[str, str] = field(default_factory=dict)
    planned: int = 0

    def headed(self, headings: Mapping[str, str]) -> Columns:
        """Show metrics, agents and keys under these headings, and the others as before."""
        metrics = tuple(replace(each, heading=headings.get(each.name, each.heading)) for each in self.metrics)
        return replace(self, metrics=metrics, headings={**self.headings, **headings})


def write_runs(folder: Path, runs: pl.DataFrame, columns: Columns) -> None:
    """Write runs.parquet, whose metadata say what its columns are: whole or not at all."""
    content, metadata = BytesIO(), {"version": version("binwright"), **asdict(columns)}
    runs.write_parquet(content, metadata={"binwright": json.dumps(metadata, ensure_ascii=False)})
    with replacing(folder / RUNS) as unfinished:
        unfinished.write_bytes(content.getbuffer())


def read_columns(text: str) -> Columns:
    """Read what `write_runs` noted of the columns; raises ValueError for anything else."""
    result = TypeAdapter(Columns).validate_json(text)
    return replace(result, metrics=tuple(each.escaped(plain) for each in result.metrics))


def merged(several: Iterable[Columns]) -> Columns:
    """Say what several results hold together; of metrics that share a name the first description counts."""
    several = list(several)
    metrics: dict[str, Metric] = {}
    for each in several:
        for metric in each.metrics:
            metrics.setdefault(metric.name, metric)
    resources, swept = (
        tuple(dict.fromkeys(name for each in several for name in getattr(each, key))) for key in ("resources", "swept")
    )
    headings = {name: text for each in reversed(several) for name, text in each.headings.items()}
    planned = sum(each.planned for each in several)
    return Columns(resources, swept, tuple(metrics.values()), headings, planned)


TOLERANCE = 1e-9
"""Relative; values that differ by less are the same, added up in another order."""


class Choice(NamedTuple):
    """Divides the metrics that say something: which come `first`, which are the `same` everywhere.

    `others` vary, or are not known of all agents on all seeds.

    First are the headline metrics that the scenario names. Without any, they are those in which agents differ on the
    same requests, in the tables' order. Harm is always among them. Tables, figures, the report and its answer use one
    choice.
    """

    first: list[Metric]
    others: list[Metric]
    same: list[Metric]


def choose_metrics(results: ResultsFolder) -> Choice:
    """Choose among the metrics of finished runs."""
    done, swept, headlines = results.done, results.swept, results.headlines
    informative = _informative(done, results.metrics, swept, headlines) if len(done) else []
    names = [metric.name for metric in informative]
    met = [key for key in (*swept, "seed") if key in done.columns]
    apart = _apart(done, names, met)
    alone = len(done) and done["agent"].n_unique() == 1
    vary = apart | _apart(done, names, ["seed"]) or (set(names) if alone else set())
    named = [metric for name in headlines for metric in informative if metric.name == name]
    harm = [metric for metric in informative if metric.table == "harm" and metric not in named]
    differ = [metric for metric in informative if metric.name in apart and not metric.timed and metric not in harm]
    main = named or differ or ([] if harm else informative[:1])
    first = [*main[:1], *harm, *main[1:]]
    left = [metric for metric in informative if metric not in first]
    shown = {*vary, *(name for name in names if done[name].null_count())}
    others = [metric for metric in left if metric.name in shown or metric.timed]
    others.sort(key=lambda metric: 2 if metric.timed else metric.name not in apart)
    return Choice(first, others, [metric for metric in left if metric not in others])


def _informative(
    done: pl.DataFrame, metrics: Sequence[Metric], swept: Sequence[str], headlines: Sequence[str]
) -> list[Metric]:
    """Leave out metrics that no run has, that no table shows unasked, and those that say nothing about these runs.

    Those that are equal to a swept key say nothing that it does not.
    """
    numbers = {name for name, kind in done.schema.items() if kind.is_numeric() and done[name].is_not_null().any()}
    accepted = {each.name for each in metrics if each.name.startswith("acceptance") and each.table != "always"}
    hidden = {"acceptance", *accepted} if _any(done, "stopped") else {"scheduled"}
    hidden |= {name for name in accepted & numbers if (done[name] == done["acceptance"]).all()}
    if not _any(done, "wait_mean"):
        hidden.add("makespan")
    keys = [key for key in swept if key in done.columns and done.schema[key].is_numeric()]
    hidden.update(name for name in numbers for key in keys if (done[name] == done[key]).all(ignore_nulls=False))
    for metric in metrics:
        same = metric.table == "differs" and metric.name in numbers and done[metric.name].n_unique() == 1
        if same or metric.table == "never" or (metric.table in ("harm", "first") and not _any(done, metric.name)):
            hidden.add(metric.name)
    hidden -= set(headlines)
    return [metric for metric in metrics if metric.name in numbers and metric.name not in hidden]


def _apart(done: pl.DataFrame, names: Sequence[str], met: Sequence[str]) -> set[str]:
    """Find the metrics that differ between runs which agree in the columns `met`."""
    spread = [((pl.max(name) - pl.min(name)) > TOLERANCE * pl.max(name).abs()).alias(name) for name in names]
    result = done.group_by(met).agg(spread) if names else done
    return {name for name in names if result[name].any()}


def metric_named(name: str, done: pl.DataFrame, metrics: Sequence[Metric]) -> Metric:
    """Return the metric of a name: one that is described, or any other column of numbers in runs.parquet."""
    for metric in metrics:
        if name == metric.name and name in done.columns:
            return metric
    numbers = [column for column, kind in done.schema.items() if kind.is_numeric() and column != "seed"]
    if name not in numbers:
        raise UnknownName("there is no such metric", key="metric", value=name, remedy=suggest(name, numbers))
    return Metric(name, name, meaning="a column of runs.parquet", timed=name == "seconds")


def _any(done: pl.DataFrame, name: str) -> bool:
    """Tell whether any of it is there, and not 0."""
    return name in done.columns and bool((done[name].fill_null(0) != 0).any())
