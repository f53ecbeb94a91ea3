"""The table at the end of a run: which agent did better, and whether the seeds can tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analysis.columns import Metric, metrics
from analysis.stats import differ, mean_interval

if TYPE_CHECKING:
    import polars as pl
    import rich.table

    from analysis.results import Results

BEST, TIED = "*", "="


@dataclass(frozen=True, slots=True)
class Cell:
    """Mean and half width over the seeds; `mark` is `*` for the best, `=` for what the seeds can't tell from it."""

    mean: float
    half: float
    mark: str = ""

    def write(self, metric: Metric) -> str:
        """The cell for people."""
        return metric.write(self.mean, self.half) + (self.mark and f" {self.mark}")


@dataclass(frozen=True, slots=True)
class Row:
    """One agent at one point of the sweep."""

    point: tuple[Any, ...]
    agent: str
    runs: int
    failed: int
    cells: tuple[Cell | None, ...]


class Table:
    """Agents as rows and metrics as columns, for every point of the sweep. `str()` gives Markdown."""

    def __init__(self, results: Results) -> None:
        self.swept = results.swept
        done = results.done
        self.metrics = _worth_showing(done, results)
        self.rows: list[Row] = []
        for key, group in (
            results.runs.group_by(self.swept, maintain_order=True) if self.swept else [((), results.runs)]
        ):
            self.rows += self._rows(key, group)
        self._several_seeds = any(row.runs - row.failed > 1 for row in self.rows)
        self._seeds_matter = _vary(done, [*self.swept, "agent"], self.metrics)

    def _rows(self, point: tuple[Any, ...], group: pl.DataFrame) -> list[Row]:
        import polars as pl

        agents = group["agent"].unique(maintain_order=True).to_list()
        by_agent = {agent: group.filter(pl.col("agent") == agent).sort("seed") for agent in agents}
        done = {agent: runs.filter(pl.col("status") == "done") for agent, runs in by_agent.items()}
        columns = [self._column(metric, done) for metric in self.metrics]
        return [
            Row(
                point,
                agent,
                len(by_agent[agent]),
                len(by_agent[agent]) - len(done[agent]),
                tuple(column.get(agent) for column in columns),
            )
            for agent in agents
        ]

    def _column(self, metric: Metric, done: dict[str, pl.DataFrame]) -> dict[str, Cell]:
        done = {agent: runs.drop_nulls(metric.name) for agent, runs in done.items()}
        values = {agent: runs[metric.name].to_numpy() for agent, runs in done.items() if len(runs)}
        intervals = {agent: mean_interval(numbers) for agent, numbers in values.items()}
        if metric.better == "neither":
            return {agent: Cell(*interval) for agent, interval in intervals.items()}
        sign = 1 if metric.better == "more" else -1
        best = max(intervals, key=lambda agent: sign * intervals[agent][0], default="")
        tied = {agent for agent in values if not _told_apart(done[agent], done[best], metric.name)}
        marks = dict.fromkeys(tied, TIED) | {best: BEST} if len(tied) < len(values) else {}
        return {agent: Cell(*intervals[agent], marks.get(agent, "")) for agent in values}

    @property
    def headings(self) -> list[str]:
        """The columns' headings."""
        return [*self.swept, "agent", "runs", *(metric.heading for metric in self.metrics)]

    def texts(self) -> list[list[str]]:
        """The cells as they are shown, row by row."""
        return [
            [
                *map(str, row.point),
                row.agent,
                f"{row.runs - row.failed}/{row.runs}" if row.failed else str(row.runs),
                *("-" if cell is None else cell.write(m) for cell, m in zip(row.cells, self.metrics, strict=True)),
            ]
            for row in self.rows
        ]

    @property
    def legend(self) -> str:
        """What the marks mean."""
        if not self._several_seeds:
            return "One seed: no intervals, and nothing is told apart."
        text = "Mean ± half of the 95 % interval over the seeds."
        if not self._seeds_matter:
            text += " All of them gave the same: nothing here depends on the seed, and one would do."
        if any(cell and cell.mark for row in self.rows for cell in row.cells):
            text += f" {BEST} best; {TIED} not told from the best by these seeds (paired 95 % interval)."
        return text

    def rich(self, width: int) -> rich.table.Table:
        """For a terminal: as many metrics as fit its width, the others are named below."""
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

        texts = self.texts()
        widths = [max(map(len, column)) + 3 for column in zip(self.headings, *texts, strict=True)]
        shown = first = len(self.swept) + 2
        while shown < len(widths) and (shown == first or sum(widths[: shown + 1]) <= width):
            shown += 1
        caption = self.legend
        if shown < len(widths):
            caption += f" Wider terminals show: {', '.join(self.headings[shown:])}."
        table = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, caption=caption, caption_justify="left")
        for number, heading in enumerate(self.headings[:shown]):
            table.add_column(heading, justify="right" if number >= first - 1 else "left", no_wrap=number >= first)
        for number, (row, line) in enumerate(zip(self.rows, texts, strict=True)):
            if number and row.point != self.rows[number - 1].point:
                table.add_section()
            table.add_row(*(Text(text, style="bold green" if text.endswith(BEST) else "") for text in line[:shown]))
        return table

    def __str__(self) -> str:
        lines = [self.headings, ["---"] * len(self.headings), *self.texts()]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines) + f"\n\n{self.legend}\n"


def _vary(done: pl.DataFrame, groups: list[str], metrics: list[Metric]) -> bool:
    """Does any metric that is no time depend on the seed?"""
    import polars as pl

    names = [metric.name for metric in metrics if metric.name != "decision_us"]
    counts = done.group_by(groups).agg(pl.col(names).n_unique()).select(names)
    return any((counts[name] > 1).any() for name in names)


def _told_apart(ours: pl.DataFrame, theirs: pl.DataFrame, metric: str) -> bool:
    """Can the seeds that both agents were run on tell them apart?"""
    pairs = ours.join(theirs, on="seed", suffix="_theirs")
    return len(pairs) > 1 and differ(pairs[metric].to_numpy(), pairs[f"{metric}_theirs"].to_numpy())


def _worth_showing(done: pl.DataFrame, results: Results) -> list[Metric]:
    """The metrics that say something about these runs: the others are the same for every run, or say it twice."""
    if not len(done):
        return []
    hidden = {"acceptance"} if done["stopped"].sum() else {"scheduled"}
    if done["wait_max"].max() and done["acceptance"].min() == 1:
        hidden.add("acceptance")  # all get a place in the end: waiting is what differs
    for name in ("wait_mean", "wait_p95", "interrupted", "lost", "servers"):
        if done[name].n_unique() == 1:
            hidden.add(name)
    shown = [metric for metric in metrics(results.resources, results.tiers) if metric.name not in hidden]
    return [metric for metric in shown if metric.name in done.columns and _says_something(metric, done)]


def _says_something(metric: Metric, done: pl.DataFrame) -> bool:
    return not metric.name.startswith("fragmentation") or bool((done[metric.name] != 0).any())
