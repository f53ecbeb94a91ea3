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
    "record": ["states"],
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
    """The page, its replay at the first moment."""
    window.open(path)
    wait_for(window, "return document.querySelectorAll('.panel canvas').length === 8")
    window.run(DRAG, 0)
    return window


def focus(window: Browser, name: str) -> None:
    window.run("document.getElementById(arguments[0]).focus()", name)


AXIS = """
const slider = document.getElementById('moment');
const [box, curve] = [slider, document.getElementById('curve')].map((each) => each.getBoundingClientRect());
const share = (slider.valueAsNumber - slider.min) / (slider.max - slider.min);
const line = document.querySelector('#curve line');
return [box.left + 8 + share * (box.width - 16), curve.left + line.getAttribute('x1') / 1000 * curve.width];
"""
DRAG = "const slider = document.getElementById('moment'); slider.value = Number(slider.max) * arguments[0];"
DRAG += "slider.dispatchEvent(new Event('input'))"


@pytest.mark.long
@pytest.mark.parametrize(("width", "dark"), [(1400, False), (1400, True), (390, False)])
def test_everybody_can_use_it(window: Browser, path: Path, width: int, dark: bool) -> None:
    window.open(path, width, dark=dark)
    wait_for(window, "return document.querySelectorAll('.panel canvas').length === 8")
    assert window.inaccessible() == []


@pytest.mark.long
def test_the_cursor_stands_under_the_thumb(opened: Browser) -> None:
    for share in (0, 0.013, 0.37, 0.5, 0.81, 1):
        opened.run(DRAG, share)
        thumb, cursor = opened.run(AXIS)
        assert cursor == pytest.approx(thumb, abs=0.5)


@pytest.mark.long
def test_at_every_moment_the_runs_of_a_seed_were_offered_the_same(window: Browser, tmp_path: Path) -> None:
    """Agents that need different numbers of decisions for the same requests; every number is exact at its moment."""
    path = reported(WAITING, tmp_path)
    results = bw.load(path.parent)
    states = [results.states(run) for run in results.done["run"]]
    times = sorted(set.intersection(*(set(frame["time"]) for frame in states)))
    assert len(times) > 60
    window.open(path)
    wait_for(window, "return document.querySelectorAll('.panel canvas').length === 2")
    focus(window, "moment")
    window.press("Home")
    seen = []
    for time in times:
        assert window.run("return document.getElementById('moment').valueAsNumber") == pytest.approx(time)
        texts = [text.split(" requests")[0] for text in window.run(PANELS)]
        seen.append(texts)
        for text, frame in zip(texts, states, strict=True):
            [state] = frame.filter(pl.col("time") == time).iter_rows(named=True)
            assert text == f"{state['accepted']} of {state['offered']}"
        if not all(time > frame["time"][-1] for frame in states):
            assert texts[0].split(" of ")[1] == texts[1].split(" of ")[1]
        window.press("Right")
    assert any(one != other for one, other in seen)


@pytest.mark.long
def test_the_replay_opens_on_the_busiest_moment(window: Browser, path: Path) -> None:
    window.open(path)
    wait_for(window, "return document.querySelectorAll('.panel canvas').length === 8")
    results = bw.load(path.parent)
    states = results.states(results.done["run"][0])
    shown = window.run("return document.getElementById('moment').valueAsNumber")
    allocated = dict(states.select("time", "allocation_cpu").iter_rows())
    assert allocated[min(allocated, key=lambda time: abs(time - shown))] == max(allocated.values())
    assert shown > 0


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
def test_arrow_keys_move_both_runs_through_time(opened: Browser) -> None:
    assert opened.run(PANELS)[0].startswith("1 of 1 requests accepted")
    focus(opened, "moment")
    before = [opened.run(PIXELS, number) for number in (0, 1, 4)]
    opened.press("Right")
    assert opened.run("return document.getElementById('moment').valueAsNumber") > 0
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
    assert opened.run(PANELS)[0].startswith("1 of 1")
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
    window.run(DRAG, 0)
    window.click("#play")
    share = "const slider = document.getElementById('moment'); return slider.valueAsNumber / slider.max"
    assert wait_for(window, share) == pytest.approx(1 / 20, rel=0.2)


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
    wait_for(window, "return document.querySelectorAll('.panel canvas').length === 8")
    assert window.run("return document.documentElement.scrollWidth") == width
    assert window.run("return [...document.querySelectorAll('.panel canvas')].every((one) => one.clientHeight > 8)")
    back = window.run("return getComputedStyle(document.body).backgroundColor")
    assert back == ("rgb(18, 22, 27)" if dark else "rgb(255, 255, 255)")
    window.shot(tmp_path / "report.png", "#replay")
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
