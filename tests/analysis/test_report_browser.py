"""The report in a headless Chromium: with the keyboard alone, in light and dark, wide and narrow, fetching nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
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
    "record": ["states"],
}
FOCUS = "return document.activeElement.id || document.activeElement.tagName.toLowerCase()"
PANELS = "return [...document.querySelectorAll('.panel .summary')].map((each) => each.textContent)"
PIXELS = """
const canvas = document.querySelectorAll('.panel canvas')[arguments[0]];
const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
return [...data].reduce((sum, value, i) => (sum * 31 + value * (i % 7 + 1)) % 1000003, 7);
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    with pytest.MonkeyPatch.context() as patched:  # figures have tests of their own, and take their time
        patched.setattr("analysis.report.page.figures", lambda results: ({}, {}))
        patched.setattr("analysis.report.tables.FILTERED", 1)
        return bw.run(bw.scenario(SCENARIO), out=folder / "results" / "alpha").report()


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
    wait_for(window, "return document.querySelectorAll('.panel canvas').length === 8")
    return window


def focus(window: Browser, name: str) -> None:
    window.run("document.getElementById(arguments[0]).focus()", name)


@pytest.mark.long
def test_arrow_keys_move_both_runs_through_time(opened: Browser) -> None:
    assert opened.run(PANELS)[0].startswith("0 of 0 requests accepted")
    focus(opened, "moment")
    before = [opened.run(PIXELS, number) for number in (0, 1, 4)]
    opened.press("Right")
    assert opened.run("return document.getElementById('moment').value") == "1"
    opened.press("End")
    texts = opened.run(PANELS)
    assert all(" of 128 requests accepted" in text for text in texts)
    assert texts[0] != texts[1]
    assert all(was != opened.run(PIXELS, number) for was, number in zip(before, (0, 1, 4), strict=True))
    said = opened.run("return document.getElementById('moment').getAttribute('aria-valuetext')")
    assert "tetris: " in said
    assert "nulb: " in said
    heads = opened.run("return [...document.querySelectorAll('.panel h4')].map((each) => each.textContent)")
    assert heads[0].startswith("40 servers (cpu): ")
    assert "1 out of service" in heads[0]
    assert heads[2].startswith("rack-fabric: 8 links: ")
    assert "2 out of service" in heads[2]
    opened.press("Home")
    assert opened.run(PANELS)[0].startswith("0 of 0")
    assert not opened.errors()


@pytest.mark.long
def test_space_plays_and_stops(opened: Browser) -> None:
    focus(opened, "moment")
    opened.press(" ")
    assert opened.run("return document.getElementById('play').textContent") == "Stop"
    wait_for(opened, "return document.getElementById('moment').valueAsNumber >= 2")
    focus(opened, "play")
    opened.press(" ")
    assert opened.run("return document.getElementById('play').textContent") == "Play"


@pytest.mark.long
def test_who_wants_less_motion_gets_few_pictures(window: Browser, path: Path) -> None:
    window.open(path, calm=True)
    wait_for(window, "return document.querySelectorAll('.panel canvas').length === 8")
    window.click("#play")
    steps = wait_for(window, "return document.getElementById('moment').valueAsNumber")
    assert steps == round(window.run("return Number(document.getElementById('moment').max)") / 20)


@pytest.mark.long
def test_tab_reaches_everything_in_order(opened: Browser) -> None:
    seen = []
    for _ in range(99):
        opened.press("Tab")
        seen.append(opened.run(FOCUS))
        if seen[-1] == "command":
            break
    assert seen[0] == "a"  # to the answer
    controls = [name for name in seen if name in ("left", "right", "resource", "play", "moment", "canvas", "command")]
    assert controls == ["left", "right", "resource", "play", "moment", *["canvas"] * 8, "command"]


@pytest.mark.long
def test_arrow_keys_name_servers_and_links(opened: Browser) -> None:
    pointed = "return document.querySelector('.panel .pointed').textContent"
    focus(opened, "moment")
    opened.press("End")
    for number, names in enumerate(
        [["server 0 of rack-0: cpu ", "server 1 of rack-0: cpu "], ["link 0: ", "link 1: "]]
    ):
        opened.run("document.querySelectorAll('.panel canvas')[arguments[0]].focus()", number)
        for name in names:
            opened.press("Right")
            assert opened.run(pointed).startswith(name)
    opened.press("Tab")
    assert opened.run(pointed) == ""


@pytest.mark.long
def test_another_run_and_another_resource(opened: Browser) -> None:
    focus(opened, "moment")
    opened.press("End")
    pixels = opened.run(PIXELS, 0)
    change = "const box = document.getElementById(arguments[0]); box.value = arguments[1];"
    change += "box.dispatchEvent(new Event('change'));"
    opened.run(change, "resource", "mem")
    assert opened.run(PIXELS, 0) != pixels
    opened.run(change, "right", "")
    wait_for(opened, "return document.querySelectorAll('.panel').length === 1")
    opened.run(change, "left", "1")
    wait_for(opened, "return document.querySelector('.panel h3').textContent === 'nulb, seed 0'")


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
def test_tables_are_filtered(opened: Browser) -> None:
    rows = "return [...document.querySelectorAll('#table-all tbody tr')].filter((row) => !row.hidden).length"
    focus(opened, "table-all-filter")
    opened.press(*"NUL b")
    assert opened.run(rows) == 1
    assert opened.run("return document.getElementById('table-all-count').textContent") == "1 of 2 rows"
    opened.press("x")
    assert opened.run(rows) == 0


@pytest.mark.long
def test_the_command_is_copied_or_selected(opened: Browser) -> None:
    opened.click("button[data-copies=command]")
    wait_for(opened, "return document.querySelector('button[data-copies=command]').textContent !== 'Copy'")


@pytest.mark.long
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1400])
def test_it_fits_light_and_dark_wide_and_narrow(
    window: Browser, path: Path, tmp_path: Path, width: int, dark: bool
) -> None:
    window.open(path, width, dark=dark)
    wait_for(window, "return document.querySelectorAll('.panel canvas').length === 8")
    assert window.run("return document.documentElement.scrollWidth") == width
    assert window.run("return [...document.querySelectorAll('.panel canvas')].every((one) => one.clientHeight > 8)")
    back = window.run("return getComputedStyle(document.body).backgroundColor")
    assert back == ("rgb(18, 22, 27)" if dark else "rgb(255, 255, 255)")
    window.shot(tmp_path / "report.png", "#replay")
    assert (tmp_path / "report.png").stat().st_size > 10_000
    assert not window.errors()


@pytest.mark.long
def test_its_policy_refuses_to_fetch_anything(opened: Browser) -> None:
    opened.run("new Image().src = 'http://127.0.0.1:9/x.png'")
    assert "Content Security Policy" in opened.errors()[0]
