"""The documentation site in Chromium: every page in both colors and at the width of a telephone.

Needs Debian's package chromium and playwright; PyPI's browsers are not used.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from browsers import chromium
from docs_site.built_site import Site
from tiers import exhaustive

pytestmark = [exhaustive("every page in a browser"), pytest.mark.timeout(1800)]
VIEWS = {"light": 1280, "dark": 390}
READS = """() => ({
  wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  ink: getComputedStyle(document.body).color,
  paper: getComputedStyle(document.body).backgroundColor,
  text: document.querySelector("article, main")?.innerText.length ?? 0,
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[[str], tuple[Any, list[str]]]]:
    """Return a function that gives a page of the browser, with what goes wrong on it."""
    contexts = []

    def open_page(scheme: str) -> tuple[Any, list[str]]:
        size = {"width": VIEWS[scheme], "height": 900}
        contexts.append(browser.new_context(viewport=size, color_scheme=scheme))
        page, problems = contexts[-1].new_page(), []
        page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        # What is still loading when the next page is opened is aborted.
        page.on("requestfailed", lambda r: problems.append(r.url) if _failed(r) else None)
        return page, problems

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize("scheme", VIEWS)
def test_every_page_opens(site: Site, address: str, opened: Any, scheme: str) -> None:
    page, problems = opened(scheme)
    wrong = {}
    for path in site.pages:
        name = path.relative_to(site.folder).as_posix()
        if len(path.relative_to(site.folder).parts) < 3:
            continue  # leads on to another page
        page.goto(f"{address}/{name}")
        read = page.evaluate(READS)
        if problems or read["wide"] > 0 or read["text"] < 40:
            wrong[name] = (list(problems), read)
        problems.clear()
        dark = _light(read["ink"]) > _light(read["paper"])
        assert dark == (scheme == "dark"), (name, read)
    assert wrong == {}


TYPES = """() => {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element?.tagName === "INPUT";
}"""
"""Whether what is typed goes into a field, which may stand in a shadow tree."""


@pytest.mark.parametrize("opened_from", ["server", "file"])
@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "hysteresis"), ("zh", "梯度累积"), ("zh", "损失缩放"), ("zh", "主权重")],
)
def test_search_finds(
    site: Site, address: str, opened: Any, opened_from: str, language: str, words: str
) -> None:
    start = address if opened_from == "server" else site.folder.as_uri()
    page, _ = opened("light")
    page.goto(f"{start}/{language}/0.1/index.html", wait_until="networkidle")
    page.keyboard.press("Control+k")
    page.wait_for_function(TYPES)  # what is typed before is lost
    assert any(_has_results(page, words) for _ in range(4))


def _has_results(page: Any, words: str) -> bool:
    """Search; the field is emptied once when the index has been read, which may come later."""
    page.keyboard.press("Control+a")
    page.keyboard.type(words)
    from playwright.sync_api import TimeoutError as PlaywrightTimeout

    results = page.get_by_text(re.compile(r"^[1-9]\d* results?$")).first
    with contextlib.suppress(PlaywrightTimeout):
        results.wait_for(timeout=5_000)
    return bool(results.is_visible())


def test_the_start_page_shows_three_scripts(address: str, opened: Any) -> None:
    page, problems = opened("light")
    page.goto(f"{address}/index.html")
    page.wait_for_url("**/en/0.1/index.html")
    shown = {}
    for title in ("PyTorch", "TensorFlow", "Paddle"):
        page.get_by_text(title, exact=True).first.click()
        shown[title] = page.locator(".tabbed-block:visible").inner_text()
    assert all("def train_window(" in text for text in shown.values())
    assert len(set(shown.values())) == 3
    assert problems == []


def test_languages_and_colors_are_chosen(address: str, opened: Any) -> None:
    page, problems = opened("light")
    page.goto(f"{address}/en/0.1/index.html")
    before = page.evaluate(READS)
    page.get_by_title("Switch to dark mode").locator("visible=true").click()
    after = page.evaluate(READS)
    assert _light(after["paper"]) < _light(before["paper"])
    page.locator(".md-select__link[hreflang=zh]").dispatch_event("click")
    page.wait_for_url("**/zh/0.1/index.html")
    assert page.evaluate("document.documentElement.lang") == "zh"
    assert problems == []


@pytest.mark.parametrize("opened_from", ["server", "file"])
@pytest.mark.parametrize(
    ("start", "language", "end"),
    [
        ("en/0.1/how-to/own-model.html", "zh", "zh/0.1/how-to/own-model.html"),
        ("zh/0.1/tutorial/from-lark.html", "en", "en/0.1/tutorial/from-lark.html"),
        ("zh/0.1/source/index.html", "en", "en/0.1/source/index.html"),
        ("en/0.1/design.html", "zh", "zh/0.1/index.html"),
    ],
)
def test_a_page_is_the_same_in_the_other_language(
    site: Site, address: str, opened: Any, opened_from: str, start: str, language: str, end: str
) -> None:
    base = address if opened_from == "server" else site.folder.as_uri()
    page, _ = opened("light")
    page.goto(f"{base}/{start}", wait_until="networkidle")
    page.get_by_label("Select language" if start.startswith("en") else "选择当前语言").first.hover()
    page.locator(f".md-select__link[hreflang={language}]").click()
    page.wait_for_url(f"{base}/{end}")
    assert page.evaluate("document.documentElement.lang") == language


def _failed(request: Any) -> bool:
    return bool(request.failure != "net::ERR_ABORTED")


def _light(color: str) -> float:
    """Return how light a color of a style is."""
    numbers = [float(part) for part in color[color.index("(") + 1 : -1].split(",")[:3]]
    return sum(numbers)
