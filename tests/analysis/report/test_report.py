"""The report: all that is promised is in it, a user's text stays text, and it needs no network."""

import json
import re
import shlex
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import binwright as bw
from binwright.analysis.report.page import compose, refusals
from binwright.analysis.results_api import Results
from binwright.cli import main
from tests.support.results import failed, made, write_results
from tests.support.results import row as row_of
from tests.support.scenarios import random_requests

HOSTILE = "</script><b>\"'&amp;"
RAISES = """
from binwright import Agent

class Raises(Agent):
    def __init__(self, after: int = 3) -> None:
        self.left = after

    def decide(self, view, request):
        self.left -= 1
        if not self.left:
            raise ValueError("<img src=x onerror=alert(1)>")
"""
VOID = {"meta", "input", "img", "br", "link", "source"}


class Page(HTMLParser):
    """The elements of a page as (name, attributes), its text, and whether everything is closed in order."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("a report's results")
    (folder / "raises.py").write_text(RAISES)
    scenario = {
        "name": "small",
        "description": f"For tests {HOSTILE}",
        "cluster": {"servers": 4, "nodes": 2, "node": {"cpu": 8, "mem": "16 GB"}},
        "workload": random_requests(200, "10 s", [{"cpu": 1, "mem": "2 GB"}, {"cpu": 4, "mem": "8 GB"}], "5 min"),
        "agents": [
            "best-fit",
            {"name": "worst-fit", "label": HOSTILE},
            {"name": f"{folder / 'raises.py'}:Raises", "label": "raises"},
        ],
        "replications": 3,
    }
    return bw.run(bw.scenario(scenario), out=folder / "results" / "small")


@pytest.fixture(scope="module")
def source(results: Results) -> str:
    return results.report().read_text("utf-8")


def test_report_has_all_agents_failures_and_metrics(results: Results, source: str) -> None:
    text = "".join(Page(source).text)
    assert results.name in text
    for agent in ("best-fit", HOSTILE, "raises"):
        assert agent in text
    for row in results.failed.iter_rows(named=True):
        assert f"raises, seed {row['seed']}" in text
    assert results.failed["error"][0].strip() in text, "errors that differ in numbers are shown once"
    assert len(results.failed) == 3
    for heading in results.table().sheet.headings:
        assert heading in text
    assert results.scenario_file.read_text("utf-8") in text
    assert bw.__doc__ is not None
    for word in ("binwright 0", "paired by seed", "not tested", "3 runs failed"):
        assert word in text
    assert all(re.findall("<caption>(.*)</caption>", source)), "every table has a caption"


def test_report_fetches_nothing(source: str) -> None:
    parsed = Page(source)
    for _, attributes in parsed.elements:
        for key in ("src", "href", "action", "data", "poster", "srcset"):
            assert (attributes.get(key) or "#").startswith(("#", "data:image/"))
    assert "//" not in re.sub(r"//[^\n]*|data:image/[^\"]*|/\*.*?\*/", "", source.replace("https://", "LINK"))
    assert "LINK" not in source
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|https?://", source)


def test_the_picture_beside_the_answer_has_a_form_for_telephones(source: str) -> None:
    narrow = Page(source).named("source")
    assert narrow
    assert {each["media"] for each in narrow} == {"(max-width: 30rem)"}


def test_users_text_stays_text(source: str) -> None:
    parsed = Page(source)
    assert not parsed.named("b")
    assert {image["src"][:11] for image in parsed.named("img") if image["src"]} == {"data:image/"}
    assert not parsed.named("script")


def test_command_printed_in_the_report_gives_the_same_numbers(
    results: Results, source: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = Page(source).text
    [command] = [text for text in texts if text.startswith("binwright run ")]
    program, *arguments = shlex.split(command)
    assert program == "binwright"
    assert main(arguments) == 1  # the same runs fail again
    again = Results(arguments[-1])
    assert again.folder != results.folder
    both = [result.runs.drop("seconds", "decision_us") for result in (results, again)]
    assert both[0].equals(both[1])
    capsys.readouterr()


# -- results that were never run: what the words and tables make of numbers --------------------------------------------


def accepting(folder: Path, values: dict[str, list[float]]) -> Results:
    """Make up results with the acceptance of every agent, a value per seed; failed where it is NaN."""
    rows = [
        failed(agent, seed) if np.isnan(value) else row_of(agent, seed, acceptance=value)
        for agent, numbers in values.items()
        for seed, value in enumerate(numbers)
    ]
    return made(folder, rows)


NOISE = [0.01, 0.02, 0.03, 0.05, 0.04, 0.06]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"one": [0.3, 0.4]}, "One agent: there is nothing to compare it with."),
        ({"one": [0.3, 0.4], "two": [0.3, 0.4]}, "All agents have the same accepted %."),
        ({"one": [np.nan], "two": [np.nan]}, "No run finished"),
        (
            {"a<b": [0.3 + noise for noise in NOISE], "good": [0.5 + 1.5 * noise for noise in NOISE]},
            "good accepts most, 22 points above a&lt;b.",
        ),
    ],
)
def test_report_answers_in_a_sentence_for_each_metric(
    tmp_path: Path, values: dict[str, list[float]], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("binwright.analysis.report.page.figures", lambda *_: {})
    page = compose(accepting(tmp_path, values))
    Page(page)
    assert f'<div class="answer">{words}' in page
    assert "(p &gt; .05" not in page  # a line might end there
    assert ("Failed runs" in page) == any(np.isnan(number) for numbers in values.values() for number in numbers)


def test_report_shows_refusals_by_reason(tmp_path: Path) -> None:
    many = json.dumps({f"reason {number}": 1 for number in range(8)})
    write_results(
        tmp_path,
        [
            row_of("a", 0, offered=10, reasons=json.dumps({"no <cpu>": 2, "declined": 1})),
            row_of("a", 1, offered=20, reasons=None),
            row_of("b", 0, offered=10, reasons=many),
            row_of("c", 0, offered=30, reasons=json.dumps({"reason 0": 2, "declined": 3, "no <cpu>": 4})),
        ],
    )
    actual = refusals(Results(tmp_path))
    shown = [
        re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", line) for line in actual.splitlines() if line.startswith("<tr>")
    ]
    assert "no &lt;cpu&gt; %" in actual
    assert shown == [  # means over runs, with those that refused nothing; the last column is all other reasons
        ["a", "10.00", "5.00", *["0.00"] * 4, "0.00"],
        ["b", "0.00", "0.00", *["10.00"] * 4, "40.00"],
        ["c", "13.33", "10.00", "6.67", *["0.00"] * 4],
    ]
    for rejected, sentence in (
        (0, "No request was refused."),
        (2, "No request was refused for a reason that was noted."),
    ):
        folder = tmp_path / f"none-{rejected}"
        write_results(folder, [row_of("a", 0, rejected=rejected)])
        assert refusals(Results(folder)) == f"<p>{sentence}</p>"
