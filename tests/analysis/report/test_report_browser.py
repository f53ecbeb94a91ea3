"""The report in a headless Chromium: with the keyboard alone, in light and dark, wide and narrow, fetching nothing."""

from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

import binwright as bw
from binwright.analysis.report.page import Drawn
from tests.support.browser import CHROMIUM, DRIVER, Browser, browser

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver: apt-get install chromium chromium-driver"
)
SCENARIO: dict[str, Any] = {
    "name": "alpha with failures",
    "cluster": {
        "network": {"topology": "alpha"},
        "node": {"cpu": 10, "mem": 10},
        "failures": {
            "scheduled": [{"server": 7, "at": "20 s", "repair_after": "1 h"}],
            "switches": {"scheduled": [{"part": 5, "at": "20 s", "repair_after": "1 h"}]},
        },
    },
    "workload": {"demand": "uniform", "requests": 128, "holding": 31, "bandwidth": [0.1, 1.0], "step": "1 s"},
    "pacing": {"step": "1 s", "await_room": True},
    "agents": ["tetris", "nulb"],
    "replications": 2,
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reported(SCENARIO, tmp_path_factory.mktemp("browser"))


def reported(scenario: dict[str, Any], folder: Path) -> Path:
    """The report of a scenario."""
    with pytest.MonkeyPatch.context() as patched:  # figures have tests of their own, and take their time
        patched.setattr("binwright.analysis.report.page.figures", lambda *_: Drawn({}, {}))
        patched.setattr("binwright.analysis.compare.sheet.FILTERED", 1)
        return bw.run(bw.scenario(scenario), out=folder / "results" / "x").report()


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser() as found:
        yield found


def wait_for(window: Browser, script: str) -> Any:
    """What a script returns once that is true."""
    until = monotonic() + 20
    while not (found := window.run(script)):
        assert monotonic() < until, f"never true: {script}"
        sleep(0.02)
    return found


@pytest.fixture
def opened(window: Browser, path: Path) -> Browser:
    window.open(path)
    return window


def focus(window: Browser, name: str) -> None:
    window.run("document.getElementById(arguments[0]).focus()", name)


@pytest.mark.long
@pytest.mark.parametrize(("width", "dark"), [(1400, False), (1400, True), (390, False)])
def test_everybody_can_use_it(window: Browser, path: Path, width: int, dark: bool) -> None:
    window.open(path, width, dark=dark)
    assert window.inaccessible() == []


@pytest.mark.long
def test_tables_are_sorted_with_the_keyboard(opened: Browser) -> None:
    column = "return [...document.querySelectorAll('#table-all tbody tr')].map((row) => Number(row.cells[2].dataset.v))"
    opened.run("document.querySelectorAll('#table-all th button')[2].focus()")
    opened.press("Enter")
    ascending = opened.run(column)
    assert ascending == sorted(ascending)
    assert opened.run("return document.querySelectorAll('#table-all th')[2].getAttribute('aria-sort')") == "ascending"
    opened.press("Enter")
    assert opened.run(column) == ascending[::-1]
    assert opened.run("return document.querySelectorAll('#table-all th')[2].getAttribute('aria-sort')") == "descending"


@pytest.mark.long
def test_a_box_hides_the_rows_without_its_words(opened: Browser) -> None:
    focus(opened, "table-all-filter")
    opened.press(*"nulb")
    assert wait_for(opened, "return document.getElementById('table-all-count').textContent") == "1 of 2 rows"
    shown = "return [...document.querySelectorAll('#table-all tbody tr')].filter((row) => !row.hidden).length"
    assert opened.run(shown) == 1
    assert not opened.errors()


@pytest.mark.long
def test_its_policy_refuses_to_fetch_anything(opened: Browser) -> None:
    opened.run("new Image().src = 'http://127.0.0.1:9/x.png'")
    assert "Content Security Policy" in opened.errors()[0]
