"""Learning curves from the logs of trainings: the mean over the seeds with its 95 % band.

A training's folder has a `log.parquet` with a row per report: `step` (int), `seconds` (float), `split` (`train` or
`validation`), `seed` (int), and a float column per metric, null where the report did not have it. Folders of the same
name (without a number at the end) are seeds of one training, as are the seeds of one log. `results/NAME/training` and
its `seed-0` are called NAME; a point of a sweep, `results/NAME/training/rate=0.5`, is called `rate=0.5`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from binwright.analysis.compare.statistics import mean_interval
from binwright.analysis.figures.figure_data import MOST, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import heading, legend, looks, panel_axes, tidy
from binwright.simcore.errors import ResultsError, suggest

LOG = "log.parquet"
COLUMNS = ("step", "seconds", "split", "seed")
SPLITS = {"train": "--", "validation": "-"}
STEPS = 200
"""The steps at which seeds are averaged."""


@figure(meaning="learning curves, mean over the seeds", needs="folders with a log.parquet", source="training")
def draw(folders: str | Path | Iterable[str | Path], options: Options) -> Figure:
    """Draw a panel per metric; dashes are training, lines validation. Lines end where the first seed's log does."""
    logs = _logs([folders] if isinstance(folders, str | Path) else list(folders))
    known = list(dict.fromkeys(name for log in logs.values() for name in log.columns if name not in COLUMNS))
    for name in options.metrics:
        if name not in known:
            raise ResultsError("is in no log", key=f"--metric {name}", remedy=suggest(name, known))
    checked = pl.concat(logs.values(), how="diagonal_relaxed").filter(pl.col("split") == "validation")
    judged = [name for name in known if checked[name].count()]  # what a training is for, and shown first
    shown = [name for name in dict.fromkeys([*judged, *known]) if not name.endswith("seconds")]
    metrics = list(options.metrics) or shown[:MOST]
    figure, axes, _ = panel_axes(options.width, len(metrics), 3, 1.7)
    look = looks(logs)
    for ax, metric in zip(axes, metrics, strict=True):
        tidy(ax)
        for name, log in logs.items():
            for split, dashes in SPLITS.items():
                if metric in log.columns:
                    _curve(ax, log.filter(pl.col("split") == split), metric, look[name][0], dashes)
        ax.set_xlabel("step")
        ax.xaxis.set_major_formatter(EngFormatter(sep=""))
        ax.set_ylabel(metric.replace("_", " "))
    if len(logs) > 1:
        legend(figure, logs, {name: (colour, "") for name, (colour, _) in look.items()})
    counts = sorted({log["seed"].n_unique() for log in logs.values()})
    seeds = "one seed" if counts == [1] else f"mean and 95 % interval over {' to '.join(map(str, counts))} seeds"
    splits = {split for log in logs.values() for split in log["split"].unique()}
    subject = f"Learning: {next(iter(logs))}" if len(logs) == 1 else "Learning"
    heading(figure, subject, seeds + ("; dashes: training, lines: validation" if len(splits) > 1 else ""))
    return figure


def _logs(folders: Sequence[str | Path]) -> dict[str, pl.DataFrame]:
    """Read the logs by name of the training; the seeds of folders that share one are told apart by the folder."""
    result: dict[str, list[pl.DataFrame]] = {}
    for folder in dict.fromkeys(map(Path, folders)):
        path, remedy = folder / LOG, f"Name the folder of a training, whose log has {', '.join(COLUMNS)}, and metrics."
        try:
            log = pl.read_parquet(path, glob=False)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise ResultsError(f"there is no training log here: {error}", file=path, remedy=remedy) from error
        if not len(log) or not set(COLUMNS) <= set(log.columns):
            raise ResultsError("this is not a training log", file=path, remedy=remedy)
        mine = pl.col("seed").cast(pl.String) + f" of {folder}"
        result.setdefault(_training(folder.resolve()), []).append(log.with_columns(mine))
    return {name: pl.concat(logs, how="diagonal_relaxed") for name, logs in result.items()}


def _training(folder: Path) -> str:
    """Name the training in a folder: its point if it is one of a sweep, else its name without the seed at the end."""
    if re.fullmatch(r"seed-\d+", folder.name) and "=" in folder.parent.name:
        folder = folder.parent
    name = folder.name if "=" in folder.name else re.sub(r"[-_.]?(seed)?[-_.]?\d+$", "", folder.name)
    if name and name != "training":
        return name
    above = [part for part in folder.parts[1:-1] if part != "training"]
    return above[-1] if above else folder.name


def _curve(ax: Axes, log: pl.DataFrame, metric: str, colour: str, dashes: str) -> None:
    """Draw the mean over the seeds, which are taken to change evenly between reports; a single report is a marker."""
    seeds = [
        (group["step"].to_numpy(), group[metric].to_numpy())
        for _, group in log.drop_nulls(metric).sort("step").group_by("seed", maintain_order=True)
    ]
    if not seeds:
        return
    start, end = max(step[0] for step, _ in seeds), min(step[-1] for step, _ in seeds)
    reported = np.unique(np.concatenate([step for step, _ in seeds]))
    reported = reported[(reported >= start) & (reported <= end)]
    steps = reported if len(reported) <= STEPS else np.linspace(start, end, STEPS)
    mean, half = mean_interval(np.stack([np.interp(steps, *seed) for seed in seeds], axis=1))
    if len(steps) == 1:
        ax.errorbar(steps, mean, half if len(seeds) > 1 else None, fmt="o", color=colour, markersize=4, linewidth=1.0)
        return
    ax.plot(steps, mean, dashes, color=colour, linewidth=1.0)
    if len(seeds) > 1:
        ax.fill_between(steps, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0)
