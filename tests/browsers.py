"""Chromium without a window, for tests that look at pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
"""Without a network, Chromium should not look for one."""


@contextmanager
def chromium() -> Iterator[Any]:
    """Start a browser of Playwright; skip the test where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("Chromium is not installed (Debian: apt install chromium)")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def opening_seconds(page: Any, address: str, ready: str) -> float:
    """Open an address; return the processor time until an element is there.

    Not the time on a clock, because other programs use the machine, too.
    """
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(address)
    page.wait_for_selector(ready)
    found = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
    session.detach()
    return float(found["TaskDuration"])


@contextmanager
def opened(browser: Any, address: str, **settings: Any) -> Iterator[Any]:
    """Open a page in a context of its own; messages on its console fail the test.

    Args:
        browser: see `chromium`.
        address: of the page.
        settings: of the context, such as `viewport` and `color_scheme`.
    """
    context = browser.new_context(**settings)
    try:
        page = context.new_page()
        told: list[str] = []
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.goto(address)
        yield page
        assert told == []
    finally:
        context.close()
