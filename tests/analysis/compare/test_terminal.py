"""Tables for a terminal name a width in which everything is shown, the first time that they are asked."""

from __future__ import annotations

import io
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, RenderableType

from binwright.analysis.compare.terminal import fitted
from binwright.analysis.results_api import Results
from tests.support.properties import scaled
from tests.support.results import row, write_results

TEXTS = st.text(st.sampled_from("ab µ±日本%"), min_size=1, max_size=40)


def shown(renderable: RenderableType, width: int) -> str:
    """Print it on a terminal of this width."""
    console = Console(file=io.StringIO(), width=width, emoji=False)
    console.print(renderable)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def widths(text: str) -> set[int]:
    """Read the widths that are said to suffice."""
    return set(map(int, re.findall(r"set\s+COLUMNS=(\d+)", text)))


@given(st.integers(1, 12).flatmap(lambda n: st.lists(st.lists(TEXTS, min_size=n, max_size=n), min_size=2, max_size=4)))
@scaled(0.5)
def test_the_width_that_is_named_suffices(table: list[list[str]]) -> None:
    heads, *lines = table

    def laid(width: int) -> str:
        groups, styles = [0] * len(lines), [[""] * len(heads)] * len(lines)
        return shown(fitted(heads, lines, width, first=1, groups=groups, styles=styles), width)

    for said in widths(laid(40)):
        whole = laid(said)
        assert "Wider terminals" not in whole
        assert "…" not in whole


def test_all_tables_of_a_comparison_name_one_width(tmp_path: Path) -> None:
    long = "an agent with a name that is long " * 4
    rows = [
        row(agent, seed, acceptance=0.5 + seed / 100, decision_us=10.0**size * (seed + 1), income=1e12 * (seed + size))
        for size, agent in enumerate(["first-fit", long])
        for seed in range(8)
    ]
    write_results(tmp_path, rows)
    results = Results(tmp_path)
    [said] = widths(shown(results.compare().rich(80), 80))
    assert not widths(shown(results.compare().rich(said), said))
    [said] = widths(shown(results.table().rich(80), 80))
    assert not widths(shown(results.table().rich(said), said))


def test_a_width_still_suffices_when_times_are_measured_again(tmp_path: Path) -> None:
    for length in range(90, 130, 4):  # near any round number
        said = 0
        for times in (1.0, 1000.0):
            rows = [row("a" * length, seed, decision_us=times * (1 + seed)) for seed in (0, 1)]
            write_results(tmp_path, rows)
            table = Results(tmp_path).table()
            if said:
                assert not widths(shown(table.rich(said), said))
            else:
                [said] = widths(shown(table.rich(80), 80))
