"""The page about guards names codes, probes and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from crosscast.messages.codes import CODES
from crosscast.targets.backend import load_backend
from named_tests import is_test
from recipe_strategies import COMPILED

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "guards.md"
HEAD, *SECTIONS = PAGE.read_text(encoding="utf-8").split("\n## ")
KNOWN = {*CODES, *(code.code for name in COMPILED for code in load_backend(name).codes)}
EACH = pytest.mark.parametrize("section", SECTIONS, ids=lambda text: str(text).split("\n")[0])


def listed(section: str, word: str) -> str:
    """Return the item of the list at the end that begins with a word."""
    found = re.search(rf"^- {word}:(.*?)(?=^- |\Z)", section, re.MULTILINE | re.DOTALL)
    assert found is not None, word
    return found.group(1)


def test_the_page_says_how_many_there_are() -> None:
    assert len(SECTIONS) == 7
    assert "seven places" in HEAD


@EACH
def test_a_section_says_what_happens_and_what_is_done(section: str) -> None:
    assert section.index("**What happens.**") < section.index("**What the script does.**")


@EACH
def test_codes_exist(section: str) -> None:
    codes = re.findall(r"CC\d{3}", listed(section, "Codes"))
    assert codes
    assert set(codes) <= KNOWN


@EACH
def test_probes_and_tests_exist(section: str) -> None:
    probes = re.findall(r"`([^`]+)`", listed(section, "Probes"))
    tests = re.findall(r"`([^`]+)`", listed(section, "Tests"))
    assert probes
    assert all(name.startswith("gotchas/") for name in tests)
    for name in (*(f"probes/{probe}" for probe in probes), *tests):
        assert is_test(name), name
