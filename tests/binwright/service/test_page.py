"""The service's page in a headless Chromium: an example with its answer, run, see a mistake, cancel."""

from collections.abc import Iterator
from time import monotonic, sleep
from typing import Any

import pytest

from tests.support.browser import CHROMIUM, DRIVER, Browser, browser
from tests.support.service import ENDLESS, SMALL, Server

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver"),
]
TEXT = "return document.getElementById(arguments[0]).textContent"
TYPED = "document.getElementById('text').value = arguments[0]; document.getElementById('text').focus()"


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


@pytest.fixture
def opened(window: Browser, server: Server) -> Browser:
    window.open(f"{server.url}/")
    wait_for(window, "state", "Optimal")
    return window


def wait_for(window: Browser, name: str, text: str) -> str:
    """What an element says once it says this."""
    until = monotonic() + 40
    while text not in (content := window.run(TEXT, name)):
        assert monotonic() < until, content
        sleep(0.02)
    return str(content)


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (1400, True), (390, False)])
def test_everybody_can_use_it(window: Browser, server: Server, width: int, dark: bool) -> None:
    window.open(f"{server.url}/", width, dark=dark)
    wait_for(window, "state", "Optimal")
    assert window.inaccessible() == []


def test_page_starts_with_a_solved_example(opened: Browser, server: Server) -> None:
    assert opened.run("return document.getElementById('text').value") == SMALL
    assert "Optimal: 4 of 4 balls in 2 bins" in opened.run(TEXT, "state")
    figures = opened.run("return [...document.querySelectorAll('figure')].map((each) => each.textContent)")
    assert [text.partition(":")[0] for text in figures] == ["CPU", "MEMORY"]
    assert "80 % to 100 % used" in figures[0].replace("\u00a0", " ")
    assert opened.run("return document.querySelectorAll('figure .used').length") == 4
    rows = opened.run(
        "return [...document.querySelectorAll('#answer tbody tr')].map((each) => each.innerText.split('\\t'))"
    )
    assert sorted(row[-1] for row in rows) == ["0, 1, 2", "3"]
    link = opened.run("return document.getElementById('json').getAttribute('href')")
    assert server.ask("GET", link).json["result"]["alloc"] in ([1, 1, 1, 0], [0, 0, 0, 1])
    fetched: list[Any] = opened.run("return performance.getEntriesByType('resource').map((each) => each.name)")
    assert fetched
    assert all(name.startswith((server.url, "data:")) for name in fetched), fetched
    assert not opened.errors()


def test_a_mistake_is_shown_with_its_place_and_the_caret_is_there(opened: Browser) -> None:
    opened.run(TYPED, SMALL.replace("DEMAND[BALL, 1]", "nothing"))
    opened.chord("Control", "Enter")
    assert "Line 8, column 25: unknown name nothing." in wait_for(opened, "state", "Line 8")
    at = opened.run("return document.getElementById('text').selectionStart")
    assert opened.run("return document.getElementById('text').value")[at:].startswith("nothing")
    assert not opened.errors()


def test_progress_is_live_and_escape_cancels(opened: Browser) -> None:
    opened.run(TYPED, ENDLESS)
    opened.run("document.getElementById('time').value = 20")
    opened.chord("Control", "Enter")
    first = wait_for(opened, "state", "Searching: ")
    until = monotonic() + 20
    while opened.run(TEXT, "state") == first:
        assert monotonic() < until
    assert opened.run("return document.getElementById('run').disabled")
    opened.press("Escape")
    assert "Partial" in wait_for(opened, "state", "Cancelled.")
    assert opened.run("return document.querySelector('#answer .wrong').textContent").startswith("Not placed: ")
    assert not opened.run("return document.getElementById('run').disabled")
    assert not opened.errors()
