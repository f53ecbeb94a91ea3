"""examples/notebook.py, whose cells a notebook runs one after the other."""

import runpy
from pathlib import Path

import pytest

import binwright as bw
from tests.support import ROOT


@pytest.mark.long
def test_every_cell_runs_and_writes_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = runpy.run_path(str(ROOT / "examples" / "notebook.py"))
    assert isinstance(names["comparison"], bw.Comparison)
    assert "95 %" in names["comparison"]._repr_markdown_()
    assert "| small/best-fit |" in names["both"].markdown()
    written = sorted(each.name for each in (tmp_path / "results").iterdir())
    assert written == ["comparison.csv", "comparison.tex", "larger", "small"]
