"""What lint and lift say of whole programs; a change to it is seen in review.

CROSSCAST_WRITE_GOLDENS=1 accepts what is said now.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reading_cases.files import Case, Variation, accept, cases_of

FOLDER = Path(__file__).parent
FILES = {path: cases_of(path) for path in sorted(FOLDER.glob("*.md"))}
CASES = [
    pytest.param(
        path, case, each, id=": ".join([path.stem, case.title, *([each.title] if each else [])])
    )
    for path, cases in FILES.items()
    for case in cases
    for each in (None, *case.variations)
]
"""A case and its variations follow each other: what is said of the case is worked out once."""


@pytest.mark.parametrize(("path", "case", "variation"), CASES)
def test_all_that_is_said_of_a_program(path: Path, case: Case, variation: Variation | None) -> None:
    said = case.said_now(variation)
    if os.environ.get("CROSSCAST_WRITE_GOLDENS"):
        accept(path, case.title, variation.title if variation else None, said)
    else:
        assert said == (variation or case).said, "CROSSCAST_WRITE_GOLDENS=1 accepts it"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_titles_name_one_case_each(path: Path) -> None:
    cases = FILES[path]
    assert len({case.title for case in cases}) == len(cases)
    for case in cases:
        titles = [each.title for each in case.variations]
        assert len({*titles}) == len(titles), case.title
