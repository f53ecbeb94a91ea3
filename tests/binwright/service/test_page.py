"""The service's page in a headless Chromium: type, run, see the answer, see a mistake, cancel."""

import json
from collections.abc import Iterator
from time import monotonic, sleep
from typing import Any

import pytest

from tests.support.browser import CHROMIUM, DRIVER, Browser, browser
from tests.support.service import ENDLESS, SMALL, Server, serving

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver: apt-get install chromium chromium-driver"
)
TEXT = "return document.getElementById(arguments[0]).textContent"
TYPED = """
const text = document.getElementById("text");
text.focus();
text.value = arguments[0];
text.dispatchEvent(new Event("input"));
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("page") / "data", "--workers", "1") as found:
        found.warm()
        yield found


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture
def opened(window: Browser, server: Server) -> Browser:
    window.open(f"{server.url}/page.css")  # of the same origin, and no script that keeps the text once more
    window.run("sessionStorage.clear()")
    window.open(f"{server.url}/")
    wait_for(window, "verdict", "Compiles")
    return window


def wait_for(window: Browser, name: str, text: str) -> str:
    """What an element says once it says this."""
    until = monotonic() + 40
    while text not in (found := window.run(TEXT, name)):
        assert monotonic() < until, found
        sleep(0.02)
    said: str = found
    return said


@pytest.mark.long
@pytest.mark.parametrize(("width", "dark"), [(1400, False), (1400, True), (390, False)])
def test_everybody_can_use_it(window: Browser, server: Server, width: int, dark: bool) -> None:
    window.open(f"{server.url}/", width, dark=dark)
    wait_for(window, "verdict", "Compiles")
    assert window.inaccessible() == []


@pytest.mark.long
def test_run_the_first_example_with_the_keyboard(opened: Browser, server: Server) -> None:
    assert opened.run("return document.getElementById('text').value") == SMALL
    opened.run("document.getElementById('example').focus()")
    opened.press("Tab", "Tab", "Tab", "Tab")
    assert opened.run("return document.activeElement.id") == "text"
    opened.press("Tab")  # is not a trap
    assert opened.run("return document.activeElement.id") == "run"
    opened.press("Enter")
    assert "Optimal: 4 of 4 balls in 2 bins" in wait_for(opened, "state", "Optimal")
    figures = opened.run("return [...document.querySelectorAll('figure')].map((each) => each.textContent)")
    assert [text.partition(":")[0] for text in figures] == ["CPU", "MEMORY"]
    assert "80 % to 100 % used, mean 90 %" in figures[0].replace("\u00a0", " ")
    assert opened.run("return document.querySelectorAll('figure .used').length") == 4
    rows = opened.run(
        "return [...document.querySelectorAll('#answer tbody tr')].map((each) => each.innerText.split('\\t'))"
    )
    assert [row[0] for row in rows] == ["0", "1"]
    assert sorted(row[-1] for row in rows) == ["0-2", "3"]
    link = opened.run("return document.getElementById('json').getAttribute('href')")
    assert server.ask("GET", link).json["result"]["alloc"] in ([1, 1, 1, 0], [0, 0, 0, 1])
    assert not opened.errors()


@pytest.mark.long
def test_typing_shows_mistakes_at_their_line(opened: Browser) -> None:
    opened.run(TYPED, "")
    for line in ("BALLS 3 BINS 2", "Enter", "RESOURCES C => wrong"):
        opened.press(*([line] if line == "Enter" else line))
    said = wait_for(opened, "verdict", "Line 2, column 21")
    assert "there is no UTILFN" in said
    opened.run(TYPED, SMALL.replace("DEMAND[BALL, 1]", "nothing"))
    said = wait_for(opened, "verdict", "nothing")
    assert said.startswith("Line 8, column 25: unknown name nothing.")
    assert opened.run("return document.querySelector('#gutter b').textContent") == "8"
    assert not opened.run("return document.getElementById('band').hidden")
    opened.click("#verdict button")
    assert opened.run("return document.activeElement.id") == "text"
    at = opened.run("return document.getElementById('text').selectionStart")
    assert opened.run("return document.getElementById('text').value")[at:].startswith("nothing")
    opened.press(*"0 #")
    wait_for(opened, "verdict", "Line 8")
    opened.run(TYPED, SMALL)
    wait_for(opened, "verdict", "Compiles: 4 balls, 2 bins, 4 dimensions")
    assert opened.run("return document.getElementById('band').hidden")
    assert not opened.errors()


@pytest.mark.long
def test_progress_is_live_and_escape_cancels(opened: Browser) -> None:
    opened.run(TYPED, ENDLESS)
    wait_for(opened, "verdict", "Compiles")
    opened.chord("Control", "Enter")
    wait_for(opened, "state", "Searching")
    first = number(wait_for(opened, "checked", ""))
    until = monotonic() + 20
    while number(opened.run(TEXT, "checked")) <= first:
        assert monotonic() < until
    assert number(opened.run(TEXT, "rate")) > 0
    assert opened.run(TEXT, "placed").endswith(" of 23")
    assert not opened.run(TEXT, "bins")  # they are given
    assert opened.run("return document.getElementById('run').disabled")
    opened.press("Escape")
    assert "Partial" in wait_for(opened, "state", "Cancelled.")
    assert opened.run("return document.querySelector('#answer .wrong').textContent").startswith("Not placed: ")
    assert not opened.run("return document.getElementById('run').disabled")
    assert not opened.errors()


BINS = """
const rows = [...document.querySelectorAll("#answer tbody tr")].map((each) => each.innerText.split("\\t"));
return rows.filter((row) => row.at(-1).trim()).map((row) => row[0]);
"""


@pytest.mark.long
def test_nothing_comes_from_elsewhere(opened: Browser, server: Server) -> None:
    fetched: list[Any] = opened.run("return performance.getEntriesByType('resource').map((each) => each.name)")
    assert fetched
    assert all(name.startswith((server.url, "data:")) for name in fetched), json.dumps(fetched)


def number(text: str) -> int:
    return int(text.replace(",", "") or 0)
