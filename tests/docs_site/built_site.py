"""The documentation site, built once for the tests, and what its pages hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""What the browser loads by itself; of links only those to a style sheet or an icon."""


class Page(HTMLParser):
    """One page: its anchors, where its links lead, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors.add(found.get("id", ""))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        attribute = LOADED.get(tag, "")
        if attribute in found and (tag != "link" or found.get("rel") in ("stylesheet", "icon")):
            self.loads.append(found[attribute])


class Site:
    """A built site: a folder with the sites of all languages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def pages(self) -> dict[Path, Page]:
        """All pages but the one for addresses that do not exist, which has absolute links."""
        found = sorted(self.folder.rglob("*.html"))
        return {path: Page(path) for path in found if path.name != "404.html"}

    def dead(self, page: Page) -> Iterator[str]:
        """Return the links of a page that lead nowhere within the site."""
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = Path(os.path.normpath(page.path.parent / unquote(parts.path)))
            target = target if parts.path else page.path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file() or not self._has(target, unquote(parts.fragment)):
                yield link

    def _has(self, path: Path, fragment: str) -> bool:
        """Whether a file has an anchor; the top of a page needs none."""
        return path not in self.pages or not fragment or fragment in self.pages[path].anchors
