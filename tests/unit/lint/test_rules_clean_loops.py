"""The loops of which readings say that nothing is wrong are programs that train."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscast_reading.sources.subject_builder import subject_of
from reading_cases.files import Case, cases_of

READINGS = Path(__file__).parents[1] / "readings"
LOOPS = [case for path in READINGS.glob("clean_loops*.md") for case in cases_of(path)]


@pytest.mark.parametrize("case", LOOPS, ids=lambda case: case.title)
def test_they_are_programs_that_train(case: Case) -> None:
    subject, failures = subject_of(case.sources)
    assert failures == []
    assert subject.steps or "first_step" in case.sources[0].text
