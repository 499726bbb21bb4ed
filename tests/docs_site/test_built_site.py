"""The documentation site as built: nothing is missing, nothing comes from elsewhere."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from docs_site.built_site import Site
from tiers import exhaustive
from website.build import BuildError, build
from website.staging import LANGUAGES, pages, place

pytestmark = exhaustive("the site, built and looked at")
HERE = Path(__file__).parents[2] / "docs" / "website"


def test_every_page_is_on_the_site(site: Site) -> None:
    for language in LANGUAGES:
        (version,) = (path for path in (site.folder / language).iterdir() if path.is_dir())
        for path in pages(language):
            assert (version / place(path)).with_suffix(".html").is_file(), path


def test_no_link_is_dead(site: Site) -> None:
    dead = {
        str(path.relative_to(site.folder)): found
        for path, page in site.pages.items()
        if (found := list(site.dead(page)))
    }
    assert dead == {}


def test_nothing_is_loaded_from_elsewhere(site: Site) -> None:
    loads = {link for page in site.pages.values() for link in page.loads}
    assert loads
    assert {urlsplit(link)[:2] for link in loads} <= {("", ""), ("data", "")}
    for sheet in site.folder.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert "@import" not in text, sheet
        assert "url(http" not in text, sheet
        assert "url(//" not in text, sheet


def test_versions_are_listed(site: Site) -> None:
    for language in LANGUAGES:
        folder = site.folder / language
        listed = json.loads((folder / "versions.json").read_text(encoding="utf-8"))
        assert {entry["version"] for entry in listed} == {
            path.name for path in folder.iterdir() if path.is_dir()
        }


def test_the_language_is_chosen_for_the_page_where_both_have_it(site: Site) -> None:
    here, there = (site.folder / language / "0.1" for language in LANGUAGES)
    chinese = {path.relative_to(there) for path in there.rglob("*.html")} - {Path("404.html")}
    same = {name for name in chinese if (here / name).is_file()}
    assert Path("how-to/editor.html") in same
    assert Path("source/index.html") in same
    for name in same:
        for start, end in ((here, there), (there, here)):
            links = site.pages[start / name].links
            assert os.path.relpath(end / name, (start / name).parent) in links, name
    assert "../../zh/0.1/index.html" in site.pages[here / "design.html"].links


def test_an_older_version_stays(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "en" / "0.0" / "index.html"
    old.parent.mkdir(parents=True)
    old.write_text("old")
    monkeypatch.setattr("website.build._generated", lambda *words: site.folder / "en" / "0.1")
    build(tmp_path)
    assert old.read_text() == "old"
    listed = json.loads((tmp_path / "en" / "versions.json").read_text())
    assert [entry["version"] for entry in listed] == ["0.1", "0.0"]


def test_a_link_that_leads_nowhere_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stage(language: str, folder: Path, version: str) -> None:
        (folder / "assets").mkdir(parents=True)
        (folder / "index.md").write_text("# Start\n\n[there](nowhere.md)\n")

    monkeypatch.setattr("website.build.stage", stage)
    with pytest.raises(BuildError, match="nowhere"):
        build(tmp_path)


def test_every_page_is_in_the_navigation() -> None:
    for language in LANGUAGES:
        config = tomllib.loads((HERE / f"{language}.toml").read_text(encoding="utf-8"))
        named = set(_pages(config["project"]["nav"]))
        rules = {place(path) for path in pages(language) if path.parent.name == "rules"}
        assert named == {str(place(path)) for path in pages(language)} - {
            str(path) for path in rules
        }


def _pages(nav: list[dict[str, object]]) -> list[str]:
    found: list[str] = []
    for entry in nav:
        for target in entry.values():
            found += _pages(target) if isinstance(target, list) else [str(target)]
    return found
