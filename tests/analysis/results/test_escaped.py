"""What users wrote reads as they wrote it wherever it is shown: names, units, headings, descriptions, reasons."""

import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from binwright.analysis.compare.comparison import Comparison
from binwright.analysis.figures.kind import draw
from binwright.analysis.figures.style import rendered
from binwright.analysis.measure.definition import describe
from binwright.analysis.measure.metric import Metric
from binwright.analysis.report.page import compose
from binwright.analysis.results import escaping
from binwright.analysis.results.columns import Columns, write_runs
from binwright.analysis.results_api import Results
from binwright.simcore.files import write_text
from tests.support.properties import scaled
from tests.support.results import row

NASTY = [
    r"\input{/etc/passwd}", r"50 % of $5_a^b$ & more ~ #1 {x} \\", "*[2] first",
    "[click](javascript:alert(1)) ![i](x)", "`code` **bold** __init__ ~~no~~ a_b_c _x_", "a | b \\| c",
    "<script>alert('&amp;')</script><b>", "</script><!-- ' \" -->", "two\nlines\r\n\n\n# heading\x1b[2J\x00\u2028end",
    "[/bold][red]x[/]", "$\\frac{$ $x$", "$title ${name} {} %s {0}", "", " ", "\u202eright to left",
]  # fmt: skip
nasty = st.sampled_from(NASTY) | st.text(
    st.sampled_from("\\`*_{}[]<>()#+-.!|&~$%^\"'/:;=@ \n\ta1é≥") | st.characters(exclude_categories=["Cs"]), max_size=12
)


class Text(HTMLParser):
    """The text of HTML, cell by cell, and its tags."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.cells:
            self.cells[-1] += data


def shown(markdown: str) -> Text:
    """What a reader of CommonMark sees, with GitHub's tables and strikethrough."""
    return Text(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown))


def set_in_latex(text: str) -> str:
    """What LaTeX sets of an escaped text; fails on a sign that would do something else."""
    signs = {
        r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^", r"\textbar{}": "|",
        r"\textless{}": "<", r"\textgreater{}": ">", r"\textasciigrave{}": "`", r"\textmu{}": "µ",
        r"\ensuremath{\leq}": "≤", r"\ensuremath{\geq}": "≥", r"\ensuremath{-}": "\N{MINUS SIGN}",
        "{[}": "[", "{*}": "*",
        **{f"\\{sign}": sign for sign in "&%$#_{}"},
    }  # fmt: skip
    topology = ""
    while text:
        code = next((code for code in signs if text.startswith(code)), None)
        if code is None:
            assert text[0] not in "\\~^|<>`[*&%$#_{}\n\r"
        topology, text = topology + (signs[code] if code else text[0]), text[len(code or text[0]) :]
    return topology


@given(nasty)
@example("a\\|b")
def test_markdown_and_latex_show_a_text_as_it_is(text: str) -> None:
    plain = escaping.plain(text)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u202a-\u202e]|\s\s", plain)
    present = shown(f"| {escaping.markdown(text)} | b |\n| --- | --- |\n| {escaping.markdown(text)} | b |\n")
    assert [cell.strip() for cell in present.cells] == [" ".join(plain.split()), "b"] * 2
    assert set(present.tags) <= {"table", "thead", "tbody", "tr", "th", "td"}
    assert set_in_latex(escaping.latex(text)) == plain


def made(folder: Path, texts: list[str]) -> Results:
    """Results in which everything that a user may name is called so."""
    agent, key, value, heading, unit, resource = texts
    agents = [agent, f"{agent}2"]
    rows = [
        row(name, seed, own=seed + number, acceptance=0.5 + seed / 100 + number / 10)
        | {"reasons": json.dumps({heading: 1})}
        for number, name in enumerate(agents)
        for seed in range(6)
    ]
    keyed = f"key {key}"
    order = ["run", "agent", "seed", keyed]
    frame = pl.DataFrame([each | {keyed: value} for each in rows]).select(
        *order, *(name for name in rows[0] if name not in order)
    )
    frame = pl.concat([frame, _failed(frame, heading)])
    headings = {agent: f"agent {agent}", keyed: f"{key} heading"}
    own = Metric("own", f"own {heading}", unit, "higher", f"meaning {value}")
    resources = (resource or "cpu",)
    metrics = (*describe(resources, ()), own)
    write_runs(folder, frame, Columns(resources, (keyed,), metrics, headings))
    spec = {"name": f"name {agent}", "description": f"description {heading}"}
    write_text(folder / "scenario.yaml", yaml.safe_dump(spec, allow_unicode=True))
    return Results(folder)


