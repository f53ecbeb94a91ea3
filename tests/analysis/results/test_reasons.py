"""Why requests were refused: shares of what acceptance is a share of."""

import json
from pathlib import Path

import pytest

from binwright.analysis.results.folder import refused_shares
from binwright.analysis.results_api import Results
from tests.support.results import row, write_results


def test_accepted_and_refused_shares_add_up_to_all(tmp_path: Path) -> None:
    """Requests that a failure sent back, and that were refused then, count among those asked, too."""
    reasons = json.dumps({"cpu": 3, "mem": 1})  # of 10 offered 9 got a place, and 3 of these lost it
    write_results(tmp_path, [row("a", 0, offered=10, scheduled=9, lost=3, acceptance=9 / 13, reasons=reasons)])
    [run] = refused_shares(Results(tmp_path).done, ["agent"])[0]["a",]
    assert sum(run.values()) == pytest.approx(100 * (1 - 9 / 13))
