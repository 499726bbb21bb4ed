"""The register of mistakes is complete: 37 of them, and each has tests that exist."""

from __future__ import annotations

import pytest

from crosscast.targets.backend import load_backend
from gotchas.mutation import Mutation
from gotchas.mutations import MUTATIONS
from gotchas.registry import GOTCHAS, Gotcha
from gotchas.test_jax_processes import FAULTS as JAX_PROCESS_FAULTS
from gotchas.test_keys import FAULTS as KEY_FAULTS
from gotchas.test_layer_types import FAULTS as LAYER_TYPE_FAULTS
from gotchas.test_models import FAULTS, TYPE_FAULTS
from gotchas.test_processes import FAULTS as PROCESS_FAULTS
from named_tests import is_test

TABLES: dict[str, tuple[Mutation, ...]] = {
    "test_steps.py": MUTATIONS,
    "test_models.py": (*FAULTS, *TYPE_FAULTS),
    "test_processes.py": PROCESS_FAULTS,
    "test_jax_processes.py": JAX_PROCESS_FAULTS,
    "test_keys.py": KEY_FAULTS,
    "test_layer_types.py": LAYER_TYPE_FAULTS,
}
WHOLE = {"jax": {"jax layers computed again": 37, "jax attention computed again": 37}}
"""By framework, the adaptations that need no fault: a recipe without them is compared."""
REPORTS = {"jax": {"jax event files of tensorboardX"}}
"""Those that change nothing of the training."""
EACH = pytest.mark.parametrize("gotcha", GOTCHAS, ids=lambda case: str(case.number))


def test_all_of_them_are_here() -> None:
    assert [gotcha.number for gotcha in GOTCHAS] == list(range(1, 38))
    assert len({gotcha.title for gotcha in GOTCHAS}) == 37


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


@pytest.mark.parametrize("name", WHOLE)
def test_every_adaptation_of_a_framework_is_taken_out(name: str) -> None:
    named = {str(row.adapt) for row in load_backend(name).rows if row.adapt is not None}
    faults = [fault for table in TABLES.values() for fault in table if fault.target == name]
    taken_out = {str(fault.adaptation) for fault in faults if fault.adaptation}
    assert taken_out | set(WHOLE[name]) | REPORTS[name] == named
    assert not taken_out & set(WHOLE[name])
    assert set(WHOLE[name].values()) <= {gotcha.number for gotcha in GOTCHAS}
