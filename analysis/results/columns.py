"""What some results hold, as columns.json says it beside runs.parquet: nobody has to guess it from names of columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import get_args

import numpy as np
import numpy.typing as npt

from binwright.analysis.measure.metric import Better, Metric, Table
from binwright.analysis.results.escaping import plain
from binwright.simcore.extras import pl
from binwright.simcore.files import replacing, write_text
from binwright.simcore.types import Floats, Ints

LARGEST = 1e90
"""Larger values are of no metric, but of a spoilt file; their squares would be no numbers."""


class Groups:
    """Divides the runs of a frame into groups, one per point (of the values of `keys`) and agent.

    `heads` has a row per group, with the keys and the agent; `point` numbers its point. Groups of a point are
    neighbours, points and agents in order of first appearance. `runs` and `failed` count. All are int64 [groups].
    """

    def __init__(self, runs: pl.DataFrame, keys: Sequence[str]) -> None:
        runs = runs.with_columns(pl.Series("_point", _numbered(runs, keys))).sort("_point", maintain_order=True)
        self._group = _numbered(runs, ["_point", "agent"])
        first = np.unique(self._group, return_index=True)[1]
        self.point: Ints = runs["_point"].to_numpy()[first]
        self.heads = runs[first].select(*keys, "agent")
        self._done = (runs["status"] == "done").to_numpy()
        self.runs: Ints = np.bincount(self._group)
        self.failed: Ints = np.bincount(self._group[~self._done], minlength=len(self.runs))
        self._seed = runs.select(pl.col("seed").rank("dense").over("_point"))["seed"].to_numpy().astype(np.int64) - 1
        self._runs = runs
        chance = runs["random"].fill_null(True).to_numpy() if "random" in runs.columns else np.ones(len(runs), bool)
        self._chance = np.bincount(self._group[chance], minlength=len(self.runs)) > 0

    def matrix(self, metric: str) -> Floats:
        """Return a metric as float64 [groups, seeds]: NaN where no run finished, or where it has no value.

        A column is one seed within a point, so that rows of a point are paired column by column.
        """
        values = self._runs[metric].cast(pl.Float64).to_numpy()
        found = np.full((len(self.runs), int(self._seed.max()) + 1), np.nan)
        use = self._done & (abs(values) < LARGEST)
        found[self._group[use], self._seed[use]] = values[use]
        return found

    def numbered(self, keys: Sequence[str]) -> Ints:
        """Give the points with the same values of some of the keys one number, int64 [groups]."""
        return _numbered(self.heads, keys)

    def exact(self, metric: Metric) -> npt.NDArray[np.bool_]:
        """Tell which groups have no chance in a metric, bool [groups]: their runs drew nothing, and agree."""
        values = self.matrix(metric.name)
        agree: npt.NDArray[np.bool_] = np.fmin.reduce(values, axis=1) == np.fmax.reduce(values, axis=1)
        return agree & ~self._chance & (not metric.timed)


def _numbered(frame: pl.DataFrame, keys: Sequence[str]) -> Ints:
    """Give the different values of `keys` numbers from 0, in order of appearance; returns each row's, int64 [rows]."""
    if not keys:
        return np.zeros(len(frame), np.int64)
    groups = frame.with_row_index("_row").group_by(keys, maintain_order=True).agg("_row")["_row"]
    numbers = np.empty(len(frame), np.int64)
    numbers[groups.explode().to_numpy()] = np.repeat(np.arange(len(groups)), groups.list.len().to_numpy())
    return numbers


FILE, RUNS = "columns.json", "runs.parquet"
LISTS = ("resources", "tiers", "swept", "added")
"""Lists of names in columns.json."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Says what results have.

    That is the cluster's `resources`, the `tiers` of its network's links, the keys that are `swept`, every metric, in
    the order in which tables show them, what people read in place of the names of agents and keys, and the names of
    those metrics that the scenario `added`.
    """

    resources: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    swept: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()
    headings: Mapping[str, str] = field(default_factory=dict)
    added: tuple[str, ...] = ()

    def headed(self, headings: Mapping[str, str]) -> Columns:
        """Show metrics, agents and keys under these headings, and the others as before."""
        metrics = tuple(replace(one, heading=headings.get(one.name, one.heading)) for one in self.metrics)
        return replace(self, metrics=metrics, headings={**self.headings, **headings})


def write_runs(folder: Path, runs: pl.DataFrame, columns: Columns) -> None:
    """Write runs.parquet, and columns.json, which names it by its digest: each whole or not at all."""
    content = BytesIO()
    said = {"version": version("binwright"), **asdict(columns)}  # for whoever has the table alone
    runs.write_parquet(content, metadata={"binwright": json.dumps(said, ensure_ascii=False)})
    data = {"runs": digest_of(content.getvalue()), **asdict(columns)}
    with replacing(folder / RUNS) as unfinished:
        unfinished.write_bytes(content.getbuffer())
    write_text(folder / FILE, json.dumps(data, ensure_ascii=False, indent=1) + "\n")


def digest_of(content: bytes) -> str:
    """Digest what is in runs.parquet."""
    return blake2b(content, digest_size=8).hexdigest()


def read_columns(file: Path) -> tuple[Columns, str]:
    """Read columns.json, and the digest of its runs.parquet; raises ValueError for anything else than is written."""
    try:
        data = {"added": [], "headings": {}} | json.loads(file.read_text("utf-8"))
        metrics, names = [Metric(**one) for one in data["metrics"]], [data[key] for key in LISTS]
        headings = dict(data["headings"])
        texts = [text for one in metrics for text in (one.name, one.heading, one.unit, one.meaning)]
        texts += [*headings, *headings.values(), *(name for some in names for name in some)]
        is_right = all(isinstance(text, str) for text in texts) and all(isinstance(some, list) for some in names)
        is_right &= all(
            one.better in get_args(Better) and one.table in get_args(Table) and isinstance(one.timed, bool)
            for one in metrics
        )
        if not is_right or any(len(set(some)) < len(some) for some in (*names, [one.name for one in metrics])):
            raise ValueError("a name is no text, or is there twice, or a metric is not described")
        known = tuple(one.escaped(plain) for one in metrics)
        return Columns(**dict(zip(LISTS, map(tuple, names), strict=True)), metrics=known, headings=headings), str(
            data["runs"]
        )
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def merged(several: Iterable[Columns]) -> Columns:
    """Say what several results hold together; of metrics that share a name the first description counts."""
    several = list(several)
    metrics: dict[str, Metric] = {}
    for one in several:
        for metric in one.metrics:
            metrics.setdefault(metric.name, metric)
    resources, tiers, swept, added = (
        tuple(dict.fromkeys(name for one in several for name in getattr(one, key))) for key in LISTS
    )
    headings = {name: text for one in reversed(several) for name, text in one.headings.items()}
    return Columns(resources, tiers, swept, tuple(metrics.values()), headings, added)
