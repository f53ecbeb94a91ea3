"""The page of `adaptive`, from made-up runs."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from benchmarks.adaptive import CONTROLS, RULES, Run, main, page


def test_the_page_says_how_much_more_is_placed_and_by_whom() -> None:
    runs = []
    for seed in range(4):
        base = 100 + 10 * seed
        placed = dict.fromkeys(RULES, base - 50) | {RULES[1]: base, "learned": 2 * base}
        placed |= {CONTROLS[0]: base + base // 10, CONTROLS[1]: base // 2}
        runs.append(Run(placed, Counter({"learned": 3, RULES[1]: 1})))
    others = [dict.fromkeys(RULES, 1) | {RULES[1]: 2, "learned": 3}]
    text = page({"large": runs, "shapes": runs}, {"large": others, "shapes": others})
    [row] = [line for line in text.splitlines() if line.startswith("| `large`")]
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    assert cells[1] == RULES[1]
    assert cells[2].startswith("+10.")
    assert cells[3] == "learned"
    assert cells[4].startswith("-45.")
    assert cells[5] == "learned 75 %, best-fit(loose) 25 %"
    assert "| any of its candidates | -50.0 | +60." in text
    assert "4 seeds" in text
    assert "| learned | +100.0 | -90.00 ± " in text
    assert re.search(r"\| best-fit\(loose\) \| [+-]0\.0 \| \+10", text)


def test_mistakes_are_told(capsys: pytest.CaptureFixture[Any]) -> None:
    with pytest.raises(SystemExit):
        main(["lorge"])
    assert "large" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["large", "--seeds", "1"])
