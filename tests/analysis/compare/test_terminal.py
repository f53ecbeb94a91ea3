"""Tables for a terminal name a width in which everything is shown, the first time that they are asked."""

import io
import re

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, RenderableType

from binwright.analysis.compare.terminal import fitted
from tests.support.properties import scaled

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
def test_named_width_suffices_for_the_whole_table(table: list[list[str]]) -> None:
    heads, *lines = table

    def laid(width: int) -> str:
        groups, styles = [0] * len(lines), [[""] * len(heads)] * len(lines)
        return shown(fitted(heads, lines, width, first=1, groups=groups, styles=styles), width)

    for said in widths(laid(40)):
        whole = laid(said)
        assert "Wider terminals" not in whole
        assert "…" not in whole
