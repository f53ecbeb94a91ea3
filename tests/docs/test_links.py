"""Every relative link of every page leads to a file of the repository, and every anchor to a heading there.

The site's build, which is strict about links, has pages that are only generated for it, and neither README.md nor
SECURITY.md: it cannot see what leads nowhere for a reader of the repository.
"""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from docs.generated import INSTEAD, PAGES
from tests.support import ROOT
from tests.support.documentation import name_of

_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?![a-z]+:)([^)\s#]*)(?:#([^)\s]*))?\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def every_page() -> list[str]:
    """List the pages of the repository."""
    folders = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    return sorted(map(name_of, folders))


@cache
def anchors(page: Path) -> set[str]:
    """Make the anchors of the headings of a page as GitHub does; the site's build checks its own."""
    seen: Counter[str] = Counter()
    placement = set()
    for heading in _HEADING.findall(_FENCED.sub("", page.read_text("utf-8"))):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        placement.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return placement


def astray(text: str, page: Path) -> list[str]:
    """List the links of a page that lead nowhere."""
    wrong = []
    for path, anchor in _LINK.findall(_CODE.sub("`code`", text)):
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(f"{path}#{anchor}" if anchor else path)
    return wrong


@pytest.mark.parametrize("page", every_page())
def test_every_link_leads_somewhere(page: str) -> None:
    assert astray((ROOT / page).read_text("utf-8"), ROOT / page) == []


def test_a_link_that_leads_nowhere_is_found() -> None:
    page = ROOT / "docs/solve/solver.md"
    text = "[a](recipes.md) [b](../reference/agents.md) [c](service.md#security) [d](service.md#limits) [e](#nowhere)"
    assert astray(text, page) == ["../reference/agents.md", "service.md#security", "#nowhere"]


def test_links_that_the_site_replaces_have_targets() -> None:
    assert set(INSTEAD.values()) <= PAGES.keys()
    assert [source for source in INSTEAD if not (ROOT / source).exists()] == []
