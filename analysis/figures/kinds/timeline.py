"""Means over the seeds over time: what was in use, what requests lacked, the energy of sites; and learning curves."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from binwright.analysis.compare.statistics import mean_interval
from binwright.analysis.figures.figure_data import CLOCK, MOST, FigureData, Options
from binwright.analysis.figures.kind import figure
from binwright.analysis.figures.style import COLOURS, GREY, heading, legend, looks, new, panel_axes, points, tidy
from binwright.simcore.errors import ResultsError, suggest

MOMENTS = 200
"""The moments at which seeds are averaged."""
OF_SITES = {"energy": "kWh in an hour", "carbon": "kg in an hour", "electricity": "cost in an hour"}


class Curve(NamedTuple):
    """Says how to read a curve from a frame of the `source`, and how it looks: without a colour in the agent's.

    Bands end at `most`.
    """

    source: str
    value: pl.Expr
    colour: str = ""
    dashes: str = "-"
    where: pl.Expr | None = None
    most: float = np.inf


Panel = tuple[str, Sequence[Curve]]
"""The label and the curves of a row of panels."""
Frames = Mapping[str, Sequence[pl.DataFrame]]
"""What was recorded, by source: a frame per seed."""


@figure(meaning="use over time, with expansion and failures", needs="record: [samples], [use] or [sites]")
def draw(chosen: FigureData, options: Options) -> Figure:
    """Draw a column per point and agent: the means over the seeds with bands.

    A curve ends when the first seed does: a mean over those that are left would be one of other runs.
    """
    chosen.few_points(max(1, MOST // len(chosen.few_agents())))
    recorded = [(point, agent, _frames(chosen, [*runs.values()])) for point, agent, runs in chosen.seeded()]
    rows = _rows(chosen, [frames for *_, frames in recorded])
    several = [frame for *_, frames in recorded for some in frames.values() for frame in some]
    scale, unit = CLOCK.scale(max((float(frame["time"][-1]) for frame in several if len(frame)), default=0.0))
    width = options.width or ("column" if len(recorded) == 1 else "page")
    figure = new(width, 0.9 + 1.15 * len(rows))
    axes = figure.subplots(len(rows), len(recorded), squeeze=False, sharex=True, sharey="row")
    for (label, curves), line in zip(rows, axes, strict=True):
        line[0].set_ylabel(label)
        for ax, (_, agent, frames) in zip(line, recorded, strict=True):
            tidy(ax)
            for curve in curves:
                _mean(ax, frames, curve, scale, curve.colour or chosen.look[agent][0])
            _marks(ax, frames, scale)
    for ax, (point, agent, _) in zip(axes[0], recorded, strict=True):
        ax.set_title("\n".join(filter(None, [chosen.heading(agent), chosen.name(point)])), fontsize=points())
    for ax in axes[-1]:
        ax.set_xlabel(f"time,{unit}")
    if any(curve.source == "sites" for _, curves in rows for curve in curves):
        names = _sites([frames for *_, frames in recorded])
        legend(figure, names, {name: (COLOURS[at % len(COLOURS)], "") for at, name in enumerate(names)})
    samples = [frames["samples"][0] for *_, frames in recorded if frames["samples"]]
    notes = ["dotted: servers are added"] * any(frame["servers"].n_unique() > 1 for frame in samples)
    notes += ["dashed: failures"] * any(frame["failures"][-1] > 0 for frame in samples)
    notes += ["dots: allocated; grey line: wanted; colour: used"] * any(
        len(curves) == 3 and curves[0].source == "use" for _, curves in rows
    )
    title = f"Over time: {', '.join(options.metrics)}" if options.metrics else chosen.finding(
        chosen.metric(chosen.headlines[0])
    )  # fmt: skip
    heading(figure, title, chosen.captioned(*notes))
    return figure


def _frames(chosen: FigureData, runs: Sequence[str]) -> dict[str, list[pl.DataFrame]]:
    """Read what was recorded of these runs; samples must be where nothing else is."""
    readers = {"use": chosen.results.use, "sites": chosen.results.hours_of_sites, "samples": chosen.results.samples}
    result: dict[str, list[pl.DataFrame]] = {}
    for source, read in readers.items():
        try:
            result[source] = [read(run) for run in runs]
        except ResultsError:
            if source == "samples" and not any(result.values()):
                raise
            result[source] = []
    return result


def _rows(chosen: FigureData, recorded: Sequence[Frames]) -> list[Panel]:
    """Choose the rows: those asked for, or resources, servers where they grow, a queue, what requests lacked, sites."""
    samples, use = ([frame for frames in recorded for frame in frames[source]] for source in ("samples", "use"))
    known: dict[str, list[Panel]] = {}
    quiet = {"electricity"}
    for name in _named(samples, "capacity_"):
        known[name] = [(f"{name} %", [Curve("samples", _share(f"used_{name}", f"capacity_{name}"), most=100)])]
    for name in ("servers", "waiting") if samples else ():
        known[name] = [(name, [Curve("samples", pl.col(name))])]
        counts = pl.concat([frame[name] for frame in samples]).to_numpy()
        quiet |= {name} if counts.max() <= (1 if name == "waiting" else counts.min()) else set()
    used = _named(use, "wanted_")
    lacking = [name for name in used if any(frame[f"missing_{name}"].sum() > 0 for frame in use)] or used[:1]
    for name in used:
        if name in lacking or name not in known:
            looks = (("used", "", "-"), ("allocated", GREY, ":"), ("wanted", GREY, "-"))
            curves = [
                Curve("use", _share(f"{kind}_{name}", f"capacity_{name}"), colour, dashes, most=100)
                for kind, colour, dashes in looks
            ]
            missing = Curve("use", _share(f"missing_{name}", f"wanted_{name}"), most=100)
            known[name] = [(f"{name} used %", curves), (f"{name} missing %", [missing])]
        quiet |= {name} if name not in lacking and not samples else set()
    sites = _sites(recorded)
    for name, label in OF_SITES.items() if sites else ():
        if any(frame[name].is_not_null().any() for frames in recorded for frame in frames["sites"]):
            paint = [(site, COLOURS[at % len(COLOURS)]) for at, site in enumerate(sites)]
            curves = [Curve("sites", pl.col(name), colour, where=pl.col("site") == site) for site, colour in paint]
            known[name] = [(label, curves)]
    for name in chosen.options.metrics:
        if name not in known:
            raise ResultsError("was not recorded over time", key=f"--metric {name}", remedy=suggest(name, known))
    names = chosen.options.metrics or [name for name in known if name not in quiet]
    return [row for name in names for row in known[name]][:MOST]


def _named(frames: Sequence[pl.DataFrame], begin: str) -> list[str]:
    return [name.removeprefix(begin) for name in (frames[0].columns if frames else ()) if name.startswith(begin)]


def _sites(recorded: Sequence[Frames]) -> list[str]:
    return list(dict.fromkeys(site for frames in recorded for frame in frames["sites"] for site in frame["site"]))


def _share(part: str, whole: str) -> pl.Expr:
    """Read a column in percent of another one."""
    return 100 * (pl.col(part) / pl.col(whole)).fill_nan(0.0)


def _mean(ax: Axes, frames: Frames, curve: Curve, scale: float, colour: str) -> None:
    """Draw the mean and 95 % band over the seeds."""
    runs = [frame if curve.where is None else frame.filter(curve.where) for frame in frames[curve.source]]
    runs = [frame for frame in runs if len(frame)]
    if not runs:
        return
    steps = [
        (frame["time"].to_numpy(), frame.select(curve.value.cast(pl.Float64)).to_series().to_numpy()) for frame in runs
    ]
    start, end = max(float(time[0]) for time, _ in steps), min(float(time[-1]) for time, _ in steps)
    times = np.unique(np.concatenate([np.linspace(start, end, MOMENTS), steps[0][0].clip(start, end)]))
    values = np.stack([value[np.searchsorted(time, times, side="right") - 1] for time, value in steps])
    mean, half = mean_interval(np.ascontiguousarray(values.T))
    ax.plot(scale * times, mean, drawstyle="steps-post", linestyle=curve.dashes, color=colour, linewidth=1.0)
    if len(steps) > 1 and not (curve.colour and curve.where is None):
        low, high = np.maximum(mean - half, 0), np.minimum(mean + half, np.maximum(mean, curve.most))
        ax.fill_between(scale * times, low, high, color=colour, alpha=0.2, step="post", linewidth=0)


def _marks(ax: Axes, frames: Frames, scale: float) -> None:
    """Draw lines at the samples of the first seed before which something failed, or servers were added."""
    for frame in frames["samples"][:1]:
        for column, dashes in (("failures", "--"), ("servers", ":")):
            for time in frame.filter(pl.col(column).diff() > 0)["time"]:
                ax.axvline(scale * time, color=GREY, linestyle=dashes, linewidth=0.5, alpha=0.6, zorder=0)


LOG = "log.parquet"
"""In a training's folder, a row per report: `step` (int), `seconds` (float), `split` (`train` or `validation`), `seed`
(int), and a float column per metric, null where the report did not have it."""
COLUMNS = ("step", "seconds", "split", "seed")
SPLITS = {"train": "--", "validation": "-"}
STEPS = 200
"""The steps at which seeds are averaged."""


@figure(meaning="learning curves, mean over the seeds", needs="folders with a log.parquet", source="training")
def learning(folders: str | Path | Iterable[str | Path], options: Options) -> Figure:
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
        if not path.is_file():
            below = folder / "training"
            remedy = f"Name {below}, where there is one." if (below / LOG).is_file() else remedy
            raise ResultsError("there is no training log here", file=path, remedy=remedy)
        try:
            log = pl.read_parquet(path, glob=False)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise ResultsError(f"the training log cannot be read: {error}", file=path, remedy=remedy) from error
        if not len(log) or not set(COLUMNS) <= set(log.columns):
            raise ResultsError("this is not a training log", file=path, remedy=remedy)
        mine = pl.col("seed").cast(pl.String) + f" of {folder}"
        result.setdefault(_training(folder.resolve()), []).append(log.with_columns(mine))
    return {name: pl.concat(logs, how="diagonal_relaxed") for name, logs in result.items()}


def _training(folder: Path) -> str:
    """Name the training in a folder: its point if it is one of a sweep, else its name without the seed at the end.

    `results/NAME/training` and its `seed-0` are called NAME; `results/NAME/training/rate=0.5` is called `rate=0.5`.
    """
    name = [part for part in folder.parts if part != "training" and not re.fullmatch(r"seed-\d+", part)][-1]
    is_numbered = name == folder.name and "=" not in name
    return (re.sub(r"[-_.]?(seed)?[-_.]?\d+$", "", name) if is_numbered else name) or name


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
