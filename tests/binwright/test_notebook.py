"""examples/notebook.py, cell by cell, as a notebook runs it."""

import ast
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import binwright as bw
from tests.support import ROOT

FILE = ROOT / "examples" / "notebook.py"


def cells() -> list[str]:
    """The code between the markers; text between markdown markers is none."""
    parts = re.split(r"^# %%(.*)$", FILE.read_text("utf-8"), flags=re.MULTILINE)
    return [code for kind, code in zip(parts[1::2], parts[2::2], strict=True) if "[markdown]" not in kind]


def shown(code: str, names: dict[str, Any]) -> Any:
    """Run a cell; returns what its last line is, which a notebook shows."""
    body = ast.parse(code).body
    last = body[-1]
    exec(compile(ast.Module(body[:-1] if isinstance(last, ast.Expr) else body, []), str(FILE), "exec"), names)
    return eval(compile(ast.Expression(last.value), str(FILE), "eval"), names) if isinstance(last, ast.Expr) else None


@pytest.mark.long
def test_every_cell_runs_and_shows_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    seen = [shown(code, names) for code in cells()]
    tables = [one._repr_markdown_() for one in seen if hasattr(one, "_repr_markdown_")]
    assert len(tables) == 3
    assert all("\n| --- |" in table and "95 %" in table for table in tables)
    assert "| small/best-fit |" in tables[2]
    assert "| larger/best-fit |" in tables[2]
    frames = [one for one in seen if isinstance(one, pl.DataFrame)]
    assert len(frames) == 2
    assert all(len(frame) for frame in frames)
    assert isinstance(names["comparison"], bw.Comparison)
    assert sorted(one.name for one in (tmp_path / "results").iterdir()) == [
        "comparison.csv",
        "comparison.tex",
        "larger",
        "small",
    ]