def _failed(frame: pl.DataFrame, error: str) -> pl.DataFrame:
    """A run of the first agent that failed with this error."""
    return frame[:1].with_columns(
        run=pl.lit("failed"), seed=pl.lit(99, pl.Int64), status=pl.lit("failed"), error=pl.lit(error)
    )


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The tags of a page with harmless names."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("binwright.analysis.report.page.figures", lambda *_: {})
        return set(Text(compose(made(tmp_path_factory.mktemp("usual"), list("abcdef")))).tags)


@given(texts=st.lists(nasty, min_size=6, max_size=6))
@scaled(0.3)
def test_everything_that_users_name_is_shown_as_it_is(usual: set[str], texts: list[str]) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        results = made(Path(folder), texts)
        patched.setattr("binwright.analysis.report.page.figures", lambda *_: {})
        page = compose(results)
        table, comparison = results.table(), Comparison(results)
        both = shown(str(table)), shown(comparison.markdown())
        latex = comparison.latex()
        console = Console(width=200, color_system=None, emoji=False)
        with console.capture() as capture:
            console.print(table.rich(200), comparison.rich(200))
    heading, agent, unit = (escaping.plain(text) for text in (f"own {texts[3]}", f"agent {texts[0]}", texts[4]))
    for present in both:
        assert set(present.tags) <= {"table", "thead", "tbody", "tr", "th", "td", "p", "strong"}
        cells = [" ".join(cell.split()) for cell in present.cells]
        assert agent in cells
        assert len(set(cells)) > 4
    assert heading in " ".join(both[0].cells)
    assert " ".join(f"{heading}, higher is better".split()) in " ".join(both[1].text.split())
    if unit:
        assert any(cell.strip().endswith(unit) for cell in both[1].cells)
    _check_latex(latex)
    assert "\x1b" not in capture.get()
    assert heading in " ".join(capture.get().split())
    read = Text(page)
    assert set(read.tags) <= usual
    for text in (f"name {texts[0]}", f"agent {texts[0]}", f"own {texts[3]}"):
        assert _parsed(escaping.plain(text)) in _parsed(read.text)
    assert _parsed(f"description {texts[3]}") in _parsed(read.text)


@pytest.mark.parametrize("kind", ["differences", "pareto"])
def test_a_figure_shows_names_as_they_are(kind: str, tmp_path: Path) -> None:
    """No formula begins in them, and none that is wrong ends the figure."""
    results = made(tmp_path, ["$x^$ \\frac{$\x1b\x00", "$k_{1$", "1 % of $5", "$\\alpha$ <b>", "$ per $", ""])
    # Ranks need three agents.
    results.runs = pl.concat([results.runs, results.done[:6].with_columns(agent=pl.lit("third$_$"))])
    metrics = ["own", "acceptance", "servers_used"][: 2 if kind == "pareto" else 3]
    texts = Text(rendered(draw(results, kind, metrics=metrics), "svg").decode()).text
    assert not set(texts) & {"\x1b", "\x00"}
    for text in ("$x^$ \\frac{$", "$\\alpha$ <b>", "third$_$"):
        assert text in texts


def _parsed(text: str) -> str:
    """A text as an HTML parser reads it: without what it does not take for a character."""
    return " ".join(text.replace("\x00", "").split())


def _check_latex(text: str) -> None:
    """Rows have all their cells and nothing more, whatever stands in them."""
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    assert lines[0] == r"\begin{tabular}{llrrrrrr}"
    assert lines[-2:] == [r"\bottomrule", r"\end{tabular}"]
    for before, line in pairwise(lines):
        if before.endswith(r"\\"):
            assert line[0] not in "*["
    rows = [line for line in lines if line.endswith(r"\\") and not line.startswith(r"\multicolumn")]
    for line in rows:
        cells = re.split(r"(?<!\\)&", line.removesuffix(r"\\"))
        assert len(cells) == 8
        for cell in cells:
            set_in_latex(re.sub(r"^\$[-+\d.,{}±<>/=\[\] ]*(\\pm [\d.{},]+)?\$", "", cell.strip()))
