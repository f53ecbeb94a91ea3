"""The report in a headless Chromium: for everybody, in light and dark, wide and narrow, fetching nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import binwright as bw
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
        patched.setattr("binwright.analysis.report.page.figures", lambda *_: {})
        return bw.run(bw.scenario(scenario), out=folder / "results" / "x").report()


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser() as result:
        yield result


@pytest.fixture
def opened(window: Browser, path: Path) -> Browser:
    window.open(path)
    return window


@pytest.mark.long
@pytest.mark.parametrize(("width", "dark"), [(1400, False), (1400, True), (390, False)])
def test_everybody_can_use_it(window: Browser, path: Path, width: int, dark: bool) -> None:
    window.open(path, width, dark=dark)
    assert window.inaccessible() == []


@pytest.mark.long
def test_its_policy_refuses_to_fetch_anything(opened: Browser) -> None:
    opened.run("new Image().src = 'http://127.0.0.1:9/x.png'")
    assert "Content Security Policy" in opened.errors()[0]
