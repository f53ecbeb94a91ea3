"""The site builds without a warning, from the code as it is, and can be read and searched without a network."""

import os
import re
import subprocess
import sys
from inspect import signature
from pathlib import Path
from time import monotonic, sleep

import pytest

import binwright
from binwright.agents import AGENTS
from docs import generated
from tests.support import ROOT
from tests.support.browser import CHROMIUM, DRIVER, Browser, browser


@pytest.mark.long
def test_site_builds_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=quiet, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 40
    loads = re.compile(r'<(?:script|link|img)[^>]* (?:src|href)="(https?:[^"]*)"')
    assert {page: actual for page in pages if (actual := loads.findall(page.read_text()))} == {}
    if CHROMIUM and DRIVER:
        search_finds(tmp_path, "fragmentation", "Metrics")
        with browser() as window:
            for page in ("index", "start/first-scenario", "reference/scenario", "experiments/nara"):
                for width, dark in ((1400, False), (390, True)):
                    window.open(tmp_path / f"{page}.html", width, dark=dark)
                    scheme = window.run("return document.body.dataset.mdColorScheme")
                    assert (scheme == "slate") == dark, page
                    assert window.inaccessible() == [], (page, width)
                    # The site remembers light or dark of the last visit, and also when that changes while it is open.
                    window.run("localStorage.clear()")
                    window.open("about:blank", dark=dark)
            window.open(tmp_path / "experiments/nara.html")
            only_misses_are_shown(window)


def only_misses_are_shown(window: Browser) -> None:
    """Filter the published values of the page that is open: by what was not reproduced, and by an agent."""
    rows = "[...document.querySelectorAll('.verdicts h2 ~ * tbody tr')].filter((row) => row.offsetParent)"
    change = "dispatchEvent(new Event('input', { bubbles: true }))"
    everything = window.run(f"return {rows}.length")
    window.run(f"const box = document.querySelector('.filters input'); box.checked = true; box.{change}")
    assert 0 < window.run(f"return {rows}.length") < everything
    assert window.run(f"return {rows}.every((row) => /[✗≠]/.test(row.textContent))")
    assert window.inaccessible() == []
    window.run(f"const agent = document.querySelectorAll('.filters select')[1]; agent.value = 'tetris'; agent.{change}")
    assert window.run(f"return {rows}.length > 0 && {rows}.every((row) => /tetris/.test(row.textContent))")


def search_finds(site: Path, word: str, page: str) -> None:
    """Search the site, opened as a file, as a reader does."""
    with browser() as window:
        window.open(site / "index.html")
        window.run("document.querySelector('[data-md-component=search-query]').focus()")
        window.press(*word)
        until = monotonic() + 30
        result: list[str] = []
        while page not in result and monotonic() < until:
            sleep(0.1)
            script = "return [...document.querySelectorAll('.md-search-result__item h1')].map(one => one.innerText)"
            result = window.run(script)
        assert page in result
        assert window.errors() == []


def test_reference_has_every_metric_command_and_name() -> None:
    metrics, commands, python = generated.metrics_page(), generated.commands_page(), generated.python_page()
    assert "| `acceptance` | accepted % | higher |" in metrics
    assert "`allocation_<resource>`" in metrics
    for command in ("run", "compare", "agents check", "traces describe"):
        assert f"\n## binwright {command}\n" in commands
    assert re.findall(r"^## (\w+)$", python, re.MULTILINE) == binwright.__all__
    assert "finished: Callable[[dict[str, Any]], None] = ...) -> Sized\n" in python


@pytest.mark.long
def test_reference_has_every_agent_with_its_options() -> None:
    text = generated.agents_page()
    for name in AGENTS:
        part = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
        assert "- Clusters: " in part
        for option in signature(AGENTS.load(name)).parameters:
            assert f"| `{option}` |" in part


def test_drawn_ladder_names_the_packages_in_order() -> None:
    drawn = re.findall(r'font-size="16">(\w+)<', (ROOT / "docs/img/ladder.svg").read_text())
    assert drawn == ["binwright", "scenarios", "analysis", "agents", "workloads", "fabric", "simcore"]
