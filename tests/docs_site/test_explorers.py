"""The explorer's pages of the examples, on the site: small, quick, and they light up lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from browsers import chromium, opened, opening_seconds
from docs_site.built_site import Site
from tiers import exhaustive
from website.explorers import FORMS, explorer_of
from website.staging import ROOT

pytestmark = [exhaustive("pages of the site in a browser"), pytest.mark.timeout(600)]
FILES = sorted(path.relative_to(ROOT).as_posix() for form in FORMS for path in ROOT.glob(form))
LARGEST = 1_500_000
VIEWS: dict[str, dict[str, Any]] = {
    "desk": {"viewport": {"width": 1280, "height": 900}},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


def page_of(name: str) -> str:
    explorer = explorer_of(PurePosixPath(name))
    assert explorer is not None
    return f"en/0.1/{explorer}"


@pytest.mark.parametrize("name", FILES)
def test_pages_are_small_and_know_nothing_of_this_machine(site: Site, name: str) -> None:
    path = site.folder / page_of(name)
    assert path.stat().st_size < LARGEST
    text = path.read_text(encoding="utf-8")
    assert str(ROOT) not in text
    assert str(Path.home()) + "/" not in text


def test_each_is_linked(site: Site) -> None:
    gallery = site.folder / "en" / "0.1" / "reference" / "examples.html"
    links = site.pages[gallery].links
    assert {f"../{page_of(name).removeprefix('en/0.1/')}" for name in FILES} <= {*links}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", FILES)
def test_a_field_lights_up_lines(browser: Any, address: str, name: str, view: str) -> None:
    start = f"{address}/{page_of(name)}"
    with opened(browser, start, **VIEWS[view]) as page:
        field = page.locator('.field[data-id="optimizer.learning_rate"]')
        field.tap() if view == "phone" else field.hover()
        page.locator("#selected", has_text="optimizer.learning_rate").wait_for()
        page.locator(".pane .l.own").first.wait_for(state="attached")
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
        page.locator(".brand a").click()
        page.wait_for_url("**/reference/examples.html")
        page.locator("article h1", has_text="Examples").wait_for()


@pytest.mark.parametrize("name", FILES)
def test_it_opens_in_a_second(browser: Any, address: str, name: str) -> None:
    page = browser.new_page()
    assert 0.01 < opening_seconds(page, f"{address}/{page_of(name)}", "body.ready") < 1.0
    page.context.close()
