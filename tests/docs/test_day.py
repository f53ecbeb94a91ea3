"""The day in docs/start/day.md is played as it stands, and prints what the page says."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.day import PAGE, played


def test_a_page_is_played_block_by_block(tmp_path: Path) -> None:
    text = (
        "Write\n```yaml\n# one.yaml: a file\nkey: 1\n```\nand\n"
        "```sh\ncat one.yaml | head -n 1\n(exit 1) || echo no\n```\n"
        "prints\n```text\nsomething old\n```\nas it is.\n"
    )
    expected = text.replace("something old\n", "# one.yaml: a file\nno\n")
    assert played(text, tmp_path) == expected
    assert played(expected, tmp_path) == expected
    with pytest.raises(RuntimeError, match="nonsense"):  # what a reader would not expect
        played("```sh\nnonsense\n```\n", tmp_path)


@pytest.mark.long
def test_day_commands_print_what_the_page_says(tmp_path: Path) -> None:
    text = PAGE.read_text("utf-8")
    assert played(text, tmp_path) == text
    [named] = re.findall(r"\\includegraphics\{(.*)\}", (tmp_path / "paper.tex").read_text())
    assert (tmp_path / named).read_bytes().startswith(b"%PDF")
    table = (tmp_path / "figs/differences.tex").read_text()
    assert table.count("\\begin{tabular}") == table.count("\\end{tabular}") == 1
    assert "Dot Product" in table
    if latex := shutil.which("pdflatex"):
        done = subprocess.run([latex, "-interaction=nonstopmode", "paper.tex"], cwd=tmp_path, check=False)
        assert done.returncode == 0
