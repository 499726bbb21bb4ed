"""The register of mistakes is complete: 25 of them, and each has tests that exist."""

from __future__ import annotations

import pytest

from gotchas.mutations import MUTATIONS, Mutation
from gotchas.registry import GOTCHAS, Gotcha
from gotchas.test_models import FAULTS, TYPE_FAULTS
from gotchas.test_processes import FAULTS as PROCESS_FAULTS
from named_tests import is_test

TABLES: dict[str, tuple[Mutation, ...]] = {
    "test_steps.py": MUTATIONS,
    "test_models.py": (*FAULTS, *TYPE_FAULTS),
    "test_processes.py": PROCESS_FAULTS,
}
EACH = pytest.mark.parametrize("gotcha", GOTCHAS, ids=lambda case: str(case.number))


def test_all_of_them_are_here() -> None:
    assert [gotcha.number for gotcha in GOTCHAS] == list(range(1, 26))
    assert len({gotcha.title for gotcha in GOTCHAS}) == 25


@EACH
def test_every_test_and_probe_exists(gotcha: Gotcha) -> None:
    assert gotcha.tests
    for name in (*gotcha.tests, *gotcha.probes):
        assert is_test(name), name
    assert all(name.startswith("probes/") for name in gotcha.probes)


@EACH
def test_tables_of_faults_hold_those_that_the_register_names(gotcha: Gotcha) -> None:
    for file, faults in TABLES.items():
        named = any(name.startswith(f"gotchas/{file}::") for name in gotcha.tests)
        assert named == any(fault.gotcha == gotcha.number for fault in faults), file


def test_faults_have_names_of_their_own() -> None:
    names = [fault.name for faults in TABLES.values() for fault in faults]
    assert len(set(names)) == len(names)
