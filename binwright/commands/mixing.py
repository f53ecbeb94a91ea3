"""What `size --mix` shows: the cheapest mix of kinds of servers for each agent."""

from __future__ import annotations

from typing import Any

import rich.table
from rich import box
from rich.markup import escape
from rich.table import Table

from binwright.commands.console import many_of
from binwright.commands.size_costs import bills_of
from scenarios.size.evaluate import FAILED, NOT_TOLD
from scenarios.size.mixing import Mixed


def table(found: Mixed) -> rich.table.Table:
    """Lay the answer out: how many servers of each kind, what they cost, and what one kind alone would."""
    question, metric = found.question, found.question.target.metric
    laid = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title=escape(f"cheapest {question.key} until {question.until}"),
        title_justify="left",
        caption=_legend(found),
        caption_justify="left",
    )
    only = [f"only {kind}" for kind in question.kinds]
    bills = bills_of(found.frame, question.scenario)
    cost = f"cost/h {question.scenario.currency}".rstrip()
    headings = (*question.kinds, cost, "95 %", *only, f"{metric.heading} there", *(heading for heading, _ in bills))
    for heading in ("agent", *headings):
        laid.add_column(escape(heading), justify="left" if heading == "agent" else "right", overflow="fold")
    for row in found.frame.iter_rows(named=True):
        mark = {"best": " *", NOT_TOLD: " ="}.get(row["verdict"], "")
        laid.add_row(
            escape(found.results.heading(row["agent"])),
            *(
                FAILED if row["verdict"] == FAILED else "-" if row[kind] is None else str(row[kind])
                for kind in question.kinds
            ),
            f"{_money(row['cost'])}{mark}",
            "-" if row["mean_low"] is None else f"[{_money(row['cost_low'])}, {_money(row['cost_high'])}]",
            *(_money(row[f"cost_only_{kind}"]) for kind in question.kinds),
            "-" if row["mean"] is None else metric.write(row["mean"], _half(row)),
            *(write(row) for _, write in bills),
        )
    return laid


def _half(row: dict[str, Any]) -> float:
    """Return half of the interval of an agent's mean, of which a share's may be cut at one end."""
    if row["mean_low"] is None:
        return 0.0
    return max(float(row["mean"] - row["mean_low"]), float(row["mean_high"] - row["mean"]))


def _money(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _legend(found: Mixed) -> str:
    """Say what the columns are, and what the marks in them."""
    question = found.question
    rows: list[dict[str, Any]] = found.frame.to_dicts()
    seeds = many_of(question.scenario.replications, "seed")
    parts = [
        f"With these servers the mean over {seeds} meets it at least cost ({rows[0]['prices']} an hour); 95 %: the "
        "interval of the cost; * the cheapest; only ...: the cost of that kind alone, - where it never suffices."
    ]
    if NOT_TOLD in {row["verdict"] for row in rows}:
        parts.append("= with the mix of the best one, these seeds do not tell it from the best.")
    return " ".join(parts)
