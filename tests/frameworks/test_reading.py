"""Readings of programs of all frameworks, held against their runs: misreadings are contradicted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crosscast.messages.source import Source
from crosscast_parity.reading.changes import alike, put, value_of
from crosscast_parity.reading.observed import Observed, observe
from crosscast_parity.reading.verdict import Reading, hold
from crosscast_parity.side_by_side.running import Limits, Program
from crosscast_reading.lift.analysis import analyse
from crosscast_reading.lift.drafting import Lifted, lift
from crosscast_reading.lift.run_proof import open_fields
from frameworks.subprocesses import require, warm
from reading_programs import PROGRAMS
from tiers import Lazy, cases

LIMITS = Limits(seconds=1800.0, updates=24)


class Held:
    """A program that was run once, with its reading."""

    def __init__(self, name: str, folder: Path) -> None:
        program = PROGRAMS[name]
        require(program.of)
        self.lifted: Lifted = lift(analyse([Source("train.py", program.text)]))
        (folder / "train.py").write_text(program.text)
        self.observed: Observed = observe(
            Program(
                framework=program.of,
                python=warm(program.of),
                folder=folder,
                script="train.py",
                arguments=(),
                texts={},
                environment={"KERAS_BACKEND": "tensorflow"},
            ),
            LIMITS,
        )
        assert not self.observed.ran.problem, self.observed.ran.printed
        assert self.lifted.recipe is not None
        self.reading: Reading = hold(
            self.lifted.recipe, self.observed.evidence, open_fields(self.lifted)
        )


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Lazy[Held]:
    return Lazy(lambda name: Held(name, tmp_path_factory.mktemp("program")))


NAMES = cases(
    [pytest.param(name, marks=getattr(pytest.mark, PROGRAMS[name].of)) for name in PROGRAMS],
    quick=["amp", "keras fit", "paddle momentum"],
    reason="more programs of every framework",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_right_reading_is_not_contradicted(held: Lazy[Held], name: str) -> None:
    found = held[name]
    wrong = [field for field in found.reading.of("contradicted") if field.value is not None]
    contradicted = {field.path for field in wrong}
    assert contradicted <= open_fields(found.lifted), found.reading.of("contradicted")
    assert not found.reading.unexplained
    again = hold(found.reading.corrected, found.observed.evidence)
    assert not again.of("contradicted")
    assert "optimizer.learning_rate" in {field.path for field in again.of("proven")}


@pytest.mark.parametrize("name", NAMES)
def test_misreadings_are_contradicted_by_the_right_value(held: Lazy[Held], name: str) -> None:
    right, evidence = held[name].reading.corrected, held[name].observed.evidence
    missed = []
    for path, value in PROGRAMS[name].values.items():
        wrong = put(right, {path: value})
        assert wrong is not None
        assert wrong != right, path
        fields = {field.path: field.run_value for field in hold(wrong, evidence).of("contradicted")}
        if not (path in fields and same(fields[path], value_of(right, path))):
            missed.append((path, fields))
    assert not missed


def same(left: Any, right: Any) -> bool:
    return alike(left, right) or left == right
