"""Figures from outside: in a file, in a package, in the documentation; what is refused, and what they raise."""

import re
from pathlib import Path

import pytest

from binwright.analysis.results_api import Results
from binwright.cli import main
from binwright.scenarios.batch.batch import Batch
from tests.support import ROOT
from tests.support.batches import scenario


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return Batch(scenario(), tmp_path_factory.mktemp("results") / "small").run()


def test_figure_example_of_the_documentation_is_drawn(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    example = (ROOT / "docs" / "results" / "figures.md").read_text("utf-8").partition("## A figure of your own")[2]
    [(name, block)] = re.findall(r"```python\n# (\S+)\n(.+?)```", example, re.DOTALL)
    (tmp_path / name).write_text(block)
    monkeypatch.chdir(tmp_path)
    requested = ["figures", str(results.folder), "--kind", "mine.py:best_and_worst", "--out", "figs"]
    assert main([*requested, "--metric", "servers_used", "--kind", "differences"]) == 0
    assert sorted(path.name for path in Path("figs").iterdir()) == ["best_and_worst.png", "differences.png"]
    assert "Figure: figs/best_and_worst.png" in capsys.readouterr().out
    figure = results.figure("mine.py:best_and_worst", agents=["first-fit"])
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["first-fit"]
    assert figure.axes[0].get_xlabel() == "accepted %"
    shares = results.done.filter(agent="first-fit")["acceptance"].to_numpy()
    assert figure.axes[0].lines[0].get_xdata() == pytest.approx([100 * shares.min(), 100 * shares.max()])


REFUSED_LATER = """
from binwright.analysis.figures.style import new

def f(chosen, options):
    figure = new("column", 2.0)
    figure.suptitle(r"$\\frac{$", parse_math=True)  # matplotlib reads it when it draws
    return figure
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def f(chosen, options):\n    return 1\n", "f returned 1, which is not a figure"),
        ("f = 1\n", "--kind: is no figure"),
        ("def f(chosen, options):\n    raise SystemExit(3)\n", r"f raised SystemExit\(3\) at .*mine.py:2"),
        (REFUSED_LATER, r"matplotlib cannot draw it: ValueError.*frac.*\n  Mend it"),
    ],
)
def test_an_error_in_a_figure_of_ones_own_is_told(
    results: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    (tmp_path / "mine.py").write_text(text)
    assert main(["figures", str(results.folder), "--kind", f"{tmp_path}/mine.py:f"]) == 2
    assert re.search(says, capsys.readouterr().err)
