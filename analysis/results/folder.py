"""Results on disk, read back: those of one folder, or of several as one."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from io import BytesIO
from math import inf
from pathlib import Path
from shlex import quote
from typing import Any

import yaml

from binwright.analysis.measure.metric import Metric
from binwright.analysis.results.columns import RUNS, Choice, Columns, choose_metrics, merged, read_columns
from binwright.analysis.results.escaping import plain
from binwright.simcore.errors import ResultsError
from binwright.simcore.extras import pl


def refused_shares(
    done: pl.DataFrame, keys: Sequence[str], most: int
) -> tuple[list[str], dict[tuple[Any, ...], list[list[float]]], Counter[str]]:
    """Return the `most` frequent reasons of refusals, then "others" if there are more; and all counts.

    Between them is what every run refused for each of these, in %, by values of `keys`, of what acceptance is a share
    of: the offered, and those that were sent back in vain. Runs that refused nothing are there, too.
    """
    if "reasons" not in done.columns:
        return [], {}, Counter()
    lost = done["lost"].fill_null(0) if "lost" in done.columns else 0
    rows = done.select(*keys, pl.col("offered").fill_null(0) + lost).iter_rows()
    counts = [Counter(json.loads(text or "{}")) for text in done["reasons"]]
    total: Counter[str] = sum(counts, Counter())
    named = [reason for reason, _ in total.most_common(most)]
    runs: dict[tuple[Any, ...], list[list[float]]] = {}
    for (*group, requested), each in zip(rows, counts, strict=True):
        refused = [each[name] for name in named]
        refused += [each.total() - sum(refused)] * (len(total) > most)
        shares = [100 * count / requested if requested else 0.0 for count in refused]
        runs.setdefault(tuple(group), []).append(shares)
    return [*named, *["others"] * (len(total) > most)], runs, total


def as_written(value: Any) -> str:
    """Write a value of a swept key as a scenario would have it, where its column has JSON: `make_room: {moves: 1}`."""
    if not isinstance(value, str) or not value.startswith(("{", "[")):
        return plain(str(value))
    try:
        data = json.loads(value)
    except ValueError:  # a text that begins so
        return plain(value)
    text = yaml.safe_dump(data, default_flow_style=True, width=inf, sort_keys=False, allow_unicode=True).strip()
    return plain(text[1:-1] if isinstance(data, dict) else text)


def telling_keys(runs: pl.DataFrame, swept: Sequence[str]) -> list[str]:
    """Leave out the last swept keys whose values follow from those of the others, as keys of a `zip` do."""
    keys = list(swept)
    points = runs.select(keys).n_unique() if keys else 0
    for key in reversed(swept):
        others = [other for other in keys if other != key]
        if others and runs.select(others).n_unique() == points:
            keys = others
    return keys


NEEDED = ("run", "agent", "seed", "version", "status")
"""Columns that runs.parquet has whatever was measured."""


def _details(kind: str, what: str) -> Callable[[ResultsFolder, str], pl.DataFrame]:
    """Make the method that reads what a scenario recorded of a run."""

    def read(self: ResultsFolder, run: str) -> pl.DataFrame:
        return self._detail(run, kind)

    read.__doc__ = f"Read {what}, when the scenario recorded it."
    return read


class ResultsFolder:
    """Reads a results folder: `runs` has a row per run, `columns` says what is in it; details are read when needed.

    `row_heading` is what a row of a table is; `parts` are the folders that these results come from.
    """

    row_heading, title = "agent", ""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.runs, self.columns = _read_runs(self.folder)
        self.parts: list[ResultsFolder] = [self]

    @property
    def scenario_file(self) -> Path:
        """The scenario as resolved, with every default written out; the first one of several."""
        return self.parts[0].folder / "scenario.yaml"

    @property
    def name(self) -> str:
        """The scenario's name; the folder's where that is not to be read."""
        return self.title or plain(str(self.setting("name") or self.folder.resolve().name))

    def setting(self, key: str) -> Any:
        """Return what the scenario says below one of its keys; None where that is nothing, or not to be read."""
        try:
            text = self.scenario_file.read_text("utf-8")
            # Only its lines: all of a long scenario would take longer than everything else.
            part = re.search(rf"^{key}:.*\n(?:[ -].*\n)*", text, re.MULTILINE)
            result = yaml.safe_load(part[0]) if part else None
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            return None
        return result[key] if isinstance(result, dict) else None

    @property
    def look(self) -> dict[str, Any]:
        """What the scenario says of figures."""
        result = self.setting("figures")
        return result if isinstance(result, dict) else {}

    @property
    def headlines(self) -> list[str]:
        """The metrics that the scenario names as its headline metrics."""
        lists = [part.setting("headline_metrics") for part in self.parts]
        return [name for each in lists if isinstance(each, list) for name in each if isinstance(name, str)]

    def choose(self) -> Choice:
        """Choose the metrics to show of the runs that finished."""
        return choose_metrics(self)

    @property
    def done(self) -> pl.DataFrame:
        """The runs that finished; a value that is no number is none."""
        numbers = pl.col(pl.Float32, pl.Float64)
        done = self.runs.filter(pl.col("status") == "done")
        return done.with_columns(pl.when(numbers.is_finite()).then(numbers))

    @property
    def failed(self) -> pl.DataFrame:
        """The runs that did not, each with its error."""
        return self.runs.filter(self.runs["status"] != "done")

    @property
    def failures(self) -> list[list[tuple[str, str]]]:
        """Names and errors of the runs that failed; those whose last lines differ in numbers only are together."""
        alike: dict[str, list[tuple[str, str]]] = {}
        for row in self.failed.iter_rows(named=True):
            point = "".join(f", {self.short(key)} {as_written(row[key])}" for key in self.swept)
            error = str(row["error"]).strip()
            of_reason = alike.setdefault(re.sub(r"\d+(\.\d+)?", "#", error.rpartition("\n")[2]), [])
            of_reason.append((f"{self.heading(row['agent'])}, seed {row['seed']}{point}", error))
        return [*alike.values()]

    @property
    def unfinished(self) -> str:
        """Say how many planned runs are missing, since their batch was interrupted or goes on; "" for none."""
        counts = dict.fromkeys((part.columns.planned - len(part.runs), part.columns.planned) for part in self.parts)
        text = "Unfinished: {:,} of {:,} runs are missing; the same command goes on."
        return " ".join(text.format(missing, planned) for missing, planned in counts if missing > 0)

    @property
    def resources(self) -> list[str]:
        return list(self.columns.resources)

    @property
    def metrics(self) -> list[Metric]:
        """The metrics that runs have, in the order in which tables show them."""
        return list(self.columns.metrics)

    @property
    def swept(self) -> list[str]:
        """The keys that the sweep varies."""
        return list(self.columns.swept)

    def heading(self, name: str) -> str:
        """Return what people read in place of the name of an agent (or folder/agent), a swept key or a metric."""
        folder, slash, last = name.rpartition("/")
        headings = self.columns.headings
        return plain(headings.get(name, folder + slash + headings.get(last, last)))

    def short(self, key: str) -> str:
        """Return what people read in place of a swept key where there is little room: without a heading its end."""
        last, others = key.rpartition(".")[2], [other for other in self.swept if other != key]
        is_known = self.heading(key) != key or any(other.rpartition(".")[2] == last for other in others)
        return self.heading(key) if is_known else last

    def part(self, run: str) -> ResultsFolder:
        """Return the results of the folder that a run belongs to."""
        return next(part for part in self.parts if len(self.parts) == 1 or run in part.runs["run"])

    requests = _details("requests", "a row per request of a run")
    samples = _details("samples", "the cluster over time")
    states = _details("states", "every server and link over time")
    hours_of_sites = _details("sites", "what each site of a run came to in every hour")
    use = _details("use", "what was used and missing in every step of a run")
    times = _details("times", "how long every decision of a run took")
    devices = _details("devices", "how the devices were used after every decision of a run")

    def _detail(self, run: str, kind: str) -> pl.DataFrame:
        path = self.part(run).folder / "details" / f"{run}.{kind}.parquet"
        if not path.is_file():
            remedy = f"Write `record: [{kind}]` into the scenario and run it again."
            raise ResultsError(f"the {kind} of run {run} were not recorded", file=path, remedy=remedy)
        return _read(path, path, "Delete it and run the scenario again: a run without its details is run again.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r}: {len(self.runs)} runs, {len(self.failed)} failed)"


def _read_runs(folder: Path) -> tuple[pl.DataFrame, Columns]:
    """Read the table of runs, and what its columns are."""
    path, scenario, has_journal = folder / RUNS, folder / "scenario.yaml", (folder / "journal.jsonl").is_file()
    again = "Run the scenario again with this version of Binwright"
    again += ": it takes finished runs from journal.jsonl" * has_journal
    again += f": binwright run {quote(str(scenario))} --out {quote(str(folder))}." if scenario.is_file() else "."
    if not path.is_file() and has_journal:
        raise ResultsError("this batch is unfinished: it has no runs.parquet yet", file=folder, remedy=again)
    if not path.is_file():
        remedy = "Name the folder that `binwright run` wrote: results/NAME."
        raise ResultsError("there are no results here", file=folder, remedy=remedy)
    content = path.read_bytes()  # once, as a batch that goes on may write another one
    runs = _read(content, path, again)
    try:
        columns = read_columns(pl.read_parquet_metadata(BytesIO(content)).get("binwright", ""))
        missing = ", ".join(name for name in (*NEEDED, *columns.swept) if name not in runs.columns)
    except ValueError:
        missing = "what its columns are"
    if missing or not len(runs):
        problem = f"another version or program wrote this: it does not have {missing or 'any run'}"
        raise ResultsError(problem, file=path, remedy=again)
    return runs, columns


def _read(source: Path | bytes, path: Path, remedy: str) -> pl.DataFrame:
    try:
        return pl.read_parquet(source, glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        first = (str(error).splitlines() or [""])[0]
        raise ResultsError(f"this is not a readable Parquet file: {first}", file=path, remedy=remedy) from error


def combined(parts: Sequence[ResultsFolder], names: Sequence[str] = ()) -> ResultsFolder:
    """Put several results together: a column `scenario` tells different names apart, as if it had been swept.

    The names are those given, or the scenarios'. Of one scenario, the same run in two folders counts once; where two
    folders ran an agent with different settings, all have their folder before the label, which is in `_agent` alone.
    """
    if not parts:
        raise ResultsError("there are no results to compare", remedy="Name a results folder.")
    names = names or [part.name for part in parts]
    folders = Counter(part.folder.resolve().name for part in parts)
    frames = []
    for part, name in zip(parts, names, strict=True):
        folder = part.folder.resolve().name
        apart = {"scenario": name, "_folder": folder if folders[folder] == 1 else str(part.folder)}
        frames.append(part.runs.with_columns(_agent=pl.col("agent"), **{key: pl.lit(x) for key, x in apart.items()}))
    columns = merged(part.columns for part in parts)
    try:
        runs = pl.concat(frames, how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        problem = f"these results do not go together: {str(error).splitlines()[0]}"
        remedy = "Name folders that the same version of Binwright wrote."
        raise ResultsError(problem, file=parts[-1].folder, remedy=remedy) from error
    if len(parts) > 1:
        one_run = ["scenario", *columns.swept, "_agent", "seed"]
        runs = runs.unique([*one_run, "run"], keep="first", maintain_order=True)
        is_twice = pl.struct(one_run).is_duplicated().any().over("scenario")
        runs = runs.with_columns(
            agent=pl.when(is_twice).then(pl.format("{}/{}", "_folder", "_agent")).otherwise("_agent")
        )
    result, swept = copy(parts[0]), ["scenario"] if runs["scenario"].n_unique() > 1 else []
    result.runs, result.columns = runs, replace(columns, swept=(*swept, *columns.swept))
    result.title, result.parts = " + ".join(dict.fromkeys(names)), list(parts)
    result.folder = Path(result.title)
    return result


def points_as_agents(results: ResultsFolder) -> ResultsFolder:
    """Let the points of a sweep take the place of agents where there is one agent: then they are what is compared."""
    keys = telling_keys(results.runs, results.swept)
    if not keys or results.runs["agent"].n_unique() > 1 or results.runs.select(keys).n_unique() < 2:
        return results
    result, short = copy(results), [results.short(key) for key in keys]
    names = []
    for point in results.runs.select(keys).iter_rows():
        words = list(map(as_written, point))
        names.append(words[0] if len(keys) == 1 else ", ".join(map(" ".join, zip(short, words, strict=True))))
    agents = pl.Series("agent", names)
    result.runs = results.runs.with_columns(agents, agents.alias("_agent"))
    result.columns = replace(results.columns, swept=())
    result.row_heading = short[0] if len(keys) == 1 else "point"
    return result
