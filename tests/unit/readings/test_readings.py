"""What lint and lift say of whole programs; a change to it is seen in review.

CROSSCAST_WRITE_GOLDENS=1 accepts what is said now.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reading_cases import accept, cases_of, reading

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("*.md"))
CASES = [
    pytest.param(path, case.title, id=f"{path.stem}: {case.title}")
    for path in FILES
    for case in cases_of(path)
]


@pytest.mark.parametrize(("path", "title"), CASES)
def test_all_that_is_said_of_a_program(path: Path, title: str) -> None:
    case = next(each for each in cases_of(path) if each.title == title)
    said = reading(case.sources)
    if os.environ.get("CROSSCAST_WRITE_GOLDENS"):
        accept(path, {title: said})
    else:
        assert said == case.said, "CROSSCAST_WRITE_GOLDENS=1 accepts it"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_titles_name_one_case_each(path: Path) -> None:
    titles = [case.title for case in cases_of(path)]
    assert len(titles) == len({*titles})
