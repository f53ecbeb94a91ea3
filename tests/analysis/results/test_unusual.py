"""Unusual results and wrong requests: what is shown of them, what is refused, how values are written."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from binwright.analysis.figures.kind import draw
from binwright.analysis.results.folder import as_written, refused_shares
from binwright.analysis.results_api import Results
from binwright.cli import main
from tests.support.properties import first
from tests.support.results import row, write_results


def made(folder: Path, rows: list[dict[str, Any]], said: str = "name: made\n") -> Results:
    write_results(folder, rows)
    (folder / "scenario.yaml").write_text(said)
    return Results(folder)


def drawn(agents: list[str], seeds: int = 6, **more: Any) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    return [row(agent, seed, acceptance=rng.random(), **more) for agent in agents for seed in range(seeds)]


@pytest.mark.parametrize("value", first(1, [float("nan"), float("inf"), 1e300]))
def test_a_metric_without_any_number_is_none_in_figures_and_report(value: float, tmp_path: Path) -> None:
    rows = drawn(["a", "b", "c"])
    for agents in ("b", "abc"):
        results = made(tmp_path, [one | ({"acceptance": value} if one["agent"] in agents else {}) for one in rows])
        assert results.done["acceptance"].null_count() == 6 * len(agents)
        figure = draw(results, "differences", metrics=["acceptance", "hours"])
        assert len(figure.axes[0].lines) + len(figure.axes[0].patches) > 0 or agents == "abc"
        assert results.table().texts()[1][2] == "-" or agents == "abc"

    assert main(["report", str(tmp_path)]) == 0


@pytest.mark.parametrize(
    "said", first(2, [b"\xff\xfe", b"figures: [1]\nheadings: 3\nname: [1]\n", b"name: {a: 1}\ndescription: 3\n"])
)
def test_a_scenario_that_is_no_scenario_any_more_takes_no_figure_away(said: bytes, tmp_path: Path) -> None:
    made(tmp_path, drawn(["a", "b"]))
    (tmp_path / "scenario.yaml").write_bytes(said)
    assert main(["figures", str(tmp_path), "--kind", "differences", "--out", str(tmp_path / "f")]) == 0
    assert main(["report", str(tmp_path)]) == 0


def test_where_takes_several_values_of_a_key_and_numbers_however_they_are_written(tmp_path: Path) -> None:
    rows = [row("a", seed, point={"k": k}) | {"run": f"{k}{seed}"} for k in (1, 2, 3) for seed in range(3)]
    results = made(tmp_path, rows)
    bars = draw(results, "differences", where=[("k", "1.0"), ("k", "3")]).axes[0].get_yticks()
    assert len(bars) == 2
    assert main(["figures", str(tmp_path), "--kind", "differences", "--where", "seed=0", "--where", "seed=2"]) == 0
    assert main(["figures", str(tmp_path), "--kind", "differences", "--where", "k=1", "--where", "k=4"]) == 2


def test_accepted_and_refused_shares_add_up_to_all(tmp_path: Path) -> None:
    """Requests that a failure sent back, and that were refused then, count among those asked, too."""
    reasons = json.dumps({"cpu": 3, "mem": 1})  # of 10 offered 9 got a place, and 3 of these lost it
    write_results(tmp_path, [row("a", 0, offered=10, scheduled=9, lost=3, acceptance=9 / 13, reasons=reasons)])
    [run] = refused_shares(Results(tmp_path).done, ["agent"])[0]["a",]
    assert sum(run.values()) == pytest.approx(100 * (1 - 9 / 13))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (0.5, "0.5"),
        ("1 h", "1 h"),
        (json.dumps({"make_room": {"moves": 1}}), "make_room: {moves: 1}"),
        (json.dumps({"every": "1 h", "moves": 20}), "every: 1 h, moves: 20"),
        (json.dumps([{"demand": "+20 %"}, 2]), "[{demand: +20 %}, 2]"),
        (json.dumps(None), "null"),
        ("{a", "{a"),
        (None, "None"),
    ],
)
def test_json_is_written_as_in_a_scenario(value: object, text: str) -> None:
    assert as_written(value) == text
