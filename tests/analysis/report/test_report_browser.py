"""The report in a headless Chromium: with the keyboard alone, in light and dark, wide and narrow, fetching nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import polars as pl
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
WAITING: dict[str, Any] = {
    "name": "waiting",
    "cluster": {"servers": 4, "node": {"cpu": 8}},
    "workload": {
        "requests": 600,
        "arrivals": {"poisson": {"every": "10 s"}},
        "flavours": [{"cpu": 1}, {"cpu": 3}, {"cpu": 5}],
        "lifetimes": {"exponential": {"mean": "80 s"}},
    },
    "overflow": {"wait": {"together": 4}},
    "agents": ["first-fit", "worst-fit"],
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reported(SCENARIO, tmp_path_factory.mktemp("browser"))


def reported(scenario: dict[str, Any], folder: Path) -> Path:
    """The report of a scenario."""
    with pytest.MonkeyPatch.context() as patched:  # figures have tests of their own, and take their time
        patched.setattr("binwright.analysis.report.page.figures", lambda results: Drawn({}, {}, {}))
        patched.setattr("binwright.analysis.report.tables.FILTERED", 1)
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
def test_what_is_folded_is_printed_open(window: Browser, path: Path) -> None:
    window.open(path)
    folded = "return document.querySelectorAll('details:not([open])').length"
    before = window.run(folded)
    assert before > 0
    window.run("dispatchEvent(new Event('beforeprint'))")
    assert window.run(folded) == 0
    window.run("dispatchEvent(new Event('afterprint'))")
    assert window.run(folded) == before


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
def test_tables_are_downloaded_as_csv(opened: Browser, path: Path) -> None:
    """The numbers of runs.parquet; what the boxes above the tables hide is left out."""
    opened.run("URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return '#'; }")
    focus(opened, "table-all-filter")
    opened.press(*"nulb")
    opened.run("document.querySelector('#table .scroll + button').click()")
    [row] = pl.read_csv(wait_for(opened, "return window.saved").encode()).to_dicts()
    runs = bw.load(path.parent).done.filter(pl.col("agent") == "nulb")
    assert (row["agent"], row["runs"]) == ("nulb", 2)
    assert row["accepted %"] == pytest.approx(100 * sum(runs["acceptance"]) / 2, rel=1e-5)
    assert row["accepted % (shown)"].startswith(f"{row['accepted %']:.0f}")
    assert not opened.errors()


@pytest.mark.long
def test_names_stay_when_a_narrow_table_is_scrolled(window: Browser, path: Path) -> None:
    window.open(path, 400)
    window.run("document.querySelector('#table .scroll').scrollLeft = 200")
    lefts = "return [...document.querySelectorAll('#table .scroll, #table tbody th, #table thead th.row')]"
    box, *names = window.run(f"{lefts}.map((one) => one.getBoundingClientRect().left)")
    assert len(names) == 3
    assert names == pytest.approx([box + 1] * 3, abs=1)


@pytest.mark.long
def test_figures_take_the_focus_and_grow_follow_the_dark_and_stand_two_in_a_row(
    window: Browser, tmp_path: Path
) -> None:
    file = bw.run(bw.scenario(WAITING), out=tmp_path / "results").report()
    size = "const one = document.activeElement.getBoundingClientRect(); return [one.left, one.width]"
    window.open(file, 400, dark=True)
    figures = window.run("return document.querySelectorAll('figure:has(img)').length")
    assert figures > 2
    assert window.run("return document.querySelectorAll('figure[tabindex=\"0\"]').length") == figures
    assert window.run("return getComputedStyle(document.querySelector('figure img')).filter") == "none"
    cut = "return [...document.querySelectorAll('figure')].filter((one) => one.scrollWidth > one.clientWidth).length"
    assert window.run(cut) == 0
    window.open(file, 1280)
    assert window.run("return getComputedStyle(document.querySelector('figure img')).filter") == "none"
    lefts = []
    for number in range(2):
        window.run("document.querySelectorAll('.figures figure')[arguments[0]].focus()", number)
        left, width = window.run(size)
        lefts.append(left)
        shown = "const one = document.activeElement.querySelector('img'); return one.width / one.getAttribute('width')"
        assert window.run(shown) > 0.95  # text as large as it was drawn, 9 points
        window.press("Enter")
        assert window.run(size)[1] > 1.9 * width
        window.press("Escape")
        assert window.run(size)[1] == pytest.approx(width)
    assert lefts[1] > lefts[0] + 500
    assert window.errors() == []


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
    assert window.run("return document.documentElement.scrollWidth") == width
    back = window.run("return getComputedStyle(document.body).backgroundColor")
    assert back == ("rgb(18, 22, 27)" if dark else "rgb(255, 255, 255)")
    window.shot(tmp_path / "report.png", "#table")
    assert (tmp_path / "report.png").stat().st_size > 10_000
    assert not window.errors()


@pytest.mark.long
def test_what_is_cut_at_the_right_fades_until_it_is_scrolled_to(window: Browser, path: Path) -> None:
    fades = "return document.querySelector('#table .scroll').classList.contains('more')"
    window.open(path, 400)
    wait_for(window, fades)
    window.run("const box = document.querySelector('#table .scroll'); box.scrollLeft = box.scrollWidth")
    wait_for(window, fades.replace("return ", "return !"))


@pytest.mark.long
def test_its_policy_refuses_to_fetch_anything(opened: Browser) -> None:
    opened.run("new Image().src = 'http://127.0.0.1:9/x.png'")
    assert "Content Security Policy" in opened.errors()[0]


@pytest.mark.long
def test_the_pointer_and_the_arrow_keys_say_values(window: Browser, tmp_path: Path) -> None:
    results = bw.run(bw.scenario(WAITING), out=tmp_path / "results")
    window.open(results.report())
    said = "return document.querySelector('#figure-bars output').textContent"
    hidden = "return document.querySelector('#figure-bars output').hidden"
    assert window.run(hidden)
    focus(window, "figure-bars")
    window.press("Right", "Right", "Left")
    first = window.run("return document.querySelector('#figure-bars i').dataset.value")
    assert window.run(said) == first
    window.run("document.activeElement.blur()")
    assert window.run(hidden)
    place = window.run(
        "const marks = document.querySelectorAll('#figure-bars i'); marks[1].scrollIntoView({block: 'center'});"
        "const box = marks[1].getBoundingClientRect(); return [box.x, box.y, marks[1].dataset.value]"
    )
    window.devtools("Input.dispatchMouseEvent", type="mouseMoved", x=place[0] + 3, y=place[1] + 2)
    wait_for(window, hidden.replace("return ", "return !"))
    assert window.run(said) == place[2] != first
    assert window.inaccessible() == []
